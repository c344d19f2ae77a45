package dev.weir.processor;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseResponse;

/** The response of a ledger to a lease request of this task. It grants a lease or refuses it. */
public record LedgerResponse(StateKey key, LeaseResponse response) implements DecideInput {}
