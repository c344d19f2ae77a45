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
 * Divides the release slots of one queue's total among the partitions that its keys are spread over. There is one
 * ledger for each queue, on one partition. Each slot is given to one partition only, so what all partitions release
 * together keeps the pace of the total as exactly as one queue would, whatever is delayed, lost or sent twice: {@code
 * limit} slots in each interval of length {@code per}. (As in networks where stations request time slots on a shared
 * channel and the head-end assigns them: DOCSIS, ITU-T J.222.)
 *
 * <pre>
 *   partition              ledger
 *      │  report: wants       │
 *      │ ───────────────────▶ │   next free slot ─────▶
 *      │                      │   │ p0 │ p0 │ p3 │ p1 │ p0 │ …      each slot once, in the order of priority and weight
 *      │ ◀─────────────────── │
 *      │  grant: slots        │
 * </pre>
 *
 * <p>Slots are given out a little ahead: as long as grants take to arrive, and until the next are made. Those that lie
 * further ahead stay with the ledger, so that a partition which wants more, or something more important, gets them. The
 * order is that of {@link FairScheduler}: higher priorities first, tiers by weight, and in a tier partitions by how
 * many keys want something. What nobody wants is given to all that have something waiting, evenly, so that a request
 * which comes later does not have to wait for a grant.
 *
 * <p>Time is an argument, in nanoseconds of queue time on the ledger's partition.
 */
public final class SlotLedger {

    /** Slots are given out this often. */
    public static final long GRANT_INTERVAL_MS = 50;

    /** If somebody wants slots and hardly any are given out, the next are given out after this. */
    static final long SHORT_GRANT_INTERVAL_MS = 10;

    /** Partitions report this often while something waits. */
    public static final long REPORT_INTERVAL_MS = 100;

    /** A partition that has not reported for this long gets nothing more. */
    static final long REPORT_TIMEOUT_MS = 3_000;

    /** Grants that take longer do not make the ledger look further ahead. */
    public static final long MAX_LAG_MS = 5_000;

    /** Slots are given out in pieces of so much time, so that partitions take turns. */
    private static final long PIECE_NANOS = 1_000_000;

    /**
     * A piece holds so many of the largest requests, if they cost more than one: less of it is left over by requests of
     * several costs.
     */
    private static final int REQUESTS_PER_PIECE = 4;

    /** More pieces are not given out at once. */
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
        final Deque<long[]> unacknowledged =
                new ArrayDeque<>(0); // end and slots of the runs that its last report did not know of
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
     * A ledger that nobody has reported to.
     *
     * @param given what it has given out; its sequence is the number of slots
     */
    public SlotLedger(String queue, OutflowState given) {
        this.queue = queue;
        this.granted = given;
        scheduler = new FairScheduler(Map.of());
        tiers = Map.of();
    }

    /** The state of a ledger that has given nothing. */
    public static OutflowState fresh(long nowNanos) {
        return new OutflowState(new Pacing.Arrival(nowNanos, 0), nowNanos, 0, nowNanos);
    }

    /** What it has given out. */
    public OutflowState state() {
        return granted;
    }

    /** Whether {@link #state} has changed since it was asked last. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /**
     * Whether nobody wants anything, and all slots that were given out are in the past, so that a fresh ledger would do
     * the same.
     */
    public boolean isIdle(long nowNanos) {
        return partitions.isEmpty() && granted.arrival().ceilNanos() <= nowNanos;
    }

    /** Sets the total and the shares; slots that were given out stay with who has them. */
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
                    new Pacing.Arrival(granted.arrival().ceilNanos(), 0), // its part is one of the pace before
                    granted.lastNanos(),
                    granted.sequence(),
                    granted.clockNanos());
        }
    }

    /**
     * Takes what a partition wants now.
     *
     * @param rules of the queue, null if it was deleted: then it goes by the total of the report
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
        long seenUntilNanos =
                Math.max(report.coveredUntilNanos(), nowNanos); // a holder that was opened anew has lost some
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
                scheduler.enter(flow(tier, holder), wants.get(tier).keys);
            }
        });
        holder.demands.clear();
        holder.demands.putAll(wants);
    }

    private static Flow flow(String tier, PartitionState holder) {
        return new Flow(tier, Integer.toString(holder.partition));
    }

    /** When slots are to be given out; if nobody is there to get any, when it is {@linkplain #isIdle idle}. */
    public long dueNanos() {
        if (partitions.isEmpty()) {
            return granted.arrival().ceilNanos();
        }
        boolean isShort = scheduler.next().isPresent()
                && granted.arrival().ceilNanos() < granted.clockNanos() + (leadMs() + GRANT_INTERVAL_MS) * NANOS_PER_MS;
        return granted.clockNanos() + (isShort ? SHORT_GRANT_INTERVAL_MS : GRANT_INTERVAL_MS) * NANOS_PER_MS;
    }

    /** Gives out slots, up to a little ahead of now. */
    public List<SlotGrant> grant(long nowNanos) {
        removeSilent(nowNanos);
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

    /** Sets the time back, because it was wrong. Slots that were given out keep their distance from now. */
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

    /** Slots that begin sooner would arrive too late. */
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
        long piece = Math.max(1, pacing.slotsIn(PIECE_NANOS));
        int pieces = 0;
        for (Flow flow = scheduler.next().orElse(null);
                flow != null && granted.arrival().ceilNanos() < untilNanos && pieces < MAX_PIECES;
                flow = scheduler.next().orElse(null)) {
            PartitionState holder = partitions.get(Integer.parseInt(flow.client()));
            PartitionDemand want = holder.demands.get(flow.tier());
            long ofLargest = want.largestCost == 1 ? 1 : REQUESTS_PER_PIECE * want.largestCost;
            long slots = Math.max(want.largestCost, Math.min(want.tokens, Math.max(piece, ofLargest)));
            addGrant(holder, slots);
            want.tokens -= slots;
            boolean wantsMore = want.tokens > 0;
            if (!wantsMore) {
                holder.demands.remove(flow.tier());
            }
            scheduler.served(flow, slots, want.keys, wantsMore);
            pieces++;
        }
        return pieces;
    }

    /** Gives what nobody wants to all that have something waiting, if it is enough for all. */
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
