package dev.weir.shape.total;

import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.total.InFlightGrant.Recall;
import dev.weir.shape.total.LedgerState.Lent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

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

    /** What a partition was told last. */
    private record Told(InFlightGrant grant, long atNanos) {}

    private final Map<Integer, Lent> lent;
    private final Map<Flow, Want> wants = new TreeMap<>();
    private final Map<Integer, Told> told = new HashMap<>();
    private final FairScheduler scheduler = new FairScheduler(Map.of());
    private Map<String, TierShare> shares = Map.of();
    private long lastLoan;
    private long most; // 0 if there is no bound: nothing is lent
    private boolean isChanged;
    private boolean hasNews; // whether there may be grants for partitions

    InFlightLender(LedgerState state) {
        lent = new TreeMap<>(state.lent());
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
        Lent before = next.slots() == 0 ? lent.remove(partition) : lent.put(partition, next);
        boolean isDifferent = next.slots() == 0 ? before != null : !next.equals(before);
        isChanged |= isDifferent;
        return isDifferent;
    }

    private void replace(int partition, Map<String, Want> byTier) {
        String value = Integer.toString(partition);
        for (Flow flow : List.copyOf(wants.keySet())) {
            if (flow.value().equals(value) && !byTier.containsKey(flow.tier())) {
                wants.remove(flow);
                scheduler.leave(flow);
            }
        }
        byTier.forEach((tier, want) -> {
            Flow flow = new Flow(tier, value);
            if (wants.put(flow, want) == null) { // otherwise it keeps its place
                scheduler.enter(flow, want.least(), want.weight());
            }
        });
    }

    /** Lends what is free. */
    void lend() {
        long free = most - lentSlots();
        for (Flow flow = first(); flow != null && free > 0; flow = first()) {
            Want want = wants.get(flow);
            if (want.least() > free) {
                return;
            }
            long slots = Math.min(free, Math.max(want.least(), Math.min(want.piece(), want.sum())));
            lend(Integer.parseInt(flow.value()), slots);
            free -= slots;
            boolean wantsMore = want.sum() > slots;
            scheduler.served(flow, slots, want.weight(), wantsMore);
            if (wantsMore) {
                wants.put(flow, want.less(slots));
            } else {
                wants.remove(flow);
            }
        }
    }

    private Flow first() {
        return scheduler.next().orElse(null);
    }

    private long lentSlots() {
        return lent.values().stream().mapToLong(Lent::slots).sum();
    }

    private long smallestPiece() {
        return Math.max(1, most / MAX_PIECES);
    }

    private void lend(int partition, long slots) {
        Lent before = lent.getOrDefault(partition, new Lent(new InFlightLoan(lastLoan, 0), 0));
        long number = before.loan().number() + slots;
        lastLoan = Math.max(lastLoan, number);
        // requests beyond the earlier loan are part of the new one
        lent.put(partition, new Lent(new InFlightLoan(number, before.slots() + slots), 0));
    }

    private InFlightGrant grant(int partition) {
        Lent own = lent.get(partition);
        return new InFlightGrant(own == null ? InFlightLoan.NONE : own.loan(), recall(partition));
    }

    private Recall recall(int partition) {
        if (most > 0 && lentSlots() > most) {
            return Recall.ALL;
        }
        return isWanted(partition) ? Recall.FREED : Recall.NONE;
    }

    /** Returns whether slots that become free on a partition are wanted by others. */
    private boolean isWanted(int partition) {
        String value = Integer.toString(partition);
        OptionalInt ownPriority = priority(flow -> flow.value().equals(value));
        OptionalInt highest = priority(flow -> !flow.value().equals(value));
        return highest.isPresent() && (ownPriority.isEmpty() || highest.getAsInt() >= ownPriority.getAsInt());
    }

    /** Returns the highest priority of the tiers for which some partitions want slots. */
    private OptionalInt priority(Predicate<Flow> partitions) {
        return wants.keySet().stream()
                .filter(partitions)
                .mapToInt(flow ->
                        shares.getOrDefault(flow.tier(), TierShare.DEFAULT).priority())
                .max();
    }

    /** Returns the partitions to which a grant is due. */
    Set<Integer> uninformed(long nowNanos) {
        told.keySet().retainAll(lent.keySet());
        Set<Integer> uninformed = new TreeSet<>();
        for (int partition : lent.keySet()) {
            InFlightGrant grant = grant(partition);
            Told last = told.get(partition);
            boolean isNew = last == null
                    || grant.loan().number() > last.grant().loan().number()
                    || grant.recall() != last.grant().recall();
            if (isNew || grant.recall() != Recall.NONE && Math.abs(nowNanos - last.atNanos()) >= REMINDER_NANOS) {
                uninformed.add(partition);
            }
        }
        hasNews = false;
        return uninformed;
    }

    /** Returns what to tell a partition, which must be sent to it. */
    InFlightGrant tell(int partition, long nowNanos) {
        InFlightGrant grant = grant(partition);
        told.put(partition, new Told(grant, nowNanos));
        return grant;
    }
}
