package dev.weir.decision.usage;

import dev.weir.decision.state.LimitTimeline;
import dev.weir.decision.state.PolicyLedger;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.PolicyStates;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reports usage. A pure function of the policies, the states and the time; it changes none of them. */
public final class UsageReport {

    private static final Comparator<Subject> BY_POLICY_THEN_OTHERS = Comparator.comparing(
                    (Subject subject) -> subject.key.policyId())
            .thenComparing(
                    subject -> subject.key.namesAndValues().toArray(String[]::new),
                    (some, more) -> Arrays.compare(some, more));

    private UsageReport() {}

    /** A policy and a key of its state. */
    public record Subject(Policy policy, StateKey key) {}

    /**
     * Returns what to report of a client at the time of its requests: each policy that applies to one of them, and each
     * other policy for which the client has a state. States whose policy is not in force, or now uses another key,
     * are omitted.
     *
     * @param requests at least one, all with the same client and time
     * @param stored the keys of the client's states
     */
    public static List<Subject> subjects(List<Request> requests, PolicyTable policies, Collection<StateKey> stored) {
        Map<StateKey, Policy> subjects = new HashMap<>();
        for (StateKey key : stored) {
            Policy policy = policies.inForce(key.policyId(), requests.get(0).timestampMs());
            if (policy != null && policy.countsUnder(key)) {
                subjects.put(key, policy);
            }
        }
        for (Request request : requests) {
            for (Policy policy : policies.applicable(request)) {
                subjects.put(policy.stateKey(request), policy);
            }
        }
        return subjects.entrySet().stream()
                .map(entry -> new Subject(entry.getValue(), entry.getKey()))
                .sorted(BY_POLICY_THEN_OTHERS)
                .toList();
    }

    /**
     * Returns the usage, without the tokens of reservations, at {@code atMs}, or at the time of the last charge if that is later, under the policy's current
     * limits. For a throttling policy, nothing remains until the start of the last request that it delayed. Under
     * another policy, delayed requests are in use from their starts on, and what remains is what can be used before.
     */
    public static PolicyUsage of(Subject subject, long atMs, PolicyStates states) {
        Policy policy = subject.policy;
        StateKey key = subject.key;
        PolicyState state = policy.terms().isEmpty() ? null : states.get(key);
        long nowMs = state == null ? atMs : Math.max(atMs, state.lastRequestMs());
        boolean throttles = policy.onExceed() instanceof OnExceed.Throttle;
        long lastMs = state == null ? atMs : throttles ? state.lastStartMs() : state.lastChargeMs();
        long clockMs = Math.max(nowMs, lastMs);
        PolicyState now = state == null
                ? PolicyState.fresh(policy, clockMs)
                : state.startedBy(clockMs).migrateTo(policy, clockMs);
        long aheadMs = clockMs - nowMs;
        boolean waits = aheadMs > 0 && throttles;
        List<PolicyUsage.LimitUsage> limits = new ArrayList<>();
        for (int i = 0; i < now.accounts().size(); i++) {
            LimitTimeline timeline = new LimitTimeline(now.accounts().get(i), now.delayedOf(i), null);
            limits.add(limitUsage(policy.terms().get(i).label(), timeline, clockMs, aheadMs, waits));
        }
        return new PolicyUsage(
                policy, key.namesAndValues(), state == null ? null : (Long) state.lastRequestMs(), limits, null, null);
    }

    /**
     * Returns the usage and the leases of a shared policy.
     *
     * @param ledger the ledger of the key, advanced to the time of the report and migrated to the policy
     * @param question of which tokens to report whether they could be lent, and to which holder
     * @param terms the timing of leases
     */
    public static SharedPolicyUsage of(Subject subject, PolicyLedger ledger, LeaseRequest question, LeaseTerms terms) {
        long atMs = ledger.ledger().clockMs();
        List<LimitAccount<?>> accounts = ledger.ledger().accounts();
        List<PolicyUsage.LimitUsage> limits = new ArrayList<>();
        for (int i = 0; i < accounts.size(); i++) {
            LimitTimeline timeline = new LimitTimeline(accounts.get(i), List.of(), null);
            limits.add(limitUsage(subject.policy.terms().get(i).label(), timeline, atMs, 0, false));
        }
        return new SharedPolicyUsage(
                subject.policy,
                subject.key.namesAndValues(),
                limits,
                ledger.ledger().free(),
                ledger.ledger().leases(),
                ledger.ledger().check(question, terms, atMs));
    }

    private static PolicyUsage.LimitUsage limitUsage(
            String label, LimitTimeline timeline, long clockMs, long aheadMs, boolean waits) {
        LimitAccount<?> account = timeline.account();
        Limit<?> limit = account.limit();
        if (limit instanceof Unlimited) {
            return new PolicyUsage.LimitUsage(label, null, null, null, null, aheadMs);
        }
        long windowMs = limit.windowMs(clockMs);
        long used = account.used(clockMs);
        return new PolicyUsage.LimitUsage(
                label,
                limit.capacity(),
                windowMs == 0 ? null : (Long) windowMs,
                waits ? Math.max(used, limit.capacity()) : used,
                waits ? 0 : timeline.remaining(clockMs),
                timeline.resetAtMs(clockMs) - clockMs + aheadMs);
    }
}
