package dev.weir.shape.total;

import dev.weir.shape.backlog.FairScheduler;
import dev.weir.shape.backlog.Flow;
import dev.weir.shape.backlog.Pacing;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.QueueTotal;
import dev.weir.shape.backlog.TierShare;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Divides the release slots of one queue's total among the partitions over which its keys are spread. Each queue has
 * one ledger, on one partition. Each slot is granted to one partition only. So all partitions together keep the pace of
 * the total as exactly as a single queue would, whatever is delayed, lost or sent twice: {@code limit} slots in each
 * interval of length {@code per}. (Networks with a shared channel work the same way: stations request time slots, and a
 * head-end assigns them; DOCSIS, ITU-T J.222.)
 *
 * <pre>
 *   partition              ledger
 *      │  report: demand      │
 *      │ ───────────────────▶ │   next free slot ─────▶
 *      │                      │   │ p0 │ p0 │ p3 │ p1 │ p0 │ …      each slot once, in the order of priority and weight
 *      │ ◀─────────────────── │
 *      │  grant: slots        │
 * </pre>
 *
 * <p>Slots are granted a little ahead: by the time that grants take to arrive plus the time until the next grants.
 * Later slots stay with the ledger, so that a partition with new or more important demand can get them. The order is
 * that of {@link FairScheduler}: higher priorities first, tiers by weight, and within a tier partitions by the number
 * of keys with demand. Slots without demand are granted evenly to all partitions on which requests wait, so that a
 * request that arrives later need not wait for a grant.
 *
 * <p>Time is an argument, in nanoseconds of queue time on the ledger's partition. Handling a report takes O(tiers · log
 * n); a grant takes O(log n) for each of at most 2,000 pieces.
 */
public final class SlotLedger {

    /** How often slots are granted, in milliseconds. */
    public static final long GRANT_INTERVAL_MS = 50;

    /**
     * How soon the next slots are granted if there is demand and hardly any slots are granted ahead, in milliseconds.
     */
    static final long SHORT_GRANT_INTERVAL_MS = 10;

    /** How often partitions report while requests wait, in milliseconds. */
    public static final long REPORT_INTERVAL_MS = 100;

    /** How long after its last report a partition still gets slots, in milliseconds. */
    static final long REPORT_TIMEOUT_MS = 3_000;

    /** The longest delay of grants for which the ledger grants further ahead, in milliseconds. */
    public static final long MAX_LAG_MS = 5_000;

    /** Slots are granted in pieces of this length, so that partitions take turns. */
    private static final long PIECE_NANOS = 1_000_000;

    /**
     * How many of the largest requests a piece holds at least, if they cost more than one token. Larger pieces waste
     * fewer slots if costs differ.
     */
    private static final int REQUESTS_PER_PIECE = 4;

    /** The most pieces in one round of grants. */
    private static final int MAX_PIECES = 2_000;

    private static final long NANOS_PER_MS = 1_000_000;

    private static final class PartitionDemand {
        long tokens;
        long keys;
        long largestCost;
    }

    private static final class PartitionState {
        final int partition;
        final Map<String, PartitionDemand> demands = new TreeMap<>();
        /** The end and the number of slots of each run that its last report did not include. */
        final Deque<long[]> unacknowledged = new ArrayDeque<>(0);

        final List<SlotRun> runs = new ArrayList<>();
        Pacing.Arrival endOfRuns;
        long waiting;
        long lagMs;
        long reportedNanos;
        long grantedNanos = Long.MIN_VALUE;

        PartitionState(int partition) {
            this.partition = partition;
        }
    }

    private final String queue;
    private final Map<Integer, PartitionState> partitions = new TreeMap<>();
    private final FairScheduler scheduler;
    private Map<String, TierShare> tiers;
    private long limit;
    private long perMs;
    private Pacing pacing;
    private OutflowState granted;
    private int nextSpare;
    private boolean isChanged;

    /**
     * Creates a ledger without reports.
     *
     * @param given the slots granted so far; its sequence is their number
     */
    public SlotLedger(String queue, OutflowState given) {
        this.queue = queue;
        this.granted = given;
        scheduler = new FairScheduler(Map.of());
        tiers = Map.of();
    }

    /** Returns the state of a ledger that has granted nothing. */
    public static OutflowState fresh(long nowNanos) {
        return new OutflowState(new Pacing.Arrival(nowNanos, 0), nowNanos, 0, nowNanos);
    }

    /** Returns the slots granted so far. */
    public OutflowState state() {
        return granted;
    }

    /** Returns whether {@link #state} has changed since the last call. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /**
     * Returns whether there is no demand and all granted slots are in the past, so that a new ledger would behave
     * the same.
     */
    public boolean isIdle(long nowNanos) {
        return partitions.isEmpty() && granted.arrival().ceilNanos() <= nowNanos;
    }

    /** Sets the total and the shares. Granted slots are kept by their partitions. */
    public void setRules(QueueTotal total, Map<String, TierShare> newTiers) {
        setPace(total.limit(), total.perMs());
        if (newTiers != tiers) {
            tiers = newTiers;
            scheduler.setShares(tiers);
        }
    }

    private void setPace(long newLimit, long newPerMs) {
        if (pacing == null || newLimit != limit || newPerMs != perMs) {
            limit = newLimit;
            perMs = newPerMs;
            pacing = Pacing.of(limit, perMs, 1);
            granted = new OutflowState(
                    new Pacing.Arrival(granted.arrival().ceilNanos(), 0), // the part is in units of the previous pace
                    granted.lastNanos(),
                    granted.sequence(),
                    granted.clockNanos());
        }
    }

    /**
     * Applies the report of a partition.
     *
     * @param rules the rules of the queue, null if it was deleted; then the total of the report applies
     */
    public void report(SlotReport report, QueueRules rules, long nowNanos) {
        if (rules != null && rules.total() != null) {
            setRules(rules.total(), rules.tiers());
        } else {
            setPace(report.limit(), report.perMs());
        }
        PartitionState holder = partitions.computeIfAbsent(report.partition(), PartitionState::new);
        holder.reportedNanos = nowNanos;
        holder.waiting = report.waiting();
        holder.lagMs = Math.max(0, Math.min(MAX_LAG_MS, report.lagMs()));
        // a partition that was restarted has lost its slots, so those in the past no longer count
        long seenUntilNanos = Math.max(report.coveredUntilNanos(), nowNanos);
        holder.unacknowledged.removeIf(run -> run[0] <= seenUntilNanos);
        long has = report.slots();
        long largestCost = SlotReport.largestCost(report.demands());
        for (long[] run : holder.unacknowledged) {
            has += run[1] >= largestCost ? run[1] : 0;
        }
        Map<String, PartitionDemand> wants = new TreeMap<>();
        for (SlotReport.Demand demand : report.demands()) {
            long covered = Math.min(has, demand.tokens());
            has -= covered;
            if (covered < demand.tokens()) {
                PartitionDemand want = new PartitionDemand();
                want.tokens = demand.tokens() - covered;
                want.keys = Math.max(1, demand.keys());
                want.largestCost = demand.largestCost();
                wants.put(demand.tier(), want);
            }
        }
        boolean wantsNothing = report.waiting() == 0;
        replace(holder, wantsNothing ? Map.of() : wants);
        if (wantsNothing) {
            partitions.remove(holder.partition);
        }
    }

    private void replace(PartitionState holder, Map<String, PartitionDemand> wants) {
        for (String tier : List.copyOf(holder.demands.keySet())) {
            if (!wants.containsKey(tier)) {
                scheduler.leave(flow(tier, holder));
            }
        }
        wants.keySet().forEach(tier -> {
            if (!holder.demands.containsKey(tier)) {
                PartitionDemand want = wants.get(tier);
                scheduler.enter(flow(tier, holder), nextSlots(want), weight(want));
            }
        });
        holder.demands.clear();
        holder.demands.putAll(wants);
    }

    private static Flow flow(String tier, PartitionState holder) {
        return new Flow(tier, Integer.toString(holder.partition));
    }

    /**
     * Returns when slots have to be granted; if no partition has demand, when the ledger becomes
     * {@linkplain #isIdle idle}.
     */
    public long dueNanos() {
        if (partitions.isEmpty()) {
            return granted.arrival().ceilNanos();
        }
        boolean isShort = scheduler.next().isPresent()
                && granted.arrival().ceilNanos() < granted.clockNanos() + (leadMs() + GRANT_INTERVAL_MS) * NANOS_PER_MS;
        return granted.clockNanos() + (isShort ? SHORT_GRANT_INTERVAL_MS : GRANT_INTERVAL_MS) * NANOS_PER_MS;
    }

    /** Grants slots, up to a little ahead of now. */
    public List<SlotGrant> grant(long nowNanos) {
        removeSilent(nowNanos);
        if (partitions.isEmpty()) {
            return List.of(); // a restored ledger may have no pace yet
        }
        long leadNanos = leadMs() * NANOS_PER_MS;
        long untilNanos = nowNanos + leadNanos + 2 * GRANT_INTERVAL_MS * NANOS_PER_MS;
        startAt(nowNanos + leadNanos, nowNanos);
        int pieces = grantDemanded(untilNanos);
        grantSpare(untilNanos, MAX_PIECES - pieces);
        isChanged = true;
        List<SlotGrant> grants = new ArrayList<>();
        long waiting =
                partitions.values().stream().mapToLong(holder -> holder.waiting).sum();
        for (PartitionState holder : partitions.values()) {
            boolean isDue = nowNanos - holder.grantedNanos >= REPORT_INTERVAL_MS * NANOS_PER_MS
                    || holder.grantedNanos > nowNanos;
            if (!holder.runs.isEmpty() || isDue) {
                grants.add(new SlotGrant(
                        queue,
                        holder.partition,
                        nowNanos / NANOS_PER_MS,
                        limit,
                        perMs,
                        waiting - holder.waiting,
                        holder.runs));
                holder.grantedNanos = nowNanos;
                holder.runs.forEach(run -> holder.unacknowledged.add(
                        new long[] {pacing.after(run.start(), run.slots()).ceilNanos(), run.slots()}));
                holder.runs.clear();
                holder.endOfRuns = null;
            }
        }
        return grants;
    }

    /** Sets the time back, because it was wrong. Granted slots keep their distance from now. */
    public void stepBack(long nowNanos) {
        if (granted.clockNanos() > nowNanos) {
            granted = granted.movedTo(nowNanos);
            isChanged = true;
        }
        partitions.values().forEach(holder -> {
            holder.reportedNanos = Math.min(holder.reportedNanos, nowNanos);
            holder.unacknowledged.clear();
        });
    }

    private void removeSilent(long nowNanos) {
        for (Iterator<PartitionState> all = partitions.values().iterator(); all.hasNext(); ) {
            PartitionState holder = all.next();
            if (nowNanos - holder.reportedNanos > REPORT_TIMEOUT_MS * NANOS_PER_MS) {
                replace(holder, Map.of());
                all.remove();
            }
        }
    }

    /** Returns how far ahead of now the first granted slot must start, since earlier ones would arrive too late. */
    private long leadMs() {
        long lagMs = partitions.values().stream()
                .mapToLong(holder -> holder.lagMs)
                .max()
                .orElse(0);
        return lagMs + lagMs / 4;
    }

    private void startAt(long firstNanos, long nowNanos) {
        Pacing.Arrival next = granted.arrival();
        granted = new OutflowState(
                next.ceilNanos() < firstNanos ? new Pacing.Arrival(firstNanos, 0) : next,
                granted.lastNanos(),
                granted.sequence(),
                nowNanos);
    }

    private int grantDemanded(long untilNanos) {
        int pieces = 0;
        for (Flow flow = scheduler.next().orElse(null);
                flow != null && granted.arrival().ceilNanos() < untilNanos && pieces < MAX_PIECES;
                flow = scheduler.next().orElse(null)) {
            PartitionState holder = partitions.get(Integer.parseInt(flow.value()));
            PartitionDemand want = holder.demands.get(flow.tier());
            long slots = nextSlots(want);
            addGrant(holder, slots);
            want.tokens -= slots;
            boolean wantsMore = want.tokens > 0;
            if (!wantsMore) {
                holder.demands.remove(flow.tier());
            }
            scheduler.served(flow, slots, weight(want), wantsMore);
            pieces++;
        }
        return pieces;
    }

    /** Returns the slots of the next piece that is granted to a partition. */
    private long nextSlots(PartitionDemand want) {
        long piece = Math.max(1, pacing.slotsIn(PIECE_NANOS));
        long ofLargest = want.largestCost == 1 ? 1 : REQUESTS_PER_PIECE * want.largestCost;
        return Math.max(want.largestCost, Math.min(want.tokens, Math.max(piece, ofLargest)));
    }

    private static long weight(PartitionDemand want) {
        return Math.min(want.keys, FairScheduler.MAX_WEIGHT);
    }

    /** Grants slots without demand evenly to all partitions on which requests wait, if there are enough for all. */
    private void grantSpare(long untilNanos, int most) {
        List<PartitionState> all = List.copyOf(partitions.values());
        long spareNanos = untilNanos - granted.arrival().ceilNanos();
        long each = all.isEmpty() || spareNanos <= 0 ? 0 : pacing.slotsIn(spareNanos) / all.size();
        if (each == 0) {
            return;
        }
        long piece = Math.min(each, Math.max(1, pacing.slotsIn(PIECE_NANOS)));
        for (int pieces = 0; pieces < most && granted.arrival().ceilNanos() < untilNanos; pieces++) {
            addGrant(all.get(nextSpare++ % all.size()), piece);
            nextSpare %= all.size();
        }
    }

    private void addGrant(PartitionState holder, long slots) {
        Pacing.Arrival start = granted.arrival();
        Pacing.Arrival end = pacing.after(start, slots);
        int last = holder.runs.size() - 1;
        if (start.equals(holder.endOfRuns)) {
            SlotRun run = holder.runs.get(last);
            holder.runs.set(last, new SlotRun(run.start(), run.slots() + slots));
        } else {
            holder.runs.add(new SlotRun(start, slots));
        }
        holder.endOfRuns = end;
        granted = new OutflowState(end, start.ceilNanos(), granted.sequence() + slots, granted.clockNanos());
    }
}
