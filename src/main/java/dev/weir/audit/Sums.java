package dev.weir.audit;

import dev.weir.app.MemoryStates;
import dev.weir.audit.Answers.Told;
import dev.weir.audit.Difference.Kind;
import dev.weir.audit.Difference.Place;
import dev.weir.audit.Difference.Topic;
import dev.weir.config.WeirConfig;
import dev.weir.limit.Account;
import dev.weir.limit.AlignedWindow;
import dev.weir.limit.Blocked;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyLedger;
import dev.weir.policy.Request;
import dev.weir.policy.StateKey;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * What was allowed of shared quotas on all partitions, to be held against what their limits promise of the sum.
 *
 * <p>Each limit is charged all uses in the order of their times, whatever it says; if it is in debt then, more was allowed than it
 * gives. What a SETTLE gave back may have been lent again, so it may be in debt by that much; what a SETTLE took is left out, as
 * it may exceed. Of a bucket that is refilled by steps it is not known here when they come: one step more is allowed at any time.
 */
public final class Sums {

    /** So many uses are kept: those of a millisecond, partition and key are one. */
    private static final int MOST = 1_000_000;

    /** What is given back is with the ledger after this long. */
    private static final long ON_ITS_WAY_MS = 60_000;

    private static final Comparator<Use> BY_TIME = Comparator.comparingLong(Use::timeMs);

    /**
     * What a decision took, or several of one time.
     *
     * @param cost in all; below zero: given back
     * @param decisions how many
     * @param decided the offset of the last one
     * @param asked the offset of its request
     */
    private record Use(long timeMs, long cost, int decisions, int partition, long decided, long asked) {}

    /** What was taken of one key, and given back. */
    private static final class Quota {
        final List<Use> taken = new ArrayList<>(1);
        final List<Use> returned = new ArrayList<>(0);
        boolean isIncomplete;
    }

    /** One limit, charged whatever it says. */
    private static final class Count {
        final String label;
        final Limit<?> limit;
        final Deque<Use> returned = new ArrayDeque<>(0);
        Account<?> account;
        BigInteger credit = BigInteger.ZERO;
        boolean isAbove;

        Count(String label, Account<?> account) {
            this.label = label;
            this.limit = account.limit();
            this.account = account;
        }

        void giveBack(Use use) {
            returned.add(use);
            credit = credit.subtract(BigInteger.valueOf(use.cost));
        }

        /** Returns how much is in use then. */
        long take(Use use) {
            boolean hasWindow = limit instanceof AlignedWindow
                    || limit instanceof SlidingWindowLog
                    || limit instanceof SlidingWindowCounter;
            boolean isFree = account.used(use.timeMs) == 0;
            long keptMs = isFree ? 0 : hasWindow ? 2 * limit.windowMs(use.timeMs) : Long.MAX_VALUE / 2;
            while (!returned.isEmpty() && returned.peek().timeMs < use.timeMs - ON_ITS_WAY_MS - keptMs) {
                credit = credit.add(BigInteger.valueOf(returned.remove().cost));
            }
            account = account.charge(use.cost, use.timeMs);
            return limit instanceof Blocked ? use.cost : account.used(use.timeMs);
        }

        boolean exceeds(long used) {
            BigInteger most = BigInteger.valueOf(limit.capacity()).add(credit);
            return BigInteger.valueOf(used).compareTo(most) > 0;
        }
    }

    private final WeirConfig config;
    private final RuleChanges rules;
    private final Audit.Range range;
    private final Totals totals;
    private final Consumer<Difference> differences;
    private final Map<StateKey, Quota> quotas = new HashMap<>();
    private long knownFromMs = Long.MIN_VALUE;
    private int kept;

    /** @param differences is told each */
    public Sums(
            WeirConfig config, RuleChanges rules, Audit.Range range, Totals totals, Consumer<Difference> differences) {
        this.config = config;
        this.rules = rules;
        this.range = range;
        this.totals = totals;
        this.differences = differences;
    }

    /** Takes note that what was taken or given back before a time, ms since the epoch, may not be known. */
    void knownFrom(long timestampMs) {
        knownFromMs = Math.max(knownFromMs, timestampMs);
    }

    /** Takes note of what a decision on limits took, or gave back. */
    void add(Request request, Told told, Set<Recomputation.Shared> shared) {
        Decision decision = told.decision();
        boolean takes = request.kind() == dev.weir.policy.Kind.CONSUME && request.cost() > 0;
        boolean returns = request.kind() == dev.weir.policy.Kind.SETTLE && request.cost() < 0;
        if (decision.outcome() != Outcome.ALLOWED || decision.repeated() || !(takes || returns)) {
            return;
        }
        for (Recomputation.Shared one : shared) {
            if (!(one.observes() && decision.observed())) { // what only observes may not have been charged
                add(
                        one.key(),
                        new Use(
                                decision.decidedAtMs(),
                                request.cost(),
                                1,
                                told.place().partition(),
                                told.place().offset(),
                                told.offset()));
            }
        }
    }

    private void add(StateKey key, Use use) {
        Quota quota = quotas.get(key);
        if (quota == null && kept < MOST) {
            quota = new Quota();
            quotas.put(key, quota);
        }
        List<Use> uses = quota == null ? List.of() : use.cost < 0 ? quota.returned : quota.taken;
        Use last = uses.isEmpty() ? null : uses.get(uses.size() - 1);
        if (last != null && last.timeMs == use.timeMs && last.partition == use.partition) {
            long cost = Math.max(-Limit.MAX_LEVEL, Math.min(Limit.MAX_LEVEL, last.cost + use.cost));
            Use both = new Use(use.timeMs, cost, last.decisions + 1, use.partition, use.decided, use.asked);
            uses.set(uses.size() - 1, both);
        } else if (kept < MOST) {
            uses.add(use);
            kept++;
        } else {
            unjudged(use, Unjudged.TOO_MANY_TO_SUM);
            if (quota != null && use.cost < 0) {
                quota.isIncomplete = true;
            }
        }
    }

    private void unjudged(Use use, Unjudged why) {
        for (int i = 0; i < use.decisions && use.cost > 0 && range.has(use.timeMs); i++) {
            totals.add(why);
        }
    }

    /** Judges what was taken, once all partitions are read. */
    public void judge() {
        long settledMs = range.lag().toMillis() + config.leases().terms().termMs();
        quotas.forEach((key, quota) -> {
            quota.taken.sort(BY_TIME);
            quota.returned.sort(BY_TIME);
            judge(key, quota, rules.periods(key.policyId(), settledMs));
        });
        quotas.clear();
    }

    private void judge(StateKey key, Quota quota, List<RuleChanges.Period> periods) {
        int next = 0;
        for (RuleChanges.Period period : periods) {
            for (; next < quota.taken.size() && quota.taken.get(next).timeMs < period.fromMs(); next++) {
                unjudged(quota.taken.get(next), Unjudged.LIMITS_CHANGE);
            }
            int from = next;
            while (next < quota.taken.size() && quota.taken.get(next).timeMs < period.untilMs()) {
                next++;
            }
            judge(key, quota, quota.taken.subList(from, next), period.policy());
        }
        quota.taken.subList(next, quota.taken.size()).forEach(use -> unjudged(use, Unjudged.LIMITS_CHANGE));
    }

    private void judge(StateKey key, Quota quota, List<Use> taken, Policy policy) {
        List<Count> counts = null;
        int given = 0;
        for (Use use : taken) {
            if (quota.isIncomplete) {
                unjudged(use, Unjudged.TOO_MANY_TO_SUM);
                continue;
            } else if (knownFromMs > Long.MIN_VALUE && use.timeMs < knownFromMs + ON_ITS_WAY_MS) {
                unjudged(use, Unjudged.BEFORE_THE_LOG);
                continue;
            }
            counts = counts == null ? open(key, policy, use.timeMs) : counts;
            while (given < quota.returned.size()
                    && quota.returned.get(given).timeMs <= use.timeMs + RuleChanges.CLOCKS_MS) {
                Use returned = quota.returned.get(given);
                counts.forEach(count -> count.giveBack(returned));
                given++;
            }
            boolean isJudged = range.has(use.timeMs);
            for (Count count : counts) {
                long used = count.take(use);
                boolean wasAbove = count.isAbove;
                count.isAbove = count.exceeds(used);
                if (count.isAbove && !wasAbove && isJudged) {
                    tell(key, policy, count, used, use);
                }
            }
            if (isJudged) {
                totals.addSummed(use.decisions);
            }
        }
    }

    private List<Count> open(StateKey key, Policy policy, long atMs) {
        MemoryStates states = new MemoryStates(config.state());
        List<Account<?>> accounts = PolicyLedger.open(policy, atMs, shelf -> states.segments(key, shelf))
                .used()
                .accounts();
        List<Count> counts = new ArrayList<>();
        for (int i = 0; i < accounts.size(); i++) {
            Account<?> account = accounts.get(i);
            account = account.limit() instanceof IntervalBucket bucket ? Account.open(loose(bucket), atMs) : account;
            counts.add(new Count(policy.terms().get(i).label(), account));
        }
        return counts;
    }

    /** As much in any time as the steps give wherever they fall. */
    private static Limit<?> loose(IntervalBucket bucket) {
        return new TokenBucket(Rate.of(bucket.tokens(), bucket.perMs()), bucket.burst() + bucket.tokens(), false);
    }

    private void tell(StateKey key, Policy policy, Count count, long used, Use use) {
        StringBuilder note = new StringBuilder("policy ").append(policy.id());
        for (int i = 0; i < key.others().size(); i += 2) {
            note.append(i == 0 ? " of " : ", ")
                    .append(key.others().get(i))
                    .append(' ')
                    .append(key.others().get(i + 1));
        }
        note.append(": ").append(used).append(" of ").append(count.limit.capacity());
        note.append(" by ").append(count.label).append(" at ").append(Instant.ofEpochMilli(use.timeMs));
        if (count.limit instanceof AlignedWindow window) {
            long startMs = window.startMs(use.timeMs);
            note.append(", in the window from ").append(Instant.ofEpochMilli(startMs));
        }
        totals.add(Kind.SUM_ABOVE);
        differences.accept(new Difference(
                Kind.SUM_ABOVE,
                new Request.Source(use.partition, use.asked),
                new Place(Topic.DECISIONS, use.partition, use.decided),
                null,
                null,
                List.of(),
                note.toString()));
    }
}
