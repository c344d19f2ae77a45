package dev.weir.decision;

import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SegmentStore;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.policy.LimitMatcher;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * The usage of one policy by one key.
 *
 * @param lastChargeMs the time of the last charge; later charges are not before it
 * @param lastDelayMs how long before {@code lastChargeMs} the charged request arrived, if it was delayed; otherwise 0
 * @param accounts one account per limit, in the order of the policy's limits at the last charge
 * @param retiredLogs logs that no limit uses any more, kept until their segments are deleted
 * @param delayed charges that start after {@code lastChargeMs} and are not in the accounts yet, by start; at most
 *     {@value #MAX_DELAYED}
 */
public record PolicyState(
        long lastChargeMs,
        long lastDelayMs,
        List<LimitAccount<?>> accounts,
        List<Log> retiredLogs,
        List<DelayedCharge> delayed) {

    /**
     * The most charges of delayed requests under a policy that does not itself throttle. Further requests that would be
     * delayed are denied until one of these starts. The cost of a request can grow with their number.
     */
    public static final int MAX_DELAYED = 500;

    /** Creates a state without charges of delayed requests. */
    public PolicyState(long lastChargeMs, long lastDelayMs, List<LimitAccount<?>> accounts, List<Log> retiredLogs) {
        this(lastChargeMs, lastDelayMs, accounts, retiredLogs, List.of());
    }

    /**
     * Returns the state of a key that has not been used before.
     *
     * @param segmentStores returns the store for the segments of a log, by its id
     */
    static PolicyState fresh(Policy policy, long nowMs, IntFunction<SegmentStore> segmentStores) {
        LimitAccount<?>[] accounts = new LimitAccount<?>[policy.terms().size()];
        int logId = 0;
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = LimitAccount.open(policy.terms().get(i).limit(), nowMs);
            if (accounts[i].state() instanceof Log log) {
                accounts[i] = withLog(accounts[i], log.withSegments(logId, segmentStores.apply(logId)));
                logId++;
            }
        }
        return new PolicyState(nowMs, 0, List.of(accounts), List.of());
    }

    /**
     * Returns this state under the policy's current limits. Each limit continues the account that {@link LimitMatcher}
     * assigns to it, or starts unused.
     */
    PolicyState migrateTo(Policy policy, long nowMs, IntFunction<SegmentStore> segmentStores) {
        if (hasLimitsOf(policy)) {
            return this;
        }
        Map<Integer, Integer> pairs = LimitMatcher.of(
                accounts.stream().<Limit<?>>map(LimitAccount::limit).toList(), policy.limits());
        return continued(policy, pairs, nowMs, segmentStores);
    }

    /** Returns this state with unused accounts. The time of the last charge stays, because time never runs backwards. */
    PolicyState reset(Policy policy, long nowMs, IntFunction<SegmentStore> segmentStores) {
        return continued(policy, Map.of(), nowMs, segmentStores).withDelayed(List.of());
    }

    /** @param pairs the indexes of the accounts that limits continue, by the indexes of the limits */
    private PolicyState continued(
            Policy policy, Map<Integer, Integer> pairs, long nowMs, IntFunction<SegmentStore> segmentStores) {
        List<Limit<?>> limits = policy.limits();
        LimitAccount<?>[] next = new LimitAccount<?>[limits.size()];
        for (int i = 0; i < next.length; i++) {
            Integer old = pairs.get(i);
            next[i] = old == null
                    ? LimitAccount.open(limits.get(i), nowMs)
                    : policy.terms().get(i).migrate(accounts.get(old), nowMs);
        }
        return new PolicyState(lastChargeMs, lastDelayMs, assignSegments(next, segmentStores), retire(next), delayed);
    }

    private PolicyState withDelayed(List<DelayedCharge> charges) {
        return new PolicyState(lastChargeMs, lastDelayMs, accounts, retiredLogs, charges);
    }

    /** Returns this state with another charge of a delayed request. */
    PolicyState withDelayed(DelayedCharge charge) {
        int at = delayed.size();
        while (at > 0 && delayed.get(at - 1).startMs() > charge.startMs()) {
            at--;
        }
        List<DelayedCharge> all = new ArrayList<>(delayed);
        all.add(at, charge);
        return withDelayed(List.copyOf(all));
    }

    /** Returns whether a delayed request has started at {@code atMs}, so that {@link #startedBy} differs. */
    boolean hasStartedBy(long atMs) {
        return !delayed.isEmpty() && delayed.get(0).startMs() <= atMs;
    }

    /** Returns this state with the delayed requests that have started at {@code atMs} in the accounts. */
    PolicyState startedBy(long atMs) {
        LimitAccount<?>[] next = accounts.toArray(LimitAccount<?>[]::new);
        int started = 0;
        while (started < delayed.size() && delayed.get(started).startMs() <= atMs) {
            for (int i = 0; i < next.length; i++) {
                next[i] = delayed.get(started).chargeTo(next[i]);
            }
            started++;
        }
        return new PolicyState(
                lastChargeMs,
                lastDelayMs,
                List.of(next),
                retiredLogs,
                List.copyOf(delayed.subList(started, delayed.size())));
    }

    /** Returns a copy to which charges can be tried: they do not change the segments of this state. */
    PolicyState scratch() {
        LimitAccount<?>[] next = new LimitAccount<?>[accounts.size()];
        for (int i = 0; i < next.length; i++) {
            next[i] = ScratchSegments.fork(accounts.get(i));
        }
        return new PolicyState(lastChargeMs, lastDelayMs, List.of(next), retiredLogs, delayed);
    }

    /** Returns the last time at which a request was charged or, if it was delayed, starts. */
    long lastStartMs() {
        return delayed.isEmpty()
                ? lastChargeMs
                : delayed.get(delayed.size() - 1).startMs();
    }

    /** Returns the time of the request that was charged last. Later requests of the key are not decided before it. */
    long lastRequestMs() {
        return lastChargeMs - lastDelayMs;
    }

    /**
     * Returns this state with the accounts after a charge.
     *
     * @param nowMs the time of the request
     * @param atMs the time of the charge, not before {@code nowMs}
     */
    PolicyState charged(long nowMs, long atMs, LimitAccount<?>[] next) {
        return new PolicyState(atMs, atMs - nowMs, List.of(next), trim(retiredLogs), delayed);
    }

    /** Returns the time from which this state can be deleted: a request then gets the same answer as a first one. */
    public long expiresAtMs() {
        long lastMs = lastStartMs();
        long atMs = lastMs;
        PolicyState all = delayed.isEmpty() ? this : scratch().startedBy(lastMs);
        for (LimitAccount<?> account : all.accounts) {
            atMs = Math.max(atMs, account.expiresAtMs(lastMs));
        }
        return atMs;
    }

    /**
     * Deletes a bounded number of the segments of a state that is to be deleted. Returns what still has to be kept,
     * null if nothing is left.
     */
    public PolicyState purge() {
        List<Log> logs = new ArrayList<>(retiredLogs);
        logsOf(accounts).forEach(log -> logs.add(log.retired()));
        List<Log> left = trim(logs);
        return left.isEmpty() ? null : new PolicyState(lastChargeMs, lastDelayMs, List.of(), left);
    }

    /** Returns whether the accounts have the policy's current limits. */
    boolean hasLimitsOf(Policy policy) {
        boolean fits = accounts.size() == policy.terms().size();
        for (int i = 0; fits && i < accounts.size(); i++) {
            fits = accounts.get(i).limit().equals(policy.terms().get(i).limit());
        }
        return fits;
    }

    /** Assigns unused slots to the logs that are new in this state. */
    private List<LimitAccount<?>> assignSegments(LimitAccount<?>[] next, IntFunction<SegmentStore> segmentStores) {
        int unused = 0;
        for (Log log : concat(logsOf(accounts), retiredLogs)) {
            unused = Math.max(unused, log.id() + 1);
        }
        for (int i = 0; i < next.length; i++) {
            if (next[i].state() instanceof Log log && log.segments() == null) {
                next[i] = withLog(next[i], log.withSegments(unused, segmentStores.apply(unused)));
                unused++;
            }
        }
        return List.of(next);
    }

    /** Returns the retired logs, including those that no account continues. */
    private List<Log> retire(LimitAccount<?>[] next) {
        List<Integer> used = logsOf(Arrays.asList(next)).stream().map(Log::id).toList();
        List<Log> all = new ArrayList<>(retiredLogs);
        for (Log log : logsOf(accounts)) {
            if (!used.contains(log.id())) {
                all.add(log.retired());
            }
        }
        return List.copyOf(all);
    }

    private static List<Log> trim(List<Log> logs) {
        return logs.isEmpty()
                ? logs
                : logs.stream().map(Log::trimmed).filter(Log::hasGarbage).toList();
    }

    private static List<Log> logsOf(List<LimitAccount<?>> accounts) {
        List<Log> logs = new ArrayList<>();
        for (LimitAccount<?> account : accounts) {
            if (account.state() instanceof Log log) {
                logs.add(log);
            }
        }
        return logs;
    }

    private static List<Log> concat(List<Log> some, List<Log> more) {
        List<Log> all = new ArrayList<>(some);
        all.addAll(more);
        return all;
    }

    @SuppressWarnings("unchecked") // an account whose state is a Log has a limit for logs
    private static LimitAccount<?> withLog(LimitAccount<?> account, Log log) {
        return new LimitAccount<>(((LimitAccount<Log>) account).limit(), log);
    }
}
