package dev.weir.shape.total;

import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.timer.TimerQueue;
import dev.weir.shape.total.InFlightLender.HighestWanted;
import dev.weir.shape.total.TotalReport.LeasedTime;
import dev.weir.time.DueTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Divides the time of one queue's total among the partitions over which its keys are spread. Each queue has one
 * ledger, on one partition. Each interval of time is granted to one partition only. So all partitions together keep the
 * pace of the total as exactly as a single queue would, whatever is delayed, lost or sent twice: {@code limit} tokens in
 * each interval of length {@code per}. (Networks with a shared channel work the same way: stations request time slots, and a
 * head-end assigns them; DOCSIS, ITU-T J.222.)
 *
 * <pre>
 *   partition              ledger
 *      │  report: demand      │
 *      │ ───────────────────▶ │   next free time ─────▶
 *      │                      │   │ p0 │ p0 │ p3 │ p1 │ p0 │ …      each time once, in the order of priority and weight
 *      │ ◀─────────────────── │
 *      │  grant: time         │
 * </pre>
 *
 * <p>The total is a leaky bucket: the time of a token lies on no grid, but starts when it can be used. A demand says from when on it
 * can be used, and is granted no time before. Time that nobody can use is lost after {@value #CATCH_UP_MS} ms.
 *
 * <p>Time is granted a little ahead: by what grants take to arrive plus the interval until the next grants. Later time
 * stays with the ledger, so that a partition with new or more important demand can get it. A request that
 * takes longer gets its whole time at once. If the partition cannot use it after all, it returns it, and the ledger
 * continues from there, provided that it has granted nothing since. The order is that of {@link FairScheduler}: higher
 * priorities first, tiers by weight, and within a tier partitions by the number of clients with demand. Time without
 * demand is granted evenly to all partitions on which requests wait, so that a request that arrives later need not
 * wait for a grant. A single partition is granted the time of one more request ahead, so that it can always choose
 * which one leaves next.
 *
 * <p>If the total bounds what is in flight, the ledger also lends the slots for it, see {@link InFlightLender}. A
 * partition reports demand for time only for requests that have such slots.
 *
 * <p>Time is an argument, in nanoseconds of queue time on the ledger's partition. Handling a report takes O(tiers · log
 * n); a grant takes O(log n) for each of at most 2,000 pieces.
 */
public final class TotalLedger {

    /** How often time is granted, in milliseconds. */
    public static final long GRANT_INTERVAL_MS = 50;

    /**
     * How soon time is granted again if there is demand and hardly any is granted ahead, in milliseconds.
     */
    static final long SHORT_GRANT_INTERVAL_MS = 10;

    /** How often partitions report while requests wait, in milliseconds. */
    public static final long REPORT_INTERVAL_MS = 100;

    /** How long after its last report a partition still gets time, in milliseconds. */
    public static final long REPORT_TIMEOUT_MS = 3_000;

    /** The longest delay of grants for which the ledger grants further ahead, in milliseconds. */
    public static final long MAX_LAG_MS = 5_000;

    /** How long time that was not granted can still be, in milliseconds, since work is done in ticks. */
    public static final long CATCH_UP_MS = HeldTime.MAX_LATENESS_MS / 2;

    /** Time is granted in pieces of this length, so that partitions take turns. */
    private static final long PIECE_NANOS = 1_000_000;

    /**
     * How many of the largest requests a piece holds if they cost more than one token and take less than
     * {@link #GRANT_INTERVAL_MS} together. Larger pieces waste less if costs differ.
     */
    private static final int REQUESTS_PER_PIECE = 4;

    /** The most pieces in one round of grants. */
    private static final int MAX_PIECES = 2_000;

    private static final long NANOS_PER_MS = 1_000_000;

    /** A run that a partition has not acknowledged. */
    private record SentRun(long number, LeasedTime time) {}

    private static final class PartitionState {
        final int partition;
        final Map<String, PendingDemand> demands = new TreeMap<>();
        final Deque<SentRun> unacknowledged = new ArrayDeque<>(0);
        final List<GrantedRun> runs = new ArrayList<>();
        Pacing.Arrival endOfRuns;
        long number; // of its last run
        long waiting;
        long lagMs;
        long reportedNanos;
        boolean isSent; // whether it was sent a grant
        long sentNanos;

        PartitionState(int partition) {
            this.partition = partition;
        }
    }

    private final String queue;
    private final Map<Integer, PartitionState> partitions = new TreeMap<>();
    private final FairScheduler scheduler; // has the flows whose demand has begun
    private final ClientWeights weights = new ClientWeights();
    private final TimerQueue<Flow> upcoming = new TimerQueue<>(); // those whose demand has not
    private final InFlightLender lender;
    private Map<String, TierShare> tiers;
    private TotalRate rate; // null if the total has none
    private Pacing pacing; // of the rate
    private final GrantedTime granted;
    private boolean hasInFlight; // whether requests occupy slots until they end
    private int nextSpare;
    private boolean isChanged;

    /**
     * Creates a ledger without reports.
     *
     * @param given what was granted and lent so far
     */
    public TotalLedger(String queue, LedgerState given) {
        this.queue = queue;
        granted = new GrantedTime(given.granted());
        lender = new InFlightLender(given);
        scheduler = new FairScheduler(Map.of());
        tiers = Map.of();
    }

    /** Returns what was granted and lent so far. */
    public LedgerState state() {
        return new LedgerState(granted.state(), lender.lastLoan(), lender.lent());
    }

    /** Returns whether {@link #state} has changed since the last call. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /**
     * Returns whether there is no demand, nothing is lent and all granted time is in the past, so that a new ledger would
     * behave the same.
     */
    public boolean isIdle(long nowNanos) {
        return partitions.isEmpty() && lender.isIdle() && granted.nextNanos() <= nowNanos;
    }

    /** Sets the total and the shares. Granted time is kept by its partitions, unless the total became faster. */
    public void setRules(QueueRules rules, long nowNanos) {
        setRate(rules.total().rate(), nowNanos);
        setMostInFlight(rules.total().inFlight());
        hasInFlight = rules.inFlight() != null;
        if (rules.tiers() != tiers) {
            tiers = rules.tiers();
            scheduler.setShares(tiers);
            lender.setShares(tiers);
        }
    }

    /** Sets the slots of all partitions; empty for no bound. */
    public void setMostInFlight(OptionalLong most) {
        lender.setMost(most);
    }

    private void setRate(Optional<TotalRate> newRate, long nowNanos) {
        if (newRate.isPresent()) {
            setPace(newRate.get(), nowNanos);
        } else if (rate != null) {
            partitions.values().forEach(holder -> replace(holder, Map.of()));
            rate = null;
            pacing = null;
        }
    }

    private void setPace(TotalRate newRate, long nowNanos) {
        if (newRate.equals(rate)) {
            return;
        }
        Pacing newPacing = newRate.pacing();
        if (rate != null && newRate.isFasterThan(rate)) {
            granted.adopt(newPacing, pacing, nowNanos); // what was granted may take years by the old pace
            partitions.values().forEach(holder -> holder.unacknowledged.clear());
            awaitDemands();
        } else {
            granted.roundUp();
        }
        rate = newRate;
        pacing = newPacing;
    }

    /**
     * Applies the report of a partition.
     *
     * @param rules the rules of the queue, null if it was deleted; then the total of the report applies
     */
    public void report(TotalReport report, QueueRules rules, long nowNanos) {
        if (rules != null && rules.total() != null) {
            setRules(rules, nowNanos);
        } else if (report.waiting() > 0 || report.rate().isPresent()) { // otherwise, it has no total any more
            setRate(report.rate(), nowNanos);
            lender.setMost(report.claim().most());
        }
        PartitionState holder = partitions.computeIfAbsent(report.place().partition(), PartitionState::new);
        holder.reportedNanos = nowNanos;
        holder.waiting = report.waiting();
        holder.number =
                Math.max(holder.number, Math.min(report.grant(), granted.state().sequence()));
        holder.lagMs = Math.max(0, Math.min(MAX_LAG_MS, report.lagMs()));
        boolean isTakenBack = report.returned()
                .map(time -> granted.takeBack(report.place().partition(), report.grant(), time))
                .orElse(false);
        if (isTakenBack) {
            awaitDemands();
        }
        // a partition that was restarted has lost its time, so what is in the past no longer counts
        holder.unacknowledged.removeIf(run -> run.number <= report.grant() || run.time.untilNanos() <= nowNanos);
        List<LeasedTime> underWay =
                holder.unacknowledged.stream().map(SentRun::time).toList();
        weights.count(holder.partition, report.demands());
        lender.report(holder.partition, report.claim(), report.demands(), weights);
        isChanged |= lender.testAndClearChanged();
        long maxCost = rules == null ? Long.MAX_VALUE : rules.maxPacedCost();
        Map<String, PendingDemand> wants = new TreeMap<>();
        List<TotalReport.Demand> uncovered =
                pacing == null ? List.of() : TotalReport.uncovered(report.demands(), underWay, pacing);
        for (TotalReport.Demand demand : uncovered) {
            if (!demand.steps().isEmpty()) {
                PendingDemand want = new PendingDemand(demand.withCostsUpTo(maxCost), pacing, weights.weight(demand));
                wants.put(demand.tier(), want);
            }
        }
        boolean wantsNothing = report.waiting() == 0;
        replace(holder, wantsNothing ? Map.of() : wants);
        if (wantsNothing) {
            partitions.remove(holder.partition);
            weights.count(holder.partition, List.of());
        }
    }

    /** Lets all demands wait for their time, because the time to be granted next has moved back. */
    private void awaitDemands() {
        isChanged = true;
        partitions
                .values()
                .forEach(holder -> holder.demands.forEach((tier, demand) -> {
                    remove(flow(tier, holder));
                    upcoming.set(flow(tier, holder), demand.fromNanos());
                }));
    }

    private void replace(PartitionState holder, Map<String, PendingDemand> wants) {
        for (String tier : List.copyOf(holder.demands.keySet())) {
            if (!wants.containsKey(tier)) {
                remove(flow(tier, holder));
            }
        }
        wants.forEach((tier, want) -> {
            Flow flow = flow(tier, holder);
            boolean isWaiting = holder.demands.containsKey(tier) && !upcoming.contains(flow);
            if (!isWaiting || want.fromNanos() > granted.nextNanos()) {
                if (isWaiting) {
                    scheduler.leave(flow);
                }
                upcoming.set(flow, want.fromNanos());
            }
        });
        holder.demands.clear();
        holder.demands.putAll(wants);
    }

    private void remove(Flow flow) {
        if (upcoming.contains(flow)) {
            upcoming.cancel(flow);
        } else {
            scheduler.leave(flow);
        }
    }

    private static Flow flow(String tier, PartitionState holder) {
        return new Flow(tier, Integer.toString(holder.partition));
    }

    private PartitionState holder(Flow flow) {
        return partitions.get(Integer.parseInt(flow.value()));
    }

    /**
     * Returns when time has to be granted or slots lent; if no partition has demand, when the ledger becomes
     * {@linkplain #isIdle idle}, {@link DueTime#NEVER} if that depends on the partitions.
     */
    public long dueNanos() {
        if (lender.hasNews()) {
            return granted.state().clockNanos() + SHORT_GRANT_INTERVAL_MS * NANOS_PER_MS;
        }
        if (partitions.isEmpty()) {
            return lender.isIdle() ? granted.nextNanos() : DueTime.NEVER;
        }
        if (pacing == null) {
            return granted.state().clockNanos() + GRANT_INTERVAL_MS * NANOS_PER_MS;
        }
        long nextNanos = Math.max(granted.nextNanos(), scheduler.next().isPresent() ? 0 : upcoming.firstNanos());
        boolean isShort = nextNanos < granted.state().clockNanos() + (leadMs() + GRANT_INTERVAL_MS) * NANOS_PER_MS;
        return granted.state().clockNanos() + (isShort ? SHORT_GRANT_INTERVAL_MS : GRANT_INTERVAL_MS) * NANOS_PER_MS;
    }

    /** Grants time, up to a little ahead of now. */
    public List<TotalGrant> grant(long nowNanos) {
        removeSilent(nowNanos);
        if (partitions.isEmpty() && lender.isIdle()) {
            return List.of();
        }
        if (!partitions.isEmpty() && pacing != null) { // a restored ledger may have no pace yet
            grantTime(nowNanos);
        }
        granted.advanceClock(nowNanos);
        lender.lend();
        isChanged = true;
        return grants(nowNanos);
    }

    private void grantTime(long nowNanos) {
        long leadNanos = leadMs() * NANOS_PER_MS;
        long untilNanos = nowNanos + leadNanos + 2 * GRANT_INTERVAL_MS * NANOS_PER_MS;
        // slots in flight may be free only now, so that time in the past would be of no use
        long catchUpMs = hasInFlight ? -CATCH_UP_MS : CATCH_UP_MS;
        granted.startAt(nowNanos + leadNanos - catchUpMs * NANOS_PER_MS);
        granted.advanceClock(nowNanos);
        grantUntil(untilNanos, nowNanos + leadNanos);
    }

    private List<TotalGrant> grants(long nowNanos) {
        HighestWanted highest = lender.highestWanted();
        Map<Integer, InFlightGrant> dueSlots = lender.dueGrants(highest, nowNanos);
        List<TotalGrant> grants = new ArrayList<>();
        long waiting =
                partitions.values().stream().mapToLong(holder -> holder.waiting).sum();
        for (PartitionState holder : partitions.values()) {
            boolean isDue = !holder.isSent
                    || nowNanos - holder.sentNanos >= REPORT_INTERVAL_MS * NANOS_PER_MS
                    || holder.sentNanos > nowNanos
                    || dueSlots.containsKey(holder.partition);
            if (!holder.runs.isEmpty() || isDue) {
                InFlightGrant due = dueSlots.remove(holder.partition);
                InFlightGrant slots = due == null ? lender.grant(holder.partition, highest) : due;
                lender.sent(holder.partition, slots, nowNanos);
                grants.add(new TotalGrant(
                        new QueuePartition(queue, holder.partition),
                        holder.number,
                        nowNanos / NANOS_PER_MS,
                        Optional.ofNullable(rate),
                        waiting - holder.waiting,
                        weights.weights(holder.partition),
                        holder.runs,
                        slots));
                holder.isSent = true;
                holder.sentNanos = nowNanos;
                for (GrantedRun run : holder.runs) {
                    long endNanos = pacing.after(run.start(), run.tokens()).ceilNanos();
                    LeasedTime time = new LeasedTime(run.start().ceilNanos(), endNanos);
                    holder.unacknowledged.add(new SentRun(holder.number, time));
                }
                holder.runs.clear();
                holder.endOfRuns = null;
            }
        }
        dueSlots.forEach((partition, slots) -> {
            lender.sent(partition, slots, nowNanos);
            grants.add(toSilent(partition, waiting, slots, nowNanos));
        });
        return grants;
    }

    /** Returns a grant for a partition on which nothing waits. */
    private TotalGrant toSilent(int partition, long waiting, InFlightGrant slots, long nowNanos) {
        return new TotalGrant(
                new QueuePartition(queue, partition),
                0,
                nowNanos / NANOS_PER_MS,
                Optional.empty(),
                waiting,
                List.of(),
                List.of(),
                slots);
    }

    /** Sets the time back, because it was wrong. Granted time keeps its distance from now. */
    public void stepBack(long nowNanos) {
        if (granted.state().clockNanos() > nowNanos) {
            granted.moveTo(nowNanos);
            awaitDemands();
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
                lender.forgetDemands(holder.partition);
                weights.count(holder.partition, List.of());
                all.remove();
            }
        }
    }

    /** Returns how far ahead of now the granted time must begin, since earlier time would arrive too late. */
    private long leadMs() {
        long lagMs = partitions.values().stream()
                .mapToLong(holder -> holder.lagMs)
                .max()
                .orElse(0);
        return lagMs + lagMs / 4;
    }

    /**
     * Grants time before {@code untilNanos}.
     *
     * @param spareFromNanos the first time that is worth granting without demand
     */
    private void grantUntil(long untilNanos, long spareFromNanos) {
        for (int pieces = 0; pieces < MAX_PIECES; pieces++) {
            long nextNanos = granted.nextNanos();
            while (upcoming.firstNanos() <= nextNanos) {
                Flow flow = upcoming.first();
                upcoming.cancel(flow);
                PendingDemand want = holder(flow).demands.get(flow.tier());
                scheduler.enter(flow, nextTokens(want, nextNanos), want.weight);
            }
            Flow flow = scheduler.next().orElse(null);
            if (flow != null && nextNanos < untilNanos + aheadNanos(flow)) {
                grantDemanded(flow);
            } else if (flow == null && nextNanos < untilNanos) {
                long demandedNanos = Math.min(untilNanos, upcoming.firstNanos());
                pieces += grantSpare(Math.max(nextNanos, spareFromNanos), demandedNanos, MAX_PIECES - pieces);
                if (upcoming.firstNanos() >= untilNanos) {
                    return;
                }
                granted.startAt(demandedNanos);
            } else {
                return;
            }
        }
    }

    /** Returns how much further ahead time is granted if there is only one partition. */
    private long aheadNanos(Flow flow) {
        long cost = partitions.size() > 1 ? 0 : holder(flow).demands.get(flow.tier()).largestCost;
        return cost <= 1 ? 0 : nanosOf(cost);
    }

    private long nanosOf(long tokens) {
        return pacing.after(new Pacing.Arrival(0, 0), tokens).ceilNanos();
    }

    private void grantDemanded(Flow flow) {
        PartitionState holder = holder(flow);
        PendingDemand want = holder.demands.get(flow.tier());
        long startNanos = granted.nextNanos();
        long tokens = nextTokens(want, startNanos);
        addGrant(holder, tokens);
        want.use(tokens, startNanos);
        boolean wantsMore = !want.isEmpty();
        boolean wantsMoreNow = wantsMore && want.fromNanos() <= granted.nextNanos();
        scheduler.served(flow, tokens, want.weight, wantsMoreNow);
        if (!wantsMore) {
            holder.demands.remove(flow.tier());
        } else if (!wantsMoreNow) {
            upcoming.set(flow, want.fromNanos());
        }
    }

    /** Returns for how many tokens a demand gets time at once. */
    private long nextTokens(PendingDemand want, long startNanos) {
        return Math.max(want.leastTokens, Math.min(want.tokensBegun(startNanos), pieceFor(want)));
    }

    private long pieceFor(PendingDemand want) {
        long piece = Math.max(1, pacing.tokensIn(PIECE_NANOS));
        if (want.largestCost == 1) {
            return piece;
        }
        if (partitions.size() == 1) {
            return Math.max(piece, want.largestCost);
        }
        long requests = Math.min(REQUESTS_PER_PIECE, GRANT_INTERVAL_MS * NANOS_PER_MS / nanosOf(want.largestCost));
        return Math.max(piece, requests == 0 ? want.leastTokens : requests * want.largestCost);
    }

    /**
     * Grants time without demand evenly to all partitions on which requests wait, if there is enough for all.
     *
     * @return in how many pieces
     */
    private int grantSpare(long fromNanos, long untilNanos, int most) {
        List<PartitionState> all = List.copyOf(partitions.values());
        long each = untilNanos <= fromNanos ? 0 : pacing.tokensIn(untilNanos - fromNanos) / all.size();
        if (each == 0) {
            return 0;
        }
        granted.startAt(fromNanos);
        long piece = Math.min(each, Math.max(1, pacing.tokensIn(PIECE_NANOS)));
        int pieces = 0;
        long pieceNanos = nanosOf(piece);
        while (pieces < most && granted.nextNanos() + pieceNanos <= untilNanos) {
            addGrant(all.get(nextSpare++ % all.size()), piece);
            nextSpare %= all.size();
            pieces++;
        }
        return pieces;
    }

    private void addGrant(PartitionState holder, long tokens) {
        Pacing.Arrival start = granted.grant(holder.partition, tokens, pacing);
        int last = holder.runs.size() - 1;
        if (start.equals(holder.endOfRuns)) {
            GrantedRun run = holder.runs.get(last);
            holder.runs.set(last, new GrantedRun(run.start(), run.tokens() + tokens));
        } else {
            holder.runs.add(new GrantedRun(start, tokens));
        }
        holder.endOfRuns = granted.state().arrival();
        holder.number = granted.state().sequence();
    }
}
