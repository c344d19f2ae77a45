package dev.weir.processor;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseResponse;

/** What a ledger has answered to this task. */
record LeaseGranted(StateKey key, LeaseResponse response) {}
