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
 * What one key has used of one policy.
 *
 * @param lastChargeMs the time of the last charge: the limits' time does not go back behind it
 * @param lastDelayMs by how much the request that was charged came before that, as it was put off; 0 if it was not
 * @param accounts one for each limit, in the order of the policy's limits when they were last charged
 * @param retiredLogs logs that no limit uses any more, kept until their segments are deleted
 */
public record PolicyState(long lastChargeMs, long lastDelayMs, List<LimitAccount<?>> accounts, List<Log> retiredLogs) {

    /**
     * The state of one who has not asked before.
     *
     * @param shelves where the segments of a log are, by its shelf
     */
    static PolicyState fresh(Policy policy, long nowMs, IntFunction<SegmentStore> shelves) {
        LimitAccount<?>[] accounts = new LimitAccount<?>[policy.terms().size()];
        int shelf = 0;
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = LimitAccount.open(policy.terms().get(i).limit(), nowMs);
            if (accounts[i].state() instanceof Log log) {
                accounts[i] = withLog(accounts[i], log.withSegments(shelf, shelves.apply(shelf)));
                shelf++;
            }
        }
        return new PolicyState(nowMs, 0, List.of(accounts), List.of());
    }

    /**
     * This state under the policy's present limits, what was used staying used: each limit goes on with the account
     * that {@link LimitMatcher} gives it, else with a fresh one.
     */
    PolicyState migrateTo(Policy policy, long nowMs, IntFunction<SegmentStore> shelves) {
        if (hasLimitsOf(policy)) {
            return this;
        }
        List<Limit<?>> limits = policy.limits();
        Map<Integer, Integer> pairs = LimitMatcher.of(
                accounts.stream().<Limit<?>>map(LimitAccount::limit).toList(), limits);
        LimitAccount<?>[] next = new LimitAccount<?>[limits.size()];
        for (int i = 0; i < next.length; i++) {
            Integer old = pairs.get(i);
            next[i] = old == null
                    ? LimitAccount.open(limits.get(i), nowMs)
                    : accounts.get(old)
                            .migrateTo(limits.get(i), policy.terms().get(i).maxDebt(), nowMs);
        }
        return new PolicyState(lastChargeMs, lastDelayMs, assignSegments(next, shelves), retire(next));
    }

    /** When the request came that was charged last: time does not go back behind it. */
    long lastRequestMs() {
        return lastChargeMs - lastDelayMs;
    }

    /**
     * This state with the accounts as they are after a charge.
     *
     * @param nowMs when the request came
     * @param atMs at which time it was charged, not before that
     */
    PolicyState charged(long nowMs, long atMs, LimitAccount<?>[] next) {
        return new PolicyState(atMs, atMs - nowMs, List.of(next), trim(retiredLogs));
    }

    /** From when on this state may be forgotten: a request then is answered like a first one. */
    public long expiresAtMs() {
        long atMs = lastChargeMs;
        for (LimitAccount<?> account : accounts) {
            atMs = Math.max(atMs, account.expiresAtMs(lastChargeMs));
        }
        return atMs;
    }

    /** What is still to be kept of a state to be forgotten, a bounded part of its segments deleted; null: nothing. */
    public PolicyState purge() {
        List<Log> logs = new ArrayList<>(retiredLogs);
        logsOf(accounts).forEach(log -> logs.add(log.retired()));
        List<Log> left = trim(logs);
        return left.isEmpty() ? null : new PolicyState(lastChargeMs, lastDelayMs, List.of(), left);
    }

    /** Whether the accounts are of the policy's present limits. */
    boolean hasLimitsOf(Policy policy) {
        boolean fits = accounts.size() == policy.terms().size();
        for (int i = 0; fits && i < accounts.size(); i++) {
            fits = accounts.get(i).limit().equals(policy.terms().get(i).limit());
        }
        return fits;
    }

    /** Puts the logs that are new here on shelves that nobody else uses. */
    private List<LimitAccount<?>> assignSegments(LimitAccount<?>[] next, IntFunction<SegmentStore> shelves) {
        int unused = 0;
        for (Log log : concat(logsOf(accounts), retiredLogs)) {
            unused = Math.max(unused, log.id() + 1);
        }
        for (int i = 0; i < next.length; i++) {
            if (next[i].state() instanceof Log log && log.segments() == null) {
                next[i] = withLog(next[i], log.withSegments(unused, shelves.apply(unused)));
                unused++;
            }
        }
        return List.of(next);
    }

    /** The logs that no account goes on with, beside those retired before. */
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

    @SuppressWarnings("unchecked") // an account whose state is a Log is an account of a log
    private static LimitAccount<?> withLog(LimitAccount<?> account, Log log) {
        return new LimitAccount<>(((LimitAccount<Log>) account).limit(), log);
    }
}
