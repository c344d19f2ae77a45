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
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.QueueAudit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests laws of a queue with slots. Workers complete, extend, lose, repeat and forge at random; the shaper restarts in
 * between, and with few keys on the heap. A model of each job says what each answer and release must be.
 */
class InFlightLawsTest {

    private static final int STEPS = 1_500;
    private static final String[] TIERS = {"gold", "free", null};
    private static final String[] KEYS = {"a", "b", "c", "d", "e"};

    private enum State {
        WAITING,
        IN_FLIGHT,
        BACKOFF,
        ENDED
    }

    /** What the model knows of a request. */
    private static final class Job {
        final String id;
        final String client;
        final String tier;
        final String key;
        final long cost;
        final long number;
        State state = State.WAITING;
        int attempt;
        int failures;
        long startedMs;
        long untilMs;
        boolean isClaimed;

        Job(String id, String client, String tier, String key, long cost, long number) {
            this.id = id;
            this.client = client;
            this.tier = tier;
            this.key = key;
            this.cost = cost;
            this.number = number;
        }

        boolean sharesFlowWith(Job other) {
            return key.equals(other.key)
                    && client.equals(other.client)
                    && String.valueOf(tier).equals(String.valueOf(other.tier));
        }

        boolean mayGo(long nowMs) {
            return state == State.WAITING || state == State.BACKOFF && untilMs <= nowMs;
        }
    }

    private final Map<String, Job> jobs = new TreeMap<>();
    private final Map<String, Job> live = new TreeMap<>(); // those that have not ended
    private final List<Release> released = new ArrayList<>();
    private final Map<Reason, Integer> answers = new HashMap<>();
    private QueueHarness queue;
    private InFlightRules slots;
    private QueueRules rules;
    private int releasesSeen;
    private int givenUpSeen;
    private int decisionsSeen;
    private long nowMs;
    private long settledMs;
    private String context;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
    void slots_are_never_exceeded_and_each_attempt_starts_once(long seed) {
        Random random = new Random(seed);
        rules = randomRules(random);
        slots = rules.inFlight();
        queue = new QueueHarness(rules);
        queue.hotKeys = random.nextBoolean() ? 2 : 1_000;
        queue.restart();
        for (int step = 0; step < STEPS; step++) {
            context = "seed " + seed + ", step " + step + ", at " + nowMs;
            act(random, step);
            settle();
            if (random.nextInt(3) == 0) {
                advanceTo(nowMs + random.nextInt(30));
            }
        }
        finish();
        assertThat(queue.stores.values()).as(context).allSatisfy(store -> {
            assertThat(((HeapQueueStore<?, ?>) store.slots()).entries).isEmpty();
            assertThat(((HeapQueueStore<?, ?>) store.tickets()).entries).isEmpty();
        });
        assertThat(new QueueAudit(queue.requests, queue.decisions, queue.releases).faults(List.of(rules)))
                .as(context)
                .isEmpty();
        assertThat(answers.keySet()).contains(Reason.COMPLETED, Reason.STALE_ATTEMPT, Reason.EXTENDED);
    }

    private static QueueRules randomRules(Random random) {
        long ackMs = 20 + random.nextInt(100);
        InFlightRules slots = new InFlightRules(
                1 + random.nextInt(6),
                ackMs,
                ackMs + random.nextInt(300),
                1 + random.nextInt(4),
                random.nextInt(3) * 20L);
        QueueRules.Builder rules = random.nextBoolean()
                ? QueueRules.builder("q", slots)
                : QueueRules.builder("q", 100 + random.nextInt(400), 1_000)
                        .burst(1 + random.nextInt(3))
                        .inFlight(slots);
        return rules.capacity(5 + random.nextInt(40))
                .lookAheadMs(random.nextInt(2) * 10L)
                .key(random.nextBoolean() ? List.of("to") : List.of())
                .tiers(Map.of("gold", new TierShare(0, 3)))
                .build();
    }

    private void act(Random random, int step) {
        int choice = random.nextInt(20);
        if (choice == 0) {
            queue.restart();
        } else if (choice == 1) {
            jobs.values().stream()
                    .skip(random.nextInt(jobs.size() + 1))
                    .findFirst()
                    .ifPresent(this::cancel);
        } else if (choice < 9 && !released.isEmpty()) {
            answer(random, released.get(Math.max(0, released.size() - 1 - random.nextInt(12))));
        } else {
            offer(random, step);
        }
    }

    private void offer(Random random, int step) {
        Job job = new Job(
                "r" + step,
                "c" + random.nextInt(3),
                TIERS[random.nextInt(TIERS.length)],
                rules.isKeyed() ? KEYS[random.nextInt(KEYS.length)] : "",
                random.nextInt(4),
                queue.number);
        Map<String, String> attributes = rules.isKeyed() ? Map.of("to", job.key) : Map.of();
        Admission admission =
                QueueHarness.admission(RequestKind.CONSUME, job.id, job.client, job.tier, job.cost, null, attributes);
        long waiting = live.values().stream()
                .filter(other -> other.key.equals(job.key))
                .filter(other -> other.state == State.WAITING || other.state == State.BACKOFF)
                .count();
        Decision decision = queue.sendNext(QueueRules.withKey(admission, rules), nowMs);
        Reason expected = job.cost > rules.maxCost()
                ? Reason.COST_NEVER_FITS
                : waiting >= rules.capacity() ? Reason.QUEUE_FULL : Reason.SHAPED;
        assertThat(decision.reason()).as(context).isEqualTo(expected);
        if (expected == Reason.SHAPED) {
            assertThat(decision.queueing().expectedWaitMs()).as(context).isNull();
            jobs.put(job.id, job);
            live.put(job.id, job);
        }
    }

    private void cancel(Job job) {
        Map<String, String> attributes = rules.isKeyed() ? Map.of("to", job.key) : Map.of();
        Admission cancel = QueueHarness.admission(RequestKind.CANCEL, job.id, job.client, null, 1, null, attributes);
        queue.sendNext(QueueRules.withKey(cancel, rules), nowMs);
        Decision answer = queue.decisions.stream()
                .skip(decisionsSeen)
                .filter(decision -> decision.reason() != Reason.CANCELLED || decision.outcome() == Outcome.ALLOWED)
                .findFirst()
                .orElseThrow();
        Reason expected =
                switch (job.state) {
                    case IN_FLIGHT -> Reason.IN_FLIGHT;
                    case ENDED -> Reason.NOT_WAITING;
                    case WAITING, BACKOFF -> Reason.CANCELLED;
                };
        assertThat(answer.reason()).as(context).isEqualTo(expected);
        if (expected == Reason.CANCELLED) {
            end(job, null);
        }
    }

    private void answer(Random random, Release release) {
        Job job = jobs.get(release.requestId());
        boolean isForged = random.nextInt(8) == 0;
        boolean isOpen = !isForged
                && job.state == State.IN_FLIGHT
                && job.attempt == release.attempt().number();
        String client = isForged ? "mallory" : release.client();
        Result result = Result.values()[random.nextInt(3)];
        Long retryAfterMs = result == Result.RETRY && random.nextBoolean() ? (Long) (long) random.nextInt(50) : null;
        RequestKind kind = random.nextInt(3) == 0 ? RequestKind.EXTEND : RequestKind.COMPLETE;
        int decisionsBefore = queue.decisions.size();
        queue.acknowledge(release, client, kind, kind == RequestKind.EXTEND ? null : result, retryAfterMs, nowMs);
        Reason answered = queue.decisions.get(decisionsBefore).reason();
        answers.merge(answered, 1, Integer::sum);
        if (!isOpen) {
            assertThat(answered).as(context).isEqualTo(Reason.STALE_ATTEMPT);
            return;
        }
        assertThat(answered).as(context).isEqualTo(kind == RequestKind.EXTEND ? Reason.EXTENDED : Reason.COMPLETED);
        if (kind == RequestKind.EXTEND) {
            job.isClaimed = true;
            long latestMs = job.startedMs + slots.maxDurationMs();
            job.untilMs = Math.max(job.untilMs, Math.min(nowMs + slots.ackTimeoutMs(), latestMs));
        } else if (result == Result.RETRY) {
            fail(job, nowMs, retryAfterMs);
        } else {
            end(job, result == Result.DONE ? null : Reason.FAILED);
        }
    }

    private void fail(Job job, long atMs, Long afterMs) {
        job.failures++;
        if (job.failures >= slots.maxAttempts()) {
            end(job, Reason.ATTEMPTS_EXHAUSTED);
        } else {
            job.state = State.BACKOFF;
            job.untilMs = atMs + (afterMs != null ? afterMs : backoffMs(job));
        }
    }

    private long backoffMs(Job job) {
        long backoffMs = job.failures == 0 ? 0 : slots.retryBackoffMs();
        for (int failure = 1; failure < job.failures; failure++) {
            backoffMs *= 2;
        }
        return backoffMs;
    }

    /** @param reason of the decision that ends it and of the effect that passes it on; null if there is none */
    private void end(Job job, Reason reason) {
        job.state = State.ENDED;
        live.remove(job.id);
        if (reason == null) {
            return;
        }
        assertThat(queue.decisions.subList(decisionsSeen, queue.decisions.size()))
                .as(context)
                .filteredOn(decision -> decision.reason() == reason)
                .extracting(Decision::requestId)
                .contains(job.id);
        assertThat(queue.givenUp.subList(givenUpSeen, queue.givenUp.size()))
                .as(context)
                .anySatisfy(given -> {
                    assertThat(given.rejection().name()).isEqualTo(reason.name());
                    assertThat(given.admission().request().requestId()).isEqualTo(job.id);
                });
    }

    /** Advances the time in steps of a millisecond, so that each timeout of the model has its time. */
    private void advanceTo(long untilMs) {
        while (nowMs < untilMs) {
            nowMs++;
            settle();
        }
    }

    /** Has the queue do what is due, and checks it. */
    private void settle() {
        while (queue.shaper.dueNanos() <= nowMs * MS) {
            queue.carryOut(queue.shaper.tick(Math.max(settledMs * MS, queue.shaper.dueNanos()), 1_000));
        }
        settledMs = nowMs;
        timeOut();
        List<Release> fresh = queue.releases.subList(releasesSeen, queue.releases.size());
        fresh.forEach(this::start);
        released.addAll(fresh);
        releasesSeen = queue.releases.size();
        givenUpSeen = queue.givenUp.size();
        decisionsSeen = queue.decisions.size();
        assertThat(queue.shaper.needsTime())
                .as(context + ": time that only markers tell")
                .isEqualTo(!live.isEmpty());
        if (!rules.hasRate()) {
            checkNoneIdle();
        }
    }

    private void timeOut() {
        for (Job job : List.copyOf(live.values())) {
            if (job.state == State.IN_FLIGHT && job.untilMs <= nowMs) {
                if (job.isClaimed) {
                    fail(job, job.untilMs, null);
                } else {
                    job.state = State.BACKOFF;
                    job.untilMs += backoffMs(job);
                }
            }
        }
    }

    private void start(Release release) {
        Job job = jobs.get(release.requestId());
        String what = context + ", " + release;
        assertThat(job.mayGo(nowMs)).as(what).isTrue();
        assertThat(release.attempt().number()).as(what).isEqualTo(job.attempt + 1);
        live.values().stream()
                .filter(other -> other != job && other.sharesFlowWith(job) && other.mayGo(nowMs - 1))
                .forEach(other -> assertThat(precedes(job, other)).as(what).isTrue());
        job.attempt++;
        job.state = State.IN_FLIGHT;
        job.isClaimed = false;
        job.startedMs = -Math.floorDiv(-release.releaseAtNanos(), MS);
        job.untilMs = job.startedMs + slots.ackTimeoutMs();
        assertThat(slotsInUse(job.key)).as(what).isLessThanOrEqualTo(slots.most());
    }

    /** Retries leave first; those, and first attempts, in the order of arrival. */
    private static boolean precedes(Job job, Job other) {
        return Comparator.comparing((Job one) -> one.state == State.WAITING)
                        .thenComparing(one -> one.number)
                        .compare(job, other)
                < 0;
    }

    private long slotsInUse(String key) {
        return live.values().stream()
                .filter(job -> job.state == State.IN_FLIGHT && job.key.equals(key))
                .mapToLong(job -> Math.max(1, job.cost))
                .sum();
    }

    /** No slots are left idle while a request may go; one that needs more than are free is waited for. */
    private void checkNoneIdle() {
        Map<String, Long> largest = new HashMap<>();
        live.values().stream()
                .filter(job -> job.mayGo(nowMs))
                .forEach(job -> largest.merge(job.key, Math.max(1, job.cost), Math::max));
        largest.forEach((key, cost) ->
                assertThat(slots.most() - slotsInUse(key)).as(context).isLessThan(cost));
    }

    /** Completes everything that is released until nothing is left. */
    private void finish() {
        context = "the end";
        for (int round = 0; !live.isEmpty(); round++) {
            assertThat(round).as("rounds until nothing waits").isLessThan(10_000);
            for (Release release : List.copyOf(released)) {
                Job job = jobs.get(release.requestId());
                if (job.state == State.IN_FLIGHT
                        && job.attempt == release.attempt().number()) {
                    assertThat(queue.done(release, nowMs).reason()).isEqualTo(Reason.COMPLETED);
                    end(job, null);
                }
            }
            released.clear();
            advanceTo(nowMs + 1);
        }
    }
}
