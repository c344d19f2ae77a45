package dev.weir.api;

import dev.weir.query.InstanceQueries;

/** The enforcer whose state this service serves. */
record ServedInstance(RuleService rules, InstanceQueries queries) {}
