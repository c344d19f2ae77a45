package dev.weir.decision.state;

import dev.weir.event.LimitOverride;
import dev.weir.limit.Concurrency;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SegmentedState;
import dev.weir.policy.LimitMatcher;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * The usage of one policy by one key.
 *
 * @param lastChargeMs the time of the last charge; later charges are not before it
 * @param lastDelayMs how long before {@code lastChargeMs} the charged request arrived, if it was delayed; otherwise 0
 * @param accounts one account per limit, in the order of the policy's limits at the last charge
 * @param suspended accounts that no limit continues, kept while a limit does not count usage (it is 0 or unlimited):
 *     they continue when the policy counts again. At most {@link Policy#MAX_LIMITS}
 * @param retired logs and slots that no limit uses any more, kept until their segments are deleted
 * @param delayed charges that start after {@code lastChargeMs} and are not in the accounts yet, by start; at most
 *     {@value #MAX_DELAYED}
 * @param reserved what reservations need to find the accounts again
 */
public record PolicyState(
        long lastChargeMs,
        long lastDelayMs,
        List<LimitAccount<?>> accounts,
        List<LimitAccount<?>> suspended,
        List<SegmentedState> retired,
        List<DelayedCharge> delayed,
        ReservedUse reserved) {

    /**
     * The most charges of delayed requests under a policy that does not itself throttle. Further requests that would be
     * delayed are denied until one of these starts. The cost of a request can grow with their number.
     */
    public static final int MAX_DELAYED = 500;

    /** Creates a state without suspended accounts and without charges of delayed requests. */
    public PolicyState(
            long lastChargeMs, long lastDelayMs, List<LimitAccount<?>> accounts, List<SegmentedState> retired) {
        this(lastChargeMs, lastDelayMs, accounts, List.of(), retired, List.of());
    }

    /** Creates a state that no reservation was charged to. */
    public PolicyState(
            long lastChargeMs,
            long lastDelayMs,
            List<LimitAccount<?>> accounts,
            List<LimitAccount<?>> suspended,
            List<SegmentedState> retired,
            List<DelayedCharge> delayed) {
        this(lastChargeMs, lastDelayMs, accounts, suspended, retired, delayed, ReservedUse.NONE);
    }

    /** Returns the state of a key that has not been used before. */
    public static PolicyState fresh(Policy policy, long nowMs) {
        return new PolicyState(nowMs, 0, unused(policy, nowMs, 0), List.of());
    }

    private static List<LimitAccount<?>> unused(Policy policy, long nowMs, int firstLogId) {
        LimitAccount<?>[] accounts = new LimitAccount<?>[policy.terms().size()];
        int logId = firstLogId;
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = LimitAccount.open(policy.terms().get(i).limit(), nowMs);
            if (accounts[i].state() instanceof SegmentedState log) {
                accounts[i] = withLog(accounts[i], log.withId(logId++));
            }
        }
        return List.of(accounts);
    }

    /**
     * Returns this state under the policy's current limits. Each limit continues the account that {@link LimitMatcher}
     * assigns to it, or starts unused. If one of the limits does not count usage, the other accounts are suspended.
     *
     * <pre>
     *   [100 a month]  →  [0]                 the count of the month is suspended
     *                  →  [100 a month]       it continues: what was asked meanwhile has changed nothing
     * </pre>
     */
    public PolicyState migrateTo(Policy policy, long nowMs) {
        if (hasLimitsOf(policy)) {
            return this;
        }
        List<LimitAccount<?>> usages = usages(nowMs);
        Map<Integer, Integer> pairs = pairs(usages, policy);
        List<LimitAccount<?>> left = new ArrayList<>(policy.countsAllUsage() ? List.of() : usages);
        LimitAccount<?>[] next = new LimitAccount<?>[policy.terms().size()];
        int logId = firstUnusedLogId();
        for (int i = 0; i < next.length; i++) {
            Policy.Term term = policy.terms().get(i);
            LimitAccount<?> old = pairs.containsKey(i) ? usages.get(pairs.get(i)) : null;
            if (old == null) {
                next[i] = LimitAccount.open(term.limit(), nowMs);
            } else {
                next[i] = old.limit().equals(term.limit()) ? old : term.migrate(old, nowMs);
                left.removeIf(one -> one == old);
            }
            boolean continuesLog = old != null && old.state() instanceof SegmentedState;
            if (next[i].state() instanceof SegmentedState log && !continuesLog) {
                next[i] = withLog(next[i], log.withId(logId++));
            }
        }
        List<LimitAccount<?>> kept = List.copyOf(left.subList(0, Math.min(left.size(), Policy.MAX_LIMITS)));
        PolicyState migrated = with(List.of(next), kept);
        if (delayed.isEmpty() && reserved.origins().isEmpty()) {
            return migrated;
        }
        int[] sources = new int[next.length + kept.size()];
        for (int i = 0; i < next.length; i++) {
            sources[i] = pairs.containsKey(i) ? indexOf(usages.get(pairs.get(i))) : DelayedCharge.NO_SOURCE;
        }
        for (int i = 0; i < kept.size(); i++) {
            sources[next.length + i] = indexOf(kept.get(i));
        }
        return migrated.withDelayed(
                        delayed.stream().map(charge -> charge.migrated(sources)).toList())
                .withReserved(reserved.migrated(withTimes(sources, migrated.allAccounts())));
    }

    /** Returns the sources of those accounts that continue the usage with its times. */
    private int[] withTimes(int[] sources, List<LimitAccount<?>> next) {
        List<LimitAccount<?>> all = allAccounts();
        int[] kept = sources.clone();
        for (int i = 0; i < kept.length; i++) {
            Limit<?> limit = next.get(i).limit();
            Limit<?> old =
                    kept[i] == DelayedCharge.NO_SOURCE ? null : all.get(kept[i]).limit();
            boolean keepsTimes = old != null && (limit.equals(old) || limit.isCompatibleWith(old));
            kept[i] = keepsTimes ? kept[i] : DelayedCharge.NO_SOURCE;
        }
        return kept;
    }

    @SuppressWarnings("ReferenceEquality") // two accounts can be equal
    private int indexOf(LimitAccount<?> account) {
        List<LimitAccount<?>> all = allAccounts();
        int index = 0;
        while (all.get(index) != account) {
            index++;
        }
        return index;
    }

    /** Returns whether a limit of the policy continues usage under other terms. */
    public boolean isConvertedBy(Policy policy, long nowMs) {
        List<LimitAccount<?>> usages = usages(nowMs);
        return pairs(usages, policy).entrySet().stream().anyMatch(pair -> !usages.get(pair.getValue())
                .limit()
                .equals(policy.terms().get(pair.getKey()).limit()));
    }

    /** Returns the accounts that limits which count usage continue, as indexes, by the indexes of these limits. */
    private static Map<Integer, Integer> pairs(List<LimitAccount<?>> usages, Policy policy) {
        Map<Integer, Integer> pairs = LimitMatcher.of(
                usages.stream().<Limit<?>>map(LimitAccount::limit).toList(), policy.limits());
        pairs.keySet().removeIf(i -> !policy.terms().get(i).limit().countsUsage());
        return pairs;
    }

    /**
     * Returns the accounts that can have usage: those in force first, then the suspended ones. One that was suspended
     * and has expired is left out, since the state may have been deleted meanwhile.
     */
    private List<LimitAccount<?>> usages(long nowMs) {
        List<LimitAccount<?>> usages = new ArrayList<>(accounts);
        usages.removeIf(account -> !account.limit().countsUsage());
        usages.addAll(unexpired(nowMs));
        return usages;
    }

    private List<LimitAccount<?>> unexpired(long nowMs) {
        return suspended.stream()
                .filter(account -> account.expiresAtMs(nowMs) > nowMs)
                .toList();
    }

    /**
     * Returns this state with new buckets instead of those whose steps have expired. The steps begin with the first
     * request that is stored, also if it charges another limit: the state may have been deleted meanwhile.
     */
    public PolicyState withoutExpiredSteps(long nowMs) {
        boolean isExpired = false;
        for (LimitAccount<?> account : accounts) {
            isExpired |= hasExpiredSteps(account, nowMs);
        }
        if (!isExpired) {
            return this;
        }
        List<LimitAccount<?>> current = accounts.stream()
                .<LimitAccount<?>>map(account ->
                        hasExpiredSteps(account, nowMs) ? LimitAccount.open(account.limit(), nowMs) : account)
                .toList();
        return new PolicyState(lastChargeMs, lastDelayMs, current, suspended, retired, delayed, reserved);
    }

    private boolean hasExpiredSteps(LimitAccount<?> account, long nowMs) {
        return account.limit() instanceof IntervalBucket
                && account.expiresAtMs(nowMs) <= nowMs
                && reserved.untilMs() <= nowMs;
    }

    /**
     * Returns this state with unused accounts. The time of the last charge stays, because time never runs backwards.
     */
    public PolicyState reset(Policy policy, long nowMs) {
        return with(unused(policy, nowMs, firstUnusedLogId()), List.of())
                .withDelayed(List.of())
                .withReserved(ReservedUse.NONE);
    }

    private PolicyState with(List<LimitAccount<?>> next, List<LimitAccount<?>> kept) {
        return new PolicyState(lastChargeMs, lastDelayMs, next, kept, retire(concat(next, kept)), delayed, reserved);
    }

    private PolicyState withDelayed(List<DelayedCharge> charges) {
        return new PolicyState(lastChargeMs, lastDelayMs, accounts, suspended, retired, charges, reserved);
    }

    private PolicyState withReserved(ReservedUse other) {
        return new PolicyState(lastChargeMs, lastDelayMs, accounts, suspended, retired, delayed, other);
    }

    /** Returns this state after a reservation, which ends at {@code endMs}, was charged to it. */
    public PolicyState reservedBy(long number, long endMs) {
        return withReserved(reserved.with(number, endMs, accounts, accounts.size() + suspended.size()));
    }

    /**
     * Returns this state after earlier charges were corrected.
     *
     * @param requestMs the time of the request that corrects them
     * @param all the accounts, including suspended ones
     * @param charges the charges of delayed requests
     */
    PolicyState corrected(long requestMs, List<LimitAccount<?>> all, List<DelayedCharge> charges) {
        long atMs = Math.max(lastChargeMs, requestMs);
        return new PolicyState(
                atMs,
                atMs - Math.max(lastRequestMs(), requestMs),
                List.copyOf(all.subList(0, accounts.size())),
                List.copyOf(all.subList(accounts.size(), all.size())),
                trim(retired),
                List.copyOf(charges),
                reserved);
    }

    /** Returns this state, kept at least until {@code untilMs}. */
    PolicyState keptUntil(long untilMs) {
        return withReserved(reserved.until(untilMs));
    }

    /**
     * Returns this state with the charge of a delayed request. It changes neither suspended accounts nor those of
     * unlimited limits, also if these count usage by the time at which it starts, nor slots.
     *
     * @param reservation the number of the request's reservation, 0 if it has none
     */
    public PolicyState withDelayed(long startMs, long cost, LimitOverride override, long reservation) {
        long uncounted = 0;
        for (int i = 0; i < accounts.size() + suspended.size(); i++) {
            boolean counts = i < accounts.size()
                    && accounts.get(i).limit().countsUsage()
                    && !(accounts.get(i).limit() instanceof Concurrency);
            uncounted |= counts ? 0 : 1L << i;
        }
        DelayedCharge charge = new DelayedCharge(startMs, cost, override, uncounted, reservation);
        int at = delayed.size();
        while (at > 0 && delayed.get(at - 1).startMs() > charge.startMs()) {
            at--;
        }
        List<DelayedCharge> all = new ArrayList<>(delayed);
        all.add(at, charge);
        return withDelayed(List.copyOf(all));
    }

    /** Returns the charges of delayed requests to one of the accounts. */
    public List<DelayedCharge> delayedOf(int index) {
        return delayed.stream().allMatch(charge -> charge.counts(index))
                ? delayed
                : delayed.stream().filter(charge -> charge.counts(index)).toList();
    }

    /** Returns this state with the delayed requests that have started at {@code atMs} in the accounts. */
    public PolicyState startedBy(long atMs) {
        if (delayed.isEmpty() || delayed.get(0).startMs() > atMs) {
            return this;
        }
        int started = 0;
        while (started < delayed.size() && delayed.get(started).startMs() <= atMs) {
            started++;
        }
        List<DelayedCharge> charges = delayed.subList(0, started);
        return new PolicyState(
                lastChargeMs,
                lastDelayMs,
                charged(accounts, 0, charges),
                charged(suspended, accounts.size(), charges),
                retired,
                List.copyOf(delayed.subList(started, delayed.size())),
                reserved);
    }

    /** @param offset the index of the first of the accounts */
    private static List<LimitAccount<?>> charged(
            List<LimitAccount<?>> accounts, int offset, List<DelayedCharge> charges) {
        List<LimitAccount<?>> charged = new ArrayList<>(accounts.size());
        for (int i = 0; i < accounts.size(); i++) {
            LimitAccount<?> after = accounts.get(i);
            for (DelayedCharge charge : charges) {
                after = charge.counts(offset + i) ? charge.chargeTo(after) : after;
            }
            charged.add(after);
        }
        return List.copyOf(charged);
    }

    /** Returns the last time at which a request was charged or, if it was delayed, starts. */
    public long lastStartMs() {
        return delayed.isEmpty()
                ? lastChargeMs
                : delayed.get(delayed.size() - 1).startMs();
    }

    /** Returns the time of the request that was charged last. Later requests of the key are not decided before it. */
    public long lastRequestMs() {
        return lastChargeMs - lastDelayMs;
    }

    /**
     * Returns this state with the accounts after a charge.
     *
     * @param nowMs the time of the request
     * @param atMs the time of the charge, not before {@code nowMs}
     */
    public PolicyState charged(long nowMs, long atMs, LimitAccount<?>[] next) {
        return new PolicyState(atMs, atMs - nowMs, List.of(next), suspended, trim(retired), delayed, reserved);
    }

    /** Returns the accounts of the limits, and the suspended ones. */
    public List<LimitAccount<?>> allAccounts() {
        return suspended.isEmpty() ? accounts : concat(accounts, suspended);
    }

    /** Returns the time from which this state can be deleted: a request then gets the same answer as a first one. */
    public long expiresAtMs() {
        long lastMs = lastStartMs();
        long atMs = lastMs;
        PolicyState all = delayed.isEmpty() ? this : startedBy(lastMs);
        for (LimitAccount<?> account : all.allAccounts()) {
            atMs = Math.max(atMs, account.expiresAtMs(lastMs));
        }
        return Math.max(atMs, reserved.untilMs());
    }

    /**
     * Returns this state for deletion, without a bounded number of its segments. The rest still has to be kept, unless it
     * {@linkplain #isPurged is purged}.
     */
    public PolicyState purge() {
        List<SegmentedState> logs = new ArrayList<>(retired);
        logs().forEach(log -> logs.add(log.retired()));
        return new PolicyState(lastChargeMs, lastDelayMs, List.of(), trim(logs));
    }

    /** Returns whether nothing is left of a state for deletion, once it {@linkplain #isStored is stored}. */
    public boolean isPurged() {
        return accounts.isEmpty() && retired.stream().noneMatch(SegmentedState::hasGarbage);
    }

    /** Returns whether the stored segments of all logs are those of this state. */
    public boolean isStored() {
        for (LimitAccount<?> account : accounts) {
            if (account.state() instanceof SegmentedState log && !log.isStored()) {
                return false;
            }
        }
        return (suspended.isEmpty() && retired.isEmpty())
                || (logsOf(suspended).stream().allMatch(SegmentedState::isStored)
                        && retired.stream().allMatch(SegmentedState::isStored));
    }

    /**
     * Returns this state with all changed segments stored.
     *
     * @param store carries out the {@linkplain SegmentedState#writes writes} of a log or of slots, and returns them
     *     {@linkplain SegmentedState#stored stored}
     */
    public PolicyState stored(UnaryOperator<SegmentedState> store) {
        List<SegmentedState> left = retired.isEmpty()
                ? retired
                : retired.stream()
                        .map(log -> log.isStored() ? log : store.apply(log))
                        .filter(SegmentedState::hasGarbage)
                        .toList();
        return new PolicyState(
                lastChargeMs, lastDelayMs, stored(accounts, store), stored(suspended, store), left, delayed, reserved);
    }

    private static List<LimitAccount<?>> stored(List<LimitAccount<?>> accounts, UnaryOperator<SegmentedState> store) {
        if (accounts.isEmpty()) {
            return accounts;
        }
        LimitAccount<?>[] stored = accounts.toArray(LimitAccount<?>[]::new);
        for (int i = 0; i < stored.length; i++) {
            if (stored[i].state() instanceof SegmentedState log && !log.isStored()) {
                stored[i] = withLog(stored[i], store.apply(log));
            }
        }
        return List.of(stored);
    }

    /** Returns whether the accounts have the policy's current limits. */
    public boolean hasLimitsOf(Policy policy) {
        boolean fits = accounts.size() == policy.terms().size();
        for (int i = 0; fits && i < accounts.size(); i++) {
            fits = accounts.get(i).limit().equals(policy.terms().get(i).limit());
        }
        return fits;
    }

    private int firstUnusedLogId() {
        int unused = 0;
        for (SegmentedState log : logs()) {
            unused = Math.max(unused, log.id() + 1);
        }
        for (SegmentedState log : retired) {
            unused = Math.max(unused, log.id() + 1);
        }
        return unused;
    }

    /** Returns the retired logs, including those that no account continues. */
    private List<SegmentedState> retire(List<LimitAccount<?>> next) {
        List<Integer> used = logsOf(next).stream().map(SegmentedState::id).toList();
        List<SegmentedState> all = new ArrayList<>(retired);
        for (SegmentedState log : logs()) {
            if (!used.contains(log.id())) {
                all.add(log.retired());
            }
        }
        return List.copyOf(all);
    }

    /** Returns retired logs without some of their segments. One without any is kept until its segments are deleted. */
    private static List<SegmentedState> trim(List<SegmentedState> logs) {
        return logs.isEmpty()
                ? logs
                : logs.stream()
                        .map(SegmentedState::trimmed)
                        .filter(log -> log.hasGarbage() || !log.isStored())
                        .toList();
    }

    /** Returns the logs of all accounts, also of suspended ones. */
    private List<SegmentedState> logs() {
        return logsOf(allAccounts());
    }

    private static List<SegmentedState> logsOf(List<LimitAccount<?>> accounts) {
        List<SegmentedState> logs = new ArrayList<>();
        for (LimitAccount<?> account : accounts) {
            if (account.state() instanceof SegmentedState log) {
                logs.add(log);
            }
        }
        return logs;
    }

    private static List<LimitAccount<?>> concat(List<LimitAccount<?>> some, List<LimitAccount<?>> more) {
        List<LimitAccount<?>> all = new ArrayList<>(some);
        all.addAll(more);
        return all;
    }

    @SuppressWarnings("unchecked") // an account whose state is a SegmentedState has a limit for logs
    private static LimitAccount<?> withLog(LimitAccount<?> account, SegmentedState log) {
        return account.state() == log
                ? account
                : new LimitAccount<>(((LimitAccount<SegmentedState>) account).limit(), log);
    }
}
