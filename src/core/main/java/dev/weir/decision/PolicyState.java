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
 */
public record PolicyState(long lastChargeMs, long lastDelayMs, List<LimitAccount<?>> accounts, List<Log> retiredLogs) {

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
        return continued(policy, Map.of(), nowMs, segmentStores);
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
        return new PolicyState(lastChargeMs, lastDelayMs, assignSegments(next, segmentStores), retire(next));
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
        return new PolicyState(atMs, atMs - nowMs, List.of(next), trim(retiredLogs));
    }

    /** Returns the time from which this state can be deleted: a request then gets the same answer as a first one. */
    public long expiresAtMs() {
        long atMs = lastChargeMs;
        for (LimitAccount<?> account : accounts) {
            atMs = Math.max(atMs, account.expiresAtMs(lastChargeMs));
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
