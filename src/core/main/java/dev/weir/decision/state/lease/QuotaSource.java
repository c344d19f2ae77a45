package dev.weir.decision.state.lease;

import dev.weir.decision.Decider;
import dev.weir.policy.Policy;

/** The place where a {@link Decider} counts shared limits: its own states, or leases. */
public sealed interface QuotaSource permits QuotaSource.Local, LeaseContext {

    /** Returns the source that counts shared limits in the decider's states, like all others. */
    static QuotaSource local() {
        return Local.INSTANCE;
    }

    /** Returns whether the limits of a policy are looked up in leases. */
    boolean isLeased(Policy policy);

    /** Returns the same source for decisions that change nothing: they request no leases and ask no ledger. */
    QuotaSource readOnly();

    /** Counts all limits in the decider's states. */
    enum Local implements QuotaSource {
        INSTANCE;

        @Override
        public boolean isLeased(Policy policy) {
            return false;
        }

        @Override
        public QuotaSource readOnly() {
            return this;
        }
    }
}
