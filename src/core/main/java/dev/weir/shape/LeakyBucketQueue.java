package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.backlog.Attempts;
import dev.weir.shape.backlog.BucketContents;
import dev.weir.shape.backlog.Head;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueOccupancy;
import dev.weir.shape.backlog.ScheduledRequests;
import dev.weir.shape.backlog.WaitingRequests;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.shape.total.OutflowState;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A leaky bucket used as a queue. Requests arrive at any rate and leave at a steady one: higher priorities first,
 * tiers by weight, flows evenly.
 *
 * <pre>
 *                 offer
 *   ── nothing ──────────▶ waiting ─── drain ──────────▶ released       at its turn, when the pace permits
 *                            ├──────── drain, expire ──▶ expired        at its deadline, or after max-wait
 *                            ├──────── offer, evict ───▶ evicted        for a higher priority, the queue is full
 *                            ├──────── cancel ─────────▶ withdrawn
 *                            └──────── purge ──────────▶ purged
 * </pre>
 *
 * <p>A request with a {@code notBefore} waits for its time first. Then it enters its flow as if it arrived. If the queue
 * has slots, a released request has not ended yet: {@link AttemptLifecycle} shows how it ends, or waits again.
 *
 * <p>Laws, for any sequence of operations:
 * <ul>
 *   <li>each admitted request ends once: in one of these ways or, if it was released with slots, with its last attempt
 *   <li>over each interval, releases cost at most burst + rate × time, see {@link Pacing}
 *   <li>release times and sequence numbers ascend; no release is before its request arrived or may start, or after it
 *       expires
 *   <li>at each release, nothing of a higher priority waits for which its tier and client have slots; within a tier, flows
 *       share by start-time fair queueing
 *   <li>a bucket that is restored behaves as if it had not been; unless its state did not list what waits: then its
 *       flows start equal, in the order of arrival
 * </ul>
 *
 * <p>Time is an argument and never decreases, unless it {@linkplain #stepBack steps back}.
 *
 * <p>Memory grows with the number of flows that have waiting requests, not with the requests behind their heads. Each
 * step takes O(log flows + tiers) and a small constant number of reads and writes. An admission also compares up to 64
 * flows, and up to 64 tiers.
 */
final class LeakyBucketQueue {

    private static final long NANOS_PER_MS = 1_000_000;

    /** The most flows, tags, intervals of timers and attempts that a state lists. */
    private static final int MAX_LISTED_PARTS = 32;

    /** The most requests whose time has come that enter their flows before one that arrives. */
    private static final int MAX_ENTERING = 100;

    /** When a paused bucket is due in which nothing expires: the last time that a timer can have. */
    private static final long PAUSED_UNTIL_NANOS = Shaper.MAX_TIME_MS * NANOS_PER_MS;

    private final BucketId id;
    private final EffectLog effects;
    private final WaitingRequests waitingRequests;
    private final AttemptLifecycle attempts;
    private BucketTerms terms;
    private long clockNanos;
    private long timerNanos;
    private long timerOrder = -1;
    private boolean isPaused; // by a command, as of the last use
    private long resumedNanos; // nothing is released before, although a total may have unused time
    private long purgedBelow; // the number below which requests are purged; 0 if none are
    private boolean isChanged;
    private boolean isSummarized; // whether the last saved state lists what waits

    /**
     * What a bucket works with.
     *
     * @param store where its requests are
     * @param backlog counts what waits in all buckets of the queue; the bucket updates it
     * @param effects receives its effects
     */
    record Surroundings(QueueStore store, QueueBacklog backlog, EffectLog effects) {}

    /**
     * Restores a bucket from its stored state.
     *
     * @param queueRules the rules of its queue; if the state was counted by another pace, that pace applies at first
     * @param requests passes on the requests of the bucket, which are read if the state has no summary of them
     */
    static LeakyBucketQueue restored(
            BucketState state,
            PacedQueueRules queueRules,
            Consumer<BiConsumer<Place, QueueEntry>> requests,
            Surroundings surroundings) {
        WaitingRequests.Contents contents = state.contents() == null
                ? new WaitingRequests.Stored(requests)
                : new WaitingRequests.Summarized(state.contents());
        return new LeakyBucketQueue(state, contents, queueRules, surroundings);
    }

    /** Creates a bucket in which nothing waits, and which has released nothing. */
    static LeakyBucketQueue fresh(BucketId id, PacedQueueRules paced, long nowNanos, Surroundings surroundings) {
        OutflowState outflow = new OutflowState(paced.pacing().fresh(nowNanos), nowNanos, 0, nowNanos);
        BucketContents contents = id.isKeyed() ? BucketContents.EMPTY : null;
        QueueRules rules = paced.rules();
        BucketState state =
                new BucketState(id, rules.limit(), rules.perMs(), rules.burst(), outflow, contents, List.of());
        return new LeakyBucketQueue(state, new WaitingRequests.Summarized(BucketContents.EMPTY), paced, surroundings);
    }

    private LeakyBucketQueue(
            BucketState state,
            WaitingRequests.Contents contents,
            PacedQueueRules queueRules,
            Surroundings surroundings) {
        id = state.id();
        effects = surroundings.effects;
        PacedQueueRules counted = queueRules.withPace(state.limit(), state.perMs(), state.burst());
        terms = new BucketTerms(counted.rules(), counted.pacing(), counted.total(), state.outflow(), false);
        isSummarized = state.contents() != null;
        waitingRequests = new WaitingRequests(
                counted.rules(),
                counted.pacing(),
                contents,
                state.schedule(),
                surroundings.store,
                surroundings.backlog);
        attempts = new AttemptLifecycle(id, waitingRequests, effects);
    }

    /** Returns the state to store. It includes a summary of what waits if that {@linkplain #isSmall is small}. */
    BucketState state() {
        BucketContents contents = isSmall() ? waitingRequests.contents() : null;
        QueueRules rules = terms.rules();
        return new BucketState(id, rules.limit(), rules.perMs(), rules.burst(), terms.outflow(), contents, List.of())
                .withSchedule(waitingRequests.scheduled().summary());
    }

    /** Returns whether the bucket has a key and few enough flows for its state to list them. */
    boolean isSmall() {
        return id.isKeyed() && waitingRequests.partCount() <= MAX_LISTED_PARTS;
    }

    BucketId id() {
        return id;
    }

    /**
     * Returns whether nothing waits or is in flight and past releases no longer matter, so that a new bucket would behave
     * the same.
     */
    boolean isIdle(long nowNanos) {
        return isUnused() && idleNanos() <= nowNanos;
    }

    private boolean isUnused() {
        return waitingRequests.size() == 0 && waitingRequests.attempts().isEmpty();
    }

    /** Returns when the bucket becomes idle if nothing else arrives. */
    long idleNanos() {
        return terms.idleNanos();
    }

    /** Returns whether {@link #state} has changed since the last call. */
    boolean testAndClearChanged() {
        boolean isSmall = isSmall();
        boolean changed = waitingRequests.testAndClearChanged() && isSmall || isSmall != isSummarized || isChanged;
        isSummarized = isSmall;
        isChanged = false;
        return waitingRequests.scheduled().testAndClearChanged() || changed;
    }

    /** Returns whether the bucket follows these rules. */
    boolean hasAdopted(QueueRules current) {
        return terms.follow(current);
    }

    /** Returns the time of the timer of a hot bucket that has one, in nanoseconds since the epoch. */
    long timerNanos() {
        return timerNanos;
    }

    /** Returns a unique number that orders timers with the same time. */
    long timerOrder() {
        return timerOrder;
    }

    void setTimer(long nanos, long order) {
        timerNanos = nanos;
        timerOrder = order;
    }

    /** Makes the next {@link #testAndClearChanged} return true. */
    void markChanged() {
        isChanged = true;
    }

    /** Puts rules in force, also for waiting requests. Only their expiry was set when they arrived and stays. */
    void setRules(PacedQueueRules newRules, long nowNanos) {
        advanceTo(nowNanos);
        terms = terms.deleted(false);
        if (!hasAdopted(newRules.rules())) {
            terms = terms.adopt(newRules, clockNanos);
            waitingRequests.setRules(terms.rules(), terms.pacing());
            isChanged = true;
        }
    }

    /**
     * Sets what operators have ordered.
     *
     * @param paused whether nothing may be released
     * @param purgeBelow the number below which requests are to be {@linkplain #purge purged}; 0 if none are
     */
    void obey(boolean paused, long purgeBelow) {
        isPaused = paused;
        purgedBelow = purgeBelow;
    }

    /** Has nothing be released at a time before this one, when a pause ends. */
    void resume(long nowNanos) {
        resumedNanos = nowNanos;
    }

    /** Returns whether requests wait that are to be purged. Until then, nothing is released. */
    boolean isPurging() {
        return purgedBelow > 0
                && (waitingRequests.firstBelow(purgedBelow) != null
                        || waitingRequests.scheduled().firstBelow(purgedBelow) != null);
    }

    /**
     * Ends requests that are to be purged, the first ones first, then those that wait for another attempt, then those that
     * wait for their time. Requests in flight stay.
     *
     * @param budget the most steps of work; remaining work is due at once
     */
    void purge(long nowNanos, WorkBudget budget) {
        advanceTo(nowNanos);
        while (isPurging() && budget.trySpend()) {
            Place place = waitingRequests.firstBelow(purgedBelow);
            ScheduledRequests scheduled = waitingRequests.scheduled();
            Admission purged =
                    (place != null ? remove(place) : scheduled.remove(scheduled.firstBelow(purgedBelow))).admission();
            answer(purged, QueueDecisions.purged(purged, nowMs()));
        }
    }

    /** Stops admission. Waiting requests leave by the last rules. */
    void delete() {
        terms = terms.deleted(true);
    }

    /**
     * Admits a request or rejects it, and emits a decision in any case. A {@link RequestKind#PEEK} is answered as if it
     * were admitted, but is not.
     *
     * @param number the request's number in the order of arrival
     * @param enqueuedAtMs when it arrived, not after now
     */
    void offer(Admission admission, long number, long enqueuedAtMs, long nowNanos) {
        advanceTo(nowNanos);
        enterDue(new WorkBudget(MAX_ENTERING)); // they go before it
        Decision decision = answers().toRequest(admission, enqueuedAtMs);
        QueueRules rules = terms.rules();
        boolean isAdmitted =
                decision.outcome() == Outcome.QUEUED && admission.request().kind() != RequestKind.PEEK;
        if (isAdmitted && QueueForecast.isEarly(admission.request(), nowMs())) {
            ScheduleKey key = new ScheduleKey(admission.request().notBeforeMs(), number);
            waitingRequests
                    .scheduled()
                    .add(key, new Waiting(admission, number, enqueuedAtMs, DueTime.NEVER, true, null));
        } else if (isAdmitted) {
            Waiting evicted = waitingRequests.size() >= rules.capacity() ? removeNewestOfLowest() : null;
            QueueExpiry expiry = QueueExpiry.of(rules, admission.request().deadlineMs(), enqueuedAtMs);
            waitingRequests.enter(rules.flowOf(admission.request()), admission, number, enqueuedAtMs, expiry.atMs());
            if (evicted != null) { // the time of the next release depends on the new request
                answer(evicted.admission(), answers().forecast().noRoom(evicted.admission(), Reason.EVICTED));
            }
        }
        answer(admission, decision);
    }

    /** Returns what this bucket answers at the time of its last use. */
    private BucketAnswers answers() {
        return new BucketAnswers(id, terms, waitingRequests, attempts, clockNanos, isPaused);
    }

    /**
     * Returns what this bucket would answer at a time.
     *
     * @param current the rules in force, null if the queue was deleted
     */
    BucketAnswers answers(QueueRules current, long nowNanos) {
        long atNanos = Math.max(clockNanos, nowNanos);
        BucketTerms then = terms.under(current, atNanos);
        return new BucketAnswers(id, then, waitingRequests, attempts, atNanos, isPaused);
    }

    /** Returns the number of waiting requests, also of those that wait for another attempt or for their time. */
    long waiting() {
        return waitingRequests.size();
    }

    /**
     * Returns when the oldest request that waits for its first turn was queued, in milliseconds since the epoch; null if
     * none does.
     */
    Long oldestEnqueuedAtMs() {
        return waitingRequests.oldestEnqueuedAtMs();
    }

    /** Withdraws the request with the same requestId and client, the newest if there are several. Answers both. */
    void cancel(Admission cancel, long nowNanos) {
        advanceTo(nowNanos);
        Decision result = answers().toCancel(cancel);
        answer(cancel, result);
        if (result.outcome() == Outcome.ALLOWED) {
            QueueStore.Ticket ticket = WaitingRequests.ticket(cancel);
            ScheduledRequests scheduled = waitingRequests.scheduled();
            ScheduleKey early = scheduled.find(ticket);
            Admission withdrawn =
                    (early == null ? remove(waitingRequests.find(ticket)) : scheduled.remove(early)).admission();
            answer(withdrawn, QueueDecisions.cancelled(withdrawn, nowMs()));
        }
    }

    /** Removes a request that waits for its first attempt or another one. */
    private Waiting remove(Place place) {
        QueueEntry entry = waitingRequests.entry(place);
        waitingRequests.leave(place, entry);
        return request(entry);
    }

    private static Waiting request(QueueEntry entry) {
        return entry instanceof Attempted attempted ? attempted.request() : (Waiting) entry;
    }

    /** Ends or prolongs the attempt that a worker reports about, and answers the worker. */
    void acknowledge(Admission report, long nowNanos) {
        advanceTo(nowNanos);
        attempts.acknowledge(report, terms.rules(), nowMs());
    }

    /**
     * Releases what is due, up to the look-ahead before its time, and expires what has to expire.
     *
     * @param budget the most steps of work; remaining work is due at once
     */
    void drain(long nowNanos, WorkBudget budget) {
        advanceTo(nowNanos);
        attempts.endOverdue(terms.rules(), nowMs(), budget);
        enterDue(budget.half());
        if (mayRelease()) {
            release(budget);
        }
        expire(nowNanos, budget); // nothing else is overdue
    }

    /**
     * Returns when there is something to {@link #drain}. If nothing waits or is in flight, returns when a bucket with a key, or of a
     * deleted queue, becomes {@linkplain #isIdle idle}, and {@link DueTime#NEVER} for others.
     */
    long dueNanos() {
        if (isUnused()) {
            return id.isKeyed() || terms.isDeleted() ? idleNanos() : DueTime.NEVER;
        }
        if (isPurging()) {
            return clockNanos;
        }
        if (isPaused) {
            return Math.min(nextChangeNanos(), PAUSED_UNTIL_NANOS);
        }
        return waitingRequests.next() == null ? nextChangeNanos() : Math.min(releaseNanos(), nextChangeNanos());
    }

    /** Returns when the next request can be written as released, or expires; {@link DueTime#NEVER} if it waits for slots. */
    private long releaseNanos() {
        Head next = waitingRequests.next();
        long turnNanos = terms.turnNanos(next.cost(), clockNanos);
        long expiryNanos = nanos(next.expiresAtMs());
        boolean expiresFirst = turnNanos > expiryNanos;
        return expiresFirst
                ? expiryNanos
                : waitingRequests.hasSlots(next.cost()) ? turnNanos - terms.lookAheadNanos() : DueTime.NEVER;
    }

    /** Has requests enter their flows whose time has come, in the order of their times. */
    private void enterDue(WorkBudget budget) {
        ScheduledRequests scheduled = waitingRequests.scheduled();
        QueueRules rules = terms.rules();
        ScheduleKey due = isPurging() ? null : scheduled.due(nowMs());
        while (due != null && budget.trySpend()) {
            Waiting waiting = scheduled.remove(due);
            Admission admission = waiting.admission();
            Request request = admission.request();
            QueueExpiry expiry = QueueExpiry.of(rules, request.deadlineMs(), due.atMs());
            waitingRequests.enter(
                    rules.flowOf(request), admission, due.number(), waiting.enqueuedAtMs(), expiry.atMs());
            due = scheduled.due(nowMs());
        }
    }

    private boolean mayRelease() {
        return !isPaused && !isPurging();
    }

    /** Returns the latest time at which the bucket was used. */
    long nowNanos() {
        return clockNanos;
    }

    boolean isEmpty() {
        return waitingRequests.isEmpty();
    }

    /** Returns whether a request can leave next, and its bucket has slots for it. */
    boolean hasSlotsForHead() {
        return waitingRequests.next() != null && waitingRequests.hasSlots(headCost());
    }

    /** Returns the flow of the request that leaves next. */
    Flow headFlow() {
        return waitingRequests.next().flow();
    }

    long headCost() {
        return waitingRequests.next().cost();
    }

    /** Returns when the request that leaves next expires; {@link DueTime#NEVER} if it never does. */
    long headExpiryNanos() {
        return nanos(waitingRequests.next().expiresAtMs());
    }

    /**
     * Returns when the pace of this bucket permits the next request to leave, possibly in the past;
     * {@link DueTime#NEVER} if it expires before.
     */
    long headTurnNanos() {
        long turnNanos = Math.max(terms.earliestTurnNanos(waitingRequests.next(), clockNanos), resumedNanos);
        return turnNanos > headExpiryNanos() ? DueTime.NEVER : turnNanos;
    }

    /**
     * Returns when the next request expires, the next attempt or backoff is over, or the time of the next request comes, if
     * none leaves before; {@link DueTime#NEVER} if none ever does.
     */
    long nextChangeNanos() {
        long expiryMs = Math.min(
                waitingRequests.nextExpiryMs(), waitingRequests.attempts().dueMs());
        return nanos(Math.min(expiryMs, waitingRequests.scheduled().dueMs()));
    }

    /**
     * Returns the total cost of what waits for its turn, with each cost capped, as far as there are slots for it, and at
     * least that of the request that leaves next: there must be one, and slots for it. It can cost more than the bucket
     * has slots now. With slots, a cost of 0 counts as 1, unless other requests cost more.
     */
    long releasableTokens() {
        InFlightRules limits = terms.rules().inFlight();
        Attempts retries = waitingRequests.attempts();
        QueueOccupancy first = waitingRequests.occupancy();
        long tokens = first.tokens() + retries.dueTokens();
        if (limits == null) {
            return tokens;
        }
        long slots = Math.max(tokens, first.size() + retries.dueCount());
        return Math.max(headCost(), Math.min(slots, limits.most() - attempts.slots()));
    }

    /**
     * Returns how many tokens this bucket could release from {@code atNanos} until {@code nanos} later by its own pace;
     * at least the next request's cost, and at least 1, since requests of cost 0 take their turn too.
     *
     * @param waiting the total cost of what waits
     */
    long tokensAt(long atNanos, long nanos, long waiting) {
        return terms.tokensAt(atNanos, nanos, headCost(), waiting);
    }

    /** Releases the next request at a time that is not before its turn. */
    void releaseHead(long atNanos, long nowNanos) {
        advanceTo(nowNanos);
        release(waitingRequests.next(), atNanos);
    }

    /** Expires what has to expire and ends the attempts that have lasted too long, without releasing anything. */
    void expire(long nowNanos, WorkBudget budget) {
        advanceTo(nowNanos);
        attempts.endOverdue(terms.rules(), nowMs(), budget);
        enterDue(budget.half());
        for (Place place = waitingRequests.nextExpired(nowMs(), budget);
                place != null;
                place = waitingRequests.nextExpired(nowMs(), budget)) {
            expire(place);
        }
    }

    private void release(WorkBudget budget) {
        long horizonNanos = clockNanos + terms.lookAheadNanos();
        for (Head next = waitingRequests.next(); next != null; next = waitingRequests.next()) {
            long atNanos = terms.turnNanos(next.cost(), clockNanos);
            boolean expiresFirst = atNanos > nanos(next.expiresAtMs());
            boolean isDue = expiresFirst
                    ? next.expiresAtMs() <= nowMs()
                    : atNanos <= horizonNanos && waitingRequests.hasSlots(next.cost());
            if (!isDue || !budget.trySpend()) {
                return;
            }
            if (expiresFirst) {
                expire(next.place());
            } else {
                release(next, atNanos);
            }
        }
    }

    private void release(Head head, long atNanos) {
        QueueEntry entry = waitingRequests.entry(head.place());
        Waiting waiting = request(entry);
        InFlightRules limits = terms.rules().inFlight();
        Release.Attempt attempt = null;
        if (limits == null) {
            waitingRequests.serve(head, entry);
        } else {
            attempt = attempts.begin(head, entry, atNanos, limits);
        }
        terms = terms.released(waiting.cost(), atNanos, clockNanos);
        isChanged = true;
        Request request = waiting.admission().request();
        effects.release(
                waiting.admission(),
                Release.builder(request.requestId(), request.client(), id.queue())
                        .tier(request.tier())
                        .key(id.values())
                        .sequence(terms.outflow().sequence())
                        .enqueuedAtMs(waiting.enqueuedAtMs())
                        .releaseAtNanos(atNanos)
                        .cost(request.cost())
                        .attributes(request.attributes())
                        .payload(request.payload())
                        .attempt(attempt)
                        .pace(attempt == null ? terms.pace(waiting.cost()) : Release.Pace.NONE)
                        .build());
    }

    private void expire(Place place) {
        QueueEntry entry = waitingRequests.entry(place);
        Waiting waiting = remove(place);
        Admission admission = waiting.admission();
        Long deadlineMs = admission.request().deadlineMs();
        long expiresAtMs = entry instanceof Attempted ? deadlineMs : waiting.expiresAtMs();
        boolean isDeadline = deadlineMs != null && deadlineMs == expiresAtMs;
        Long retryAfterMs =
                isDeadline || terms.isDeleted() ? null : answers().forecast().retryAfterMs(admission.request(), true);
        answer(
                admission,
                QueueDecisions.expired(admission, isDeadline ? "deadline" : "max-wait", retryAfterMs, expiresAtMs));
    }

    /** Returns whether a request waits whose priority is lower than this one. */
    boolean holdsBelow(int priority) {
        QueueOccupancy occupancy = waitingRequests.occupancy();
        return occupancy.size() > 0 && occupancy.lowestPriority() < priority;
    }

    /** Evicts the newest request of the lowest priority, because of a limit beyond this bucket. There must be one. */
    void evict(LimitStatus limit, long retryAfterMs, long nowNanos) {
        advanceTo(nowNanos);
        Admission evicted = removeNewestOfLowest().admission();
        answer(evicted, QueueDecisions.denied(evicted, Reason.EVICTED, limit, retryAfterMs, nowMs()));
    }

    private Waiting removeNewestOfLowest() {
        Place place = waitingRequests.occupancy().newestOfLowest().tail();
        Waiting waiting = waitingRequests.get(place);
        waitingRequests.leave(place, waiting);
        return waiting;
    }

    private void answer(Admission admission, Decision decision) {
        effects.decide(admission, decision);
    }

    /**
     * Sets the time back, because it was wrong. What was used of the burst stays used, and requests leave at the rate
     * from the new time on.
     */
    void stepBack(long nowNanos) {
        clockNanos = nowNanos;
        resumedNanos = Math.min(resumedNanos, nowNanos);
        if (terms.outflow().clockNanos() > nowNanos) {
            terms = terms.movedTo(nowNanos);
            isChanged = true;
        }
    }

    private void advanceTo(long nowNanos) {
        clockNanos = Math.max(clockNanos, nowNanos);
    }

    private long nowMs() {
        return clockNanos / NANOS_PER_MS;
    }

    private static long nanos(long ms) {
        return QueueExpiry.nanos(ms);
    }
}
