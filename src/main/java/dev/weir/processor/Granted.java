package dev.weir.processor;

import dev.weir.lease.LeaseResponse;
import dev.weir.policy.StateKey;

/** What a ledger has answered to this task. */
record Granted(StateKey key, LeaseResponse response) {}
