package dev.weir.service;

import dev.weir.query.InstanceQueries;

/** The enforcer whose state this service serves. */
record ServedInstance(RuleService rules, InstanceQueries queries) {}
