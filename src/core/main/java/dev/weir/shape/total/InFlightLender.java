package dev.weir.shape.total;

import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.total.InFlightGrant.Recall;
import dev.weir.shape.total.LedgerState.Lent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/**
 * Lends the slots of a queue's total to partitions, so that requests in flight never occupy more of them in sum.
 *
 * <pre>
 *   partition                     ledger
 *      │  claim: loan 7, 3 slots     │   lent: 5
 *      │ ──────────────────────────▶ │   lent: 3, since the claim is about the last loan
 *      │  loan 8, 4 slots            │   lent: 4
 *      │ ◀────────────────────────── │
 * </pre>
 *
 * <p><b>Claim.</b> What is recorded as lent to a partition is never less than its loan. <b>Proof.</b> It is raised
 * before the loan is sent. It is lowered only to the slots of a claim about the last loan, or about a later number. Until
 * the next loan is received, which has a higher number, a partition only lowers its loan, and it ignores those with lower
 * numbers; so each claim about a number is at least as large as all later ones about it. Therefore messages can be lost,
 * late, repeated or overtake each other. A loan does not expire: both sides store it, so a crash loses nothing. A queue
 * that is removed and created again begins with no slots, and with the highest number that was received on the partition.
 *
 * <p>Partitions get slots in the order of {@link FairScheduler}, as those of the rate do. If those that are free do not
 * suffice for the request that is first in this order, it waits for more of them and is not passed. Meanwhile, the other
 * partitions return the slots that become free. A partition whose highest priority is above that of all others which
 * wait need not.
 *
 * <p>A report takes O(tiers · log n); lending takes O(log n) for each of at most {@value #MAX_PIECES} pieces.
 */
final class InFlightLender {

    /** The slots of a large total are lent in at most this many pieces, so that partitions take turns. */
    private static final int MAX_PIECES = 1_000;

    /** How often a grant that wants slots back is repeated for a partition that does not report. */
    private static final long REMINDER_NANOS = 1_000_000_000;

    /**
     * What a partition wants for one tier and was not lent yet.
     *
     * @param sum the slots
     * @param least how many are of use
     * @param piece how many it gets at its turn
     * @param largestCost the largest cost of a request
     * @param weight its share in the tier
     */
    private record Want(long sum, long least, long piece, long largestCost, long weight) {

        Want less(long slots) {
            return new Want(sum - slots, 1, Math.max(piece, largestCost), largestCost, weight);
        }
    }

    /** What was sent to a partition last. */
    private record Sent(InFlightGrant grant, long atNanos) {}

    /**
     * The highest priority of the tiers for which a partition wants slots, and that for which any other does. It is
     * {@link #NOTHING} if there is none.
     */
    record HighestWanted(int partition, int priority, int priorityOfOthers) {

        static final int NOTHING = Integer.MIN_VALUE;
        static final HighestWanted NONE = new HighestWanted(-1, NOTHING, NOTHING);

        HighestWanted and(int other, int otherPriority) {
            return otherPriority > priority
                    ? new HighestWanted(other, otherPriority, priority)
                    : new HighestWanted(partition, priority, Math.max(priorityOfOthers, otherPriority));
        }

        int besides(int one) {
            return one == partition ? priorityOfOthers : priority;
        }
    }

    private final Map<Integer, Lent> lent;
    private long lentSlots; // the sum of what is lent
    private final Map<Integer, Map<String, Want>> wants = new TreeMap<>(); // by partition and tier
    private final Map<Integer, Sent> sent = new HashMap<>();
    private final FairScheduler scheduler = new FairScheduler(Map.of());
    private Map<String, TierShare> shares = Map.of();
    private long lastLoan;
    private long most; // 0 if there is no bound: nothing is lent
    private boolean isChanged;
    private boolean hasNews; // whether there may be grants for partitions

    InFlightLender(LedgerState state) {
        lent = new TreeMap<>(state.lent());
        lentSlots = lent.values().stream().mapToLong(Lent::slots).sum();
        lastLoan = state.lastLoan();
        hasNews = !lent.isEmpty();
    }

    Map<Integer, Lent> lent() {
        return lent;
    }

    long lastLoan() {
        return lastLoan;
    }

    /** Returns whether a report has changed what is lent since the last call. */
    boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /** Returns whether nothing is lent or wanted. */
    boolean isIdle() {
        return lent.isEmpty() && wants.isEmpty();
    }

    /** Returns whether slots may have to be lent, or wanted back. */
    boolean hasNews() {
        return hasNews && !isIdle();
    }

    void setShares(Map<String, TierShare> newShares) {
        shares = newShares;
        scheduler.setShares(newShares);
    }

    /** Sets the slots of all partitions. If they are fewer, nothing is lent until enough was returned. */
    void setMost(OptionalLong newMost) {
        hasNews |= most != newMost.orElse(0);
        most = newMost.orElse(0);
    }

    /**
     * Applies the claim of a partition, and replaces what it wants.
     *
     * @param demands the demands that its free slots do not cover, with their weights
     */
    void report(int partition, InFlightClaim claim, List<TotalReport.Demand> demands, ClientWeights weights) {
        lastLoan = Math.max(lastLoan, claim.loan().number());
        Lent before = lent.getOrDefault(
                partition, new Lent(new InFlightLoan(claim.loan().number(), 0), 0));
        boolean isLast = claim.loan().number() >= before.loan().number();
        long slots = isLast
                ? Math.min(before.loan().slots(), claim.loan().slots())
                : before.loan().slots();
        boolean hadWants = !wants.isEmpty();
        long number = Math.max(before.loan().number(), claim.loan().number());
        boolean isLentLess =
                record(partition, new Lent(new InFlightLoan(number, slots), isLast ? claim.over() : before.over()));
        long underWay = isLast ? 0 : Math.max(0, slots - claim.loan().slots());
        Map<String, Want> byTier = new TreeMap<>();
        for (TotalReport.Demand demand : TotalReport.beyondInFlight(demands, underWay)) {
            InFlightDemand wanted = demand.inFlight();
            if (wanted.sum() > 0) {
                long least = Math.max(1, Math.min(most, wanted.next()));
                long piece = Math.max(least, smallestPiece());
                byTier.put(
                        demand.tier(),
                        new Want(wanted.sum(), least, piece, demand.largestCost(), weights.weight(demand)));
            }
        }
        replace(partition, byTier);
        hasNews |= isLentLess || hadWants || !wants.isEmpty();
    }

    /** Forgets what a partition wants, since it is silent. What it was lent stays lent. */
    void forgetDemands(int partition) {
        hasNews |= !wants.isEmpty();
        replace(partition, Map.of());
    }

    /** Records what is lent to a partition. Returns whether that has changed. */
    private boolean record(int partition, Lent next) {
        Lent before = put(partition, next);
        boolean isDifferent = next.slots() == 0 ? before != null : !next.equals(before);
        isChanged |= isDifferent;
        return isDifferent;
    }

    private Lent put(int partition, Lent next) {
        Lent before = next.slots() == 0 ? lent.remove(partition) : lent.put(partition, next);
        lentSlots += next.slots() - (before == null ? 0 : before.slots());
        return before;
    }

    private void replace(int partition, Map<String, Want> byTier) {
        Map<String, Want> before = byTier.isEmpty() ? wants.remove(partition) : wants.put(partition, byTier);
        Set<String> earlier = before == null ? Set.of() : before.keySet();
        for (String tier : earlier) {
            if (!byTier.containsKey(tier)) {
                scheduler.leave(flow(tier, partition));
            }
        }
        byTier.forEach((tier, want) -> {
            if (!earlier.contains(tier)) { // otherwise it keeps its place
                scheduler.enter(flow(tier, partition), want.least(), want.weight());
            }
        });
    }

    private static Flow flow(String tier, int partition) {
        return new Flow(tier, Integer.toString(partition));
    }

    /** Lends what is free. */
    void lend() {
        for (Flow flow = first(); flow != null && lentSlots < most; flow = first()) {
            int partition = Integer.parseInt(flow.value());
            Map<String, Want> ofPartition = wants.get(partition);
            Want want = ofPartition.get(flow.tier());
            long free = most - lentSlots;
            if (want.least() > free) {
                return;
            }
            long slots = Math.min(free, Math.max(want.least(), Math.min(want.piece(), want.sum())));
            lend(partition, slots);
            boolean wantsMore = want.sum() > slots;
            scheduler.served(flow, slots, want.weight(), wantsMore);
            if (wantsMore) {
                ofPartition.put(flow.tier(), want.less(slots));
            } else {
                ofPartition.remove(flow.tier());
            }
            if (ofPartition.isEmpty()) {
                wants.remove(partition);
            }
        }
    }

    private Flow first() {
        return scheduler.next().orElse(null);
    }

    private long smallestPiece() {
        return Math.max(1, most / MAX_PIECES);
    }

    private void lend(int partition, long slots) {
        Lent before = lent.getOrDefault(partition, new Lent(new InFlightLoan(lastLoan, 0), 0));
        long number = before.loan().number() + slots;
        lastLoan = Math.max(lastLoan, number);
        // requests beyond the earlier loan are part of the new one
        put(partition, new Lent(new InFlightLoan(number, before.slots() + slots), 0));
    }

    /** Returns what a partition is to know of its slots. */
    InFlightGrant grant(int partition, HighestWanted highest) {
        Lent own = lent.get(partition);
        return new InFlightGrant(own == null ? InFlightLoan.NONE : own.loan(), recall(partition, highest));
    }

    private Recall recall(int partition, HighestWanted highest) {
        if (most > 0 && lentSlots > most) {
            return Recall.ALL;
        }
        int ofOthers = highest.besides(partition);
        return ofOthers != HighestWanted.NOTHING && ofOthers >= priority(partition) ? Recall.FREED : Recall.NONE;
    }

    HighestWanted highestWanted() {
        HighestWanted highest = HighestWanted.NONE;
        for (int partition : wants.keySet()) {
            highest = highest.and(partition, priority(partition));
        }
        return highest;
    }

    /** Returns the highest priority of the tiers for which a partition wants slots. */
    private int priority(int partition) {
        return wants.getOrDefault(partition, Map.of()).keySet().stream()
                .mapToInt(tier -> shares.getOrDefault(tier, TierShare.DEFAULT).priority())
                .max()
                .orElse(HighestWanted.NOTHING);
    }

    /** Returns the grants that are due, by partition. Each that is sent must be passed to {@link #sent}. */
    Map<Integer, InFlightGrant> dueGrants(HighestWanted highest, long nowNanos) {
        sent.keySet().retainAll(lent.keySet());
        Map<Integer, InFlightGrant> due = new TreeMap<>();
        for (int partition : lent.keySet()) {
            InFlightGrant grant = grant(partition, highest);
            Sent last = sent.get(partition);
            boolean isNew = last == null
                    || grant.loan().number() > last.grant().loan().number()
                    || grant.recall() != last.grant().recall();
            if (isNew || grant.recall() != Recall.NONE && Math.abs(nowNanos - last.atNanos()) >= REMINDER_NANOS) {
                due.put(partition, grant);
            }
        }
        hasNews = false;
        return due;
    }

    /** Remembers what is sent to a partition. */
    void sent(int partition, InFlightGrant grant, long nowNanos) {
        sent.put(partition, new Sent(grant, nowNanos));
    }
}
