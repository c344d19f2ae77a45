package dev.weir.decision;

import dev.weir.policy.Policy;

/**
 * Decides where a {@link Decider} looks up shared limits: in its own states, or in the leases that it holds of them.
 */
public sealed interface QuotaSource permits QuotaSource.Local, LeaseContext {

    /** The source that counts shared limits in the decider's states, as all others. */
    static QuotaSource local() {
        return Local.INSTANCE;
    }

    /** Whether the limits of a policy are looked up in leases. */
    boolean isLeased(Policy policy);

    /** Counts all limits in the decider's states. */
    enum Local implements QuotaSource {
        INSTANCE;

        @Override
        public boolean isLeased(Policy policy) {
            return false;
        }
    }
}
