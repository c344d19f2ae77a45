package dev.weir.service;

import dev.weir.query.InstanceQueries;

/** The enforcer that this service speaks for. */
record ServedInstance(RuleService rules, InstanceQueries questions) {}
