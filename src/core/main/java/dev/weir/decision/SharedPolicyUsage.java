package dev.weir.decision;

import dev.weir.event.StateKey;
import dev.weir.lease.Ledger;
import dev.weir.policy.Policy;
import java.util.List;

/**
 * What all clients have used of one shared policy, under one key, at some time.
 *
 * @param policy the version in force then
 * @param namesAndValues the names and values of its key fields, by turns, as in {@link StateKey#namesAndValues}
 * @param limits in the order of the policy's limits; what is lent is not used yet, nor can it be had
 * @param free tokens that could be lent now
 * @param loans what is lent, the one that ends first first
 */
public record SharedPolicyUsage(
        Policy policy,
        List<String> namesAndValues,
        List<PolicyUsage.LimitUsage> limits,
        long free,
        List<Ledger.Loan> loans) {}
