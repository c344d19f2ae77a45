package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.InFlightModel.Job;
import dev.weir.shape.InFlightModel.State;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.QueueView;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * A queue whose workers acknowledge releases, and its model. Requests, answers, commands and changes of rules go to both.
 * Each answer, release and end of the queue is compared with the model.
 */
final class ModelledQueue {

    static final String[] TIERS = {"gold", "free", null};
    static final List<String> KEYS = List.of("a", "b", "c", "d", "e");
    static final String FIELD = "to";

    /** The slowest rate of {@link #randomRules}, and how long it delays a request after those before at most. */
    static final int SLOWEST_A_SECOND = 100;

    /** How late a request can expire that expires before others of its flow which arrived earlier. */
    private static final int TIMER_MS = 100;

    static final int LONGEST_PACE_MS = 3 * 1_000 / SLOWEST_A_SECOND + 2;

    final QueueHarness queue;
    private final InFlightModel model;
    private final List<Release> released = new ArrayList<>();
    final Map<Reason, Integer> seen = new EnumMap<>(Reason.class); // the reasons of all decisions
    private final Set<String> receipts = new HashSet<>();
    private final Map<String, Reason> ends = new TreeMap<>(); // that the queue must report, by job
    private final List<String> givenUp = new ArrayList<>(); // that must become dead letters
    private final Map<String, Long> lastReleasesMs = new HashMap<>(); // by key
    private final String name;
    private final int maxCost;
    int expiredRetries;
    private int releasesSeen;
    private int decisionsSeen;
    private long nowMs;
    private long settledMs;
    private boolean hadRate; // in earlier rules
    private String context;

    /** @param maxCost of a request, at most 3 */
    ModelledQueue(String name, QueueRules rules, int maxCost, int hotKeys) {
        this.name = name;
        this.maxCost = maxCost;
        queue = new QueueHarness(rules);
        queue.hotKeys = hotKeys;
        queue.restart();
        model = new InFlightModel(rules);
    }

    /** Returns rules with slots, with or without a rate, whose caps may be above the slots or below the cost of a request. */
    static QueueRules.Builder randomRules(Random random) {
        long ackMs = 20 + random.nextInt(100);
        InFlightRules slots = new InFlightRules(
                1 + random.nextInt(6),
                ackMs,
                ackMs + random.nextInt(300),
                1 + random.nextInt(4),
                random.nextInt(3) * 20L,
                randomCaps(random));
        QueueRules.Builder rules = random.nextBoolean()
                ? QueueRules.builder("q", slots)
                : QueueRules.builder("q", SLOWEST_A_SECOND + random.nextInt(400), 1_000)
                        .burst(1 + random.nextInt(3))
                        .inFlight(slots);
        return rules.capacity(5 + random.nextInt(40)).lookAheadMs(random.nextInt(2) * 10L);
    }

    private static InFlightCaps randomCaps(Random random) {
        Map<String, Long> ofTier = new HashMap<>();
        for (String tier : TIERS) {
            if (random.nextBoolean()) {
                ofTier.put(tier == null ? "" : tier, 1L + random.nextInt(4));
            }
        }
        return new InFlightCaps(
                ofTier, random.nextBoolean() ? OptionalLong.of(1 + random.nextInt(4)) : OptionalLong.empty());
    }

    /** Starts a step of a test; its name is in the messages of failures. */
    void begin(int step) {
        context = name + ", step " + step + ", at " + nowMs;
    }

    String context() {
        return context;
    }

    QueueRules rules() {
        return model.rules();
    }

    /** Returns a key at random; the empty text for a queue without keys. */
    String anyKey(Random random) {
        return rules().isKeyed() ? KEYS.get(random.nextInt(KEYS.size())) : "";
    }

    private static Map<String, String> key(String value) {
        return value.isEmpty() ? Map.of() : Map.of(FIELD, value);
    }

    void offer(Random random, int step) {
        QueueRules current = rules();
        String tier = TIERS[random.nextInt(TIERS.length)];
        Flow flow = new Flow(tier == null ? "" : tier, "c" + random.nextInt(3));
        Long deadlineMs = random.nextInt(4) == 0 ? nowMs + 1 + random.nextInt(300) : null;
        long latestMs = deadlineMs == null ? Long.MAX_VALUE : deadlineMs;
        long expiresAtMs = current.maxWaitMs() == QueueRules.NO_MAX_WAIT
                ? latestMs
                : Math.min(latestMs, nowMs + current.maxWaitMs());
        String key = anyKey(random);
        Job job = new Job("r" + step, flow, key, random.nextInt(maxCost + 1), queue.number, expiresAtMs, latestMs);
        Admission admission =
                QueueHarness.admission(RequestKind.CONSUME, job.id, job.client, tier, job.cost, deadlineMs, key(key));
        List<Job> evictable = model.waiting(key) < current.capacity() ? List.of() : model.evictable(key, flow.tier());
        Reason expected = expectedOf(job, evictable);
        int before = queue.decisions.size();
        queue.sendNext(QueueRules.withKey(admission, current), nowMs);
        List<Decision> decided = queue.decisions.subList(before, queue.decisions.size());
        Decision answer = decided.get(decided.size() - 1);
        if (answer.reason() == Reason.TOO_LATE) {
            assertThat(current.hasRate() && expiresAtMs < Long.MAX_VALUE)
                    .as(context)
                    .isTrue();
            return;
        }
        assertThat(answer.reason()).as(context).isEqualTo(expected);
        if (expected == Reason.SHAPED) {
            assertThat(answer.queueing().expectedWaitMs() == null || current.inFlight() == null)
                    .as(context + ": the wait is not known")
                    .isTrue();
            model.add(job);
            if (!evictable.isEmpty()) {
                evict(decided.get(0), evictable);
            }
        }
    }

    private Reason expectedOf(Job job, List<Job> evictable) {
        if (model.isDraining(job.key)) {
            return Reason.QUEUE_DRAINING;
        }
        if (job.cost > rules().maxCost()) {
            return Reason.COST_NEVER_FITS;
        }
        boolean isFull = model.waiting(job.key) >= rules().capacity();
        return isFull && evictable.isEmpty() ? Reason.QUEUE_FULL : Reason.SHAPED;
    }

    private void evict(Decision decision, List<Job> evictable) {
        Job evicted = model.job(decision.requestId());
        assertThat(evictable).as(context).contains(evicted);
        model.end(evicted);
        ends.put(evicted.id, Reason.EVICTED);
    }

    /** Cancels a job at random, which may have ended. */
    void cancel(Random random) {
        model.jobs().stream()
                .skip(random.nextInt(model.jobs().size() + 1))
                .findFirst()
                .ifPresent(this::cancel);
    }

    private void cancel(Job job) {
        Admission cancel = QueueHarness.admission(RequestKind.CANCEL, job.id, job.client, null, 1, null, key(job.key));
        int before = queue.decisions.size();
        queue.sendNext(QueueRules.withKey(cancel, rules()), nowMs);
        Reason expected =
                switch (job.state) {
                    case IN_FLIGHT -> Reason.IN_FLIGHT;
                    case ENDED -> Reason.NOT_WAITING;
                    case WAITING, BACKOFF -> Reason.CANCELLED;
                };
        assertThat(queue.decisions.get(before).reason()).as(context).isEqualTo(expected);
        if (expected == Reason.CANCELLED) {
            model.end(job);
            ends.put(job.id, expected);
        }
    }

    /** Answers one of the last releases as a worker, or as another client. */
    void answer(Random random) {
        if (released.isEmpty()) {
            return;
        }
        Release release = released.get(Math.max(0, released.size() - 1 - random.nextInt(12)));
        Job job = model.job(release.requestId());
        boolean isForged = random.nextInt(8) == 0;
        boolean isOpen = !isForged && isOpen(job, release);
        String client = isForged ? "mallory" : release.client();
        Result result = Result.values()[random.nextInt(3)];
        Long retryAfterMs = result == Result.RETRY && random.nextBoolean() ? (Long) (long) random.nextInt(50) : null;
        RequestKind kind = random.nextInt(3) == 0 ? RequestKind.EXTEND : RequestKind.COMPLETE;
        int before = queue.decisions.size();
        queue.acknowledge(release, client, kind, kind == RequestKind.EXTEND ? null : result, retryAfterMs, nowMs);
        Reason answered = queue.decisions.get(before).reason();
        Reason expected = kind == RequestKind.EXTEND ? Reason.EXTENDED : Reason.COMPLETED;
        assertThat(answered).as(context + ", of " + release).isEqualTo(isOpen ? expected : Reason.STALE_ATTEMPT);
        if (!isOpen) {
            return;
        }
        if (kind == RequestKind.EXTEND) {
            model.extend(job, nowMs);
        } else if (result != Result.RETRY) {
            model.complete(job, result == Result.DONE ? AttemptEnd.DONE : AttemptEnd.FAILED);
        } else if (model.fail(job, nowMs, retryAfterMs, AttemptEnd.RETRY)) {
            ends.put(job.id, Reason.ATTEMPTS_EXHAUSTED);
        }
        if (kind == RequestKind.COMPLETE && result == Result.FAILED) {
            ends.put(job.id, Reason.FAILED);
        }
    }

    private static boolean isOpen(Job job, Release release) {
        return job.state == State.IN_FLIGHT && job.attempt == release.attempt().number();
    }

    /** Sends a command for a key, or for the whole queue if it is empty. */
    void command(Action action, String key) {
        model.obey(action, key).forEach(purged -> ends.put(purged.id, Reason.PURGED));
        queue.command(action, "q", key(key), nowMs);
    }

    void change(QueueRules rules) {
        hadRate |= rules().hasRate();
        queue.rules.put("q", rules);
        queue.carryOut(queue.shaper.refresh(nowMs * MS));
        model.setRules(rules);
    }

    /** Advances the time in steps of a millisecond, so that each timeout of the model has its time. */
    void advance(long ms) {
        for (long untilMs = nowMs + ms; nowMs < untilMs; ) {
            nowMs++;
            settle();
        }
    }

    /** Has the queue do what is due, each at its time, and checks it. */
    void settle() {
        observe(settledMs);
        while (queue.shaper.dueNanos() <= nowMs * MS) {
            long atNanos = Math.max(settledMs * MS, queue.shaper.dueNanos());
            for (QueueEffect effect : queue.shaper.tick(atNanos, 1_000)) {
                queue.carryOut(List.of(effect));
                observe(atNanos / MS);
            }
        }
        observe(nowMs);
        settledMs = nowMs;
        checkAllReported();
        assertThat(model.live())
                .as(context + ": expired")
                .noneMatch(job -> job.hasExpired(nowMs - (job.state == State.WAITING ? TIMER_MS : 0)));
        assertThat(queue.shaper.needsTime())
                .as(context + ": whether the time is needed")
                .isEqualTo(!model.live().isEmpty());
        (rules().isKeyed() ? KEYS : List.of("")).forEach(this::checkNoneIdle);
        checkView();
    }

    /** Has the model do what the queue has done since the last call. It was done at this time. */
    private void observe(long atMs) {
        model.timeOut(atMs).forEach(job -> ends.put(job.id, Reason.ATTEMPTS_EXHAUSTED));
        checkEnds(atMs);
        List<Release> fresh = queue.releases.subList(releasesSeen, queue.releases.size());
        fresh.forEach(release -> start(release, atMs));
        fresh.stream().filter(release -> release.attempt() != null).forEach(released::add);
        releasesSeen = queue.releases.size();
    }

    /** Each end that is reported was expected. */
    private void checkEnds(long atMs) {
        for (Decision decision : queue.decisions.subList(decisionsSeen, queue.decisions.size())) {
            seen.merge(decision.reason(), 1, Integer::sum);
            Job job = decision.endsWait() ? model.job(decision.requestId()) : null;
            if (decision.outcome() == Outcome.EXPIRED) {
                assertThat(job.hasExpired(atMs)).as(context + ", " + decision).isTrue();
                expiredRetries += job.state == State.BACKOFF ? 1 : 0;
                model.end(job);
            } else if (decision.endsWait()) {
                assertThat(ends.remove(job.id)).as(context + ", " + decision).isEqualTo(decision.reason());
                if (decision.reason() == Reason.FAILED || decision.reason() == Reason.ATTEMPTS_EXHAUSTED) {
                    givenUp.add(job.id + " " + decision.reason());
                }
            }
        }
        decisionsSeen = queue.decisions.size();
    }

    /** Each end that was expected is reported; what is given up also becomes a dead letter. */
    private void checkAllReported() {
        assertThat(ends).as(context + ": ends that are not reported").isEmpty();
        assertThat(queue.givenUp)
                .as(context)
                .extracting(given -> given.admission().request().requestId() + " "
                        + given.rejection().name())
                .isEqualTo(givenUp);
        queue.givenUp.clear();
        givenUp.clear();
    }

    /** The view counts what is in flight, by tier, and what waits for another attempt. */
    private void checkView() {
        Map<String, Long> slotsByTier = model.slotsByTier();
        assertThat(queue.shaper.queries().view("q", nowMs * MS).inFlight())
                .as(context)
                .isEqualTo(new QueueView.InFlightView(
                        model.count(State.IN_FLIGHT),
                        slotsByTier.values().stream().mapToLong(slots -> slots).sum(),
                        slotsByTier,
                        model.count(State.BACKOFF),
                        model.oldestInFlightMs(nowMs)));
        assertThat(queue.attemptEnds).as(context).isEqualTo(model.attemptEnds());
    }

    /** @param writtenMs when the queue has decided it */
    private void start(Release release, long writtenMs) {
        Job job = model.job(release.requestId());
        String what = context + ", " + release;
        assertThat(model.isPaused(job.key)).as(what + " although paused").isFalse();
        assertThat(job.mayGo(writtenMs)).as(what).isTrue();
        model.live(job.key, other -> other != job && other.sharesFlowWith(job) && other.mayGo(writtenMs))
                .forEach(other -> assertThat(job.precedes(other))
                        .as(what + " before " + other.id + ", " + other.state + " until " + other.untilMs + " at "
                                + writtenMs)
                        .isTrue());
        assertThat(model.sureToGo(model.firstOfFlows(job.key, writtenMs)))
                .as(what + " although a higher priority waits")
                .noneMatch(other -> model.priority(other) > model.priority(job));
        long atMs = -Math.floorDiv(-release.releaseAtNanos(), MS);
        assertThat(atMs).as(what + ", after " + job).isLessThanOrEqualTo(job.latestStartMs());
        model.start(job, atMs);
        lastReleasesMs.merge(job.key, atMs, Math::max);
        InFlightRules slots = rules().inFlight();
        if (slots == null) {
            assertThat(release.attempt()).as(what).isNull();
            return;
        }
        assertThat(release.attempt().number()).as(what).isEqualTo(job.attempt);
        assertThat(receipts.add(release.attempt().receipt()))
                .as(what + " has the receipt of another attempt")
                .isTrue();
        assertThat(model.slotsInUse(job.key)).as(what).isLessThanOrEqualTo(slots.most());
        assertThat(model.freeOfTier(job)).as(what + ", of the tier").isNotNegative();
        assertThat(model.freeOfClient(job)).as(what + ", of the client").isNotNegative();
    }

    /**
     * No slots are left idle while the rate permits a release and a request may go whose tier and client have slots for it.
     * One that needs more slots of its bucket or its tier than are free is waited for, so if requests cost more than 1,
     * only the largest ones are compared.
     */
    private void checkNoneIdle(String key) {
        boolean mayBePaced = rules().hasRate() || hadRate;
        if (model.isPaused(key) || mayBePaced && lastReleasesMs.getOrDefault(key, 0L) + LONGEST_PACE_MS > nowMs) {
            return;
        }
        List<Job> first = model.firstOfFlows(key, nowMs);
        InFlightRules slots = rules().inFlight();
        if (slots == null) {
            assertThat(first).as(context + ": nothing delays them").isEmpty();
        } else if (!model.sureToGo(first).isEmpty()) {
            long largest = first.stream()
                    .filter(job -> model.hasClientSlots(job) && model.hasTierSlots(job))
                    .mapToLong(model::wanted)
                    .max()
                    .orElseThrow();
            assertThat(slots.most() - model.slotsInUse(key))
                    .as(context + ": idle slots")
                    .isLessThan(largest);
        }
    }

    /** Completes everything that is released until nothing is left. */
    void finish() {
        context = name + ", the end";
        model.withCommands().forEach(key -> command(Action.RESUME, key));
        for (int round = 0; !model.live().isEmpty(); round++) {
            assertThat(round).as(context + ": rounds until nothing waits").isLessThan(10_000);
            for (Release release : List.copyOf(released)) {
                Job job = model.job(release.requestId());
                if (isOpen(job, release)) {
                    assertThat(queue.done(release, nowMs).reason()).as(context).isEqualTo(Reason.COMPLETED);
                    model.complete(job, AttemptEnd.DONE);
                }
            }
            released.clear();
            advance(1);
        }
        assertThat(queue.orders).as(context).isEmpty();
        assertThat(queue.stores.values()).as(context).allSatisfy(store -> {
            assertThat(((HeapQueueStore<?, ?>) store.entries()).entries).isEmpty();
            assertThat(((HeapQueueStore<?, ?>) store.tickets()).entries).isEmpty();
            assertThat(((HeapQueueStore<?, ?>) store.expiryTimers()).entries).isEmpty();
        });
    }
}
