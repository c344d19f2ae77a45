package dev.weir.decision.usage;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.policy.Policy;
import java.util.List;

/**
 * The usage of one key of a shared policy, by all clients together, at some time.
 *
 * @param policy the version in force at that time
 * @param namesAndValues the names and values of the key fields, alternating, as in {@link StateKey#namesAndValues}
 * @param limits the usage in the order of the policy's limits; lent tokens are neither used nor available
 * @param free tokens that could be lent now
 * @param leases the outstanding leases, ordered by their end
 * @param check whether some cost could be lent to some holder
 */
public record SharedPolicyUsage(
        Policy policy,
        List<String> namesAndValues,
        List<PolicyUsage.LimitUsage> limits,
        long free,
        List<OutstandingLease> leases,
        LeaseResponse.Checked check) {}
