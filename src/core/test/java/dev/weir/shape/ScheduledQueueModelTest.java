package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.testing.QueueAudit;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests laws of queues in which requests wait for their time: random times, cancellations, commands of operators and
 * restarts, with few keys on the heap. A model says what waits.
 */
class ScheduledQueueModelTest {

    private static final int STEPS = 500;
    private static final String[] TIERS = {"gold", "free", null};
    private static final String[] KEYS = {"a", "b", "c", "d", "e"};

    private enum Kind {
        PACED,
        FAST,
        TOTAL,
        SLOTS
    }

    /** A request that was admitted and has not ended. */
    private record Job(String id, String client, String key, Long notBeforeMs) {

        boolean isEarly(long nowMs) {
            return notBeforeMs != null && notBeforeMs > nowMs;
        }
    }

    private final Map<String, Job> waiting = new TreeMap<>();
    private QueueHarness queue;
    private QueueRules rules;
    private Kind kind;
    private Random random;
    private long nowMs;
    private long settledMs;
    private int decisionsSeen;
    private int releasesSeen;
    private boolean isPaused;
    private String context;
    private final Set<Reason> seen = new HashSet<>();

    @ParameterizedTest
    @CsvSource({
        "1, PACED",
        "2, PACED",
        "3, PACED",
        "4, PACED",
        "5, FAST",
        "6, FAST",
        "7, FAST",
        "8, FAST",
        "9, TOTAL",
        "10, TOTAL",
        "11, TOTAL",
        "12, SLOTS",
        "13, SLOTS",
        "14, SLOTS",
        "15, SLOTS"
    })
    void each_request_ends_once_and_is_not_released_before_its_time(long seed, Kind kindOfQueue) {
        random = new Random(seed);
        kind = kindOfQueue;
        rules = randomRules();
        queue = new QueueHarness(rules);
        queue.hotKeys = random.nextBoolean() ? 2 : 1_000;
        queue.restart();
        for (int step = 0; step < STEPS; step++) {
            context = "seed " + seed + ", step " + step + ", at " + nowMs;
            act(step);
            settle();
            if (random.nextInt(3) == 0) {
                advanceTo(nowMs + random.nextInt(30));
            }
        }
        finish();
        assertThat(new QueueAudit(queue.requests, queue.decisions, queue.releases).faults(List.of(rules)))
                .as(context)
                .isEmpty();
        assertThat(seen).as(context).contains(Reason.SHAPED, Reason.CANCELLED, Reason.PURGED);
    }

    private QueueRules randomRules() {
        QueueRules.Builder builder =
                switch (kind) {
                    case PACED, TOTAL ->
                        QueueRules.builder("q", 50 + random.nextInt(300), 1_000).burst(1 + random.nextInt(3));
                    case FAST -> QueueRules.builder("q", 100_000, 1_000).burst(1_000);
                    case SLOTS -> QueueRules.builder("q", new InFlightRules(2 + random.nextInt(3), 30, 60, 3, 10));
                };
        boolean isKeyed = kind == Kind.TOTAL || random.nextBoolean();
        return builder.capacity(5 + random.nextInt(30))
                .lookAheadMs(random.nextInt(2) * 10L)
                .key(isKeyed ? List.of("to") : List.of())
                .total(kind == Kind.TOTAL ? new QueueTotal(500, 1_000, 10_000) : null)
                .tiers(Map.of("gold", new TierShare(0, 3)))
                .build();
    }

    private void act(int step) {
        int choice = random.nextInt(40);
        if (choice < 2) {
            queue.restart();
        } else if (choice < 5) {
            cancel();
        } else if (choice < 7) {
            isPaused = !isPaused;
            queue.command(isPaused ? Action.PAUSE : Action.RESUME, "q", Map.of(), nowMs);
        } else if (choice == 7) {
            purge();
        } else {
            offer(step);
        }
    }

    private void offer(int step) {
        Long notBeforeMs = random.nextInt(3) == 0 ? null : (Long) (nowMs - 5 + random.nextInt(300));
        String key = rules.isKeyed() ? KEYS[random.nextInt(KEYS.length)] : "";
        Job job = new Job("r" + step, "c" + random.nextInt(3), key, notBeforeMs);
        Long deadlineMs = random.nextInt(10) == 0 && job.isEarly(nowMs) ? (Long) (notBeforeMs - 1) : null;
        boolean isFull =
                waiting.values().stream().filter(other -> other.key.equals(key)).count() >= rules.capacity();
        Decision decision = send(RequestKind.CONSUME, job, deadlineMs);
        Reason expected = deadlineMs != null ? Reason.TOO_LATE : isFull ? Reason.QUEUE_FULL : Reason.SHAPED;
        if (kind != Kind.SLOTS) { // the model does not know which requests are in flight
            assertThat(decision.reason()).as(context).isEqualTo(expected);
        }
        if (decision.outcome() == Outcome.QUEUED) {
            waiting.put(job.id, job);
        }
    }

    private Decision send(RequestKind requestKind, Job job, Long deadlineMs) {
        Request request = Request.builder(job.id, job.client)
                .kind(requestKind)
                .tier(TIERS[random.nextInt(TIERS.length)])
                .cost(kind == Kind.TOTAL ? 1 : 1 + random.nextInt(2))
                .attributes(rules.isKeyed() ? Map.of("to", job.key) : Map.of())
                .deadlineMs(deadlineMs)
                .notBeforeMs(requestKind == RequestKind.CONSUME ? job.notBeforeMs : null)
                .timestampMs(nowMs)
                .build();
        Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null);
        int before = queue.decisions.size();
        queue.sendNext(QueueRules.withKey(admission, rules), nowMs);
        return queue.decisions.subList(before, queue.decisions.size()).stream()
                .filter(decision ->
                        decision.requestId().equals(job.id) && decision.source().offset() == queue.number - 1)
                .findFirst()
                .orElseThrow();
    }

    private void cancel() {
        if (waiting.isEmpty()) {
            return;
        }
        Job job = waiting.values().stream()
                .skip(random.nextInt(waiting.size()))
                .findFirst()
                .orElseThrow();
        Decision decision = send(RequestKind.CANCEL, job, null);
        if (kind != Kind.SLOTS) {
            assertThat(decision.reason()).as(context).isEqualTo(Reason.CANCELLED);
        }
    }

    private void purge() {
        Set<String> before = new HashSet<>(waiting.keySet());
        queue.command(Action.PURGE, "q", Map.of(), nowMs);
        settle();
        if (kind != Kind.SLOTS) {
            assertThat(waiting.keySet()).as(context).noneMatch(before::contains);
        }
    }

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
        List<Decision> decided = queue.decisions.subList(decisionsSeen, queue.decisions.size());
        decided.forEach(decision -> seen.add(decision.reason()));
        decided.stream().filter(Decision::endsWait).forEach(decision -> waiting.remove(decision.requestId()));
        decisionsSeen = queue.decisions.size();
        List<Release> released = List.copyOf(queue.releases.subList(releasesSeen, queue.releases.size()));
        releasesSeen = queue.releases.size();
        released.forEach(this::release);
        long early = waiting.values().stream().filter(job -> job.isEarly(nowMs)).count();
        assertThat(queue.shaper.queries().view("q", nowMs * MS).scheduled().requests())
                .as(context)
                .isEqualTo(early);
        if (kind == Kind.FAST && !isPaused) {
            assertThat(waiting.values()).as(context + ": nothing waits longer").allMatch(job -> job.isEarly(nowMs));
        }
    }

    private void release(Release release) {
        assertThat(isPaused).as(context).isFalse();
        if (kind != Kind.SLOTS) {
            assertThat(waiting.remove(release.requestId())).as(context).isNotNull();
            return;
        }
        waiting.remove(release.requestId());
        int choice = random.nextInt(3);
        if (choice < 2) {
            Result result = choice == 0 ? Result.DONE : Result.RETRY;
            queue.acknowledge(release, release.client(), RequestKind.COMPLETE, result, nowMs);
        }
    }

    private void finish() {
        if (isPaused) {
            isPaused = false;
            queue.command(Action.RESUME, "q", Map.of(), nowMs);
        }
        advanceTo(nowMs + 400);
        boolean hasSlots = kind == Kind.SLOTS;
        for (int i = 0; i < 100_000 && (hasSlots ? queue.shaper.needsTime() : queue.shaper.hasWaiting()); i++) {
            advanceTo(nowMs + 1);
            queue.releases.subList(Math.max(0, queue.releases.size() - 3), queue.releases.size()).stream()
                    .filter(release -> release.attempt() != null)
                    .toList()
                    .forEach(release -> queue.done(release, nowMs));
        }
        assertThat(queue.shaper.hasWaiting()).as(context).isFalse();
        assertThat(queue.stores.values()).as(context).allSatisfy(store -> {
            assertThat(Stream.of(store.entries(), store.tickets(), store.scheduleTickets()))
                    .allSatisfy(table ->
                            assertThat(((HeapQueueStore<?, ?>) table).entries).isEmpty());
            assertThat(store.schedule().firstFrom(ScheduleKey.LEAST)).isNull();
        });
        assertThat(queue.releases.stream().filter(release -> release.attempt() != null))
                .extracting(release -> release.attempt().receipt())
                .doesNotHaveDuplicates();
    }

    /** The state of a bucket lists all that matters if few requests wait; then a restart changes no release. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void a_restart_changes_no_release(long seed) {
        random = new Random(seed);
        rules = QueueRules.builder("q", 200, 1_000)
                .capacity(3)
                .key(List.of("to"))
                .tiers(Map.of("gold", new TierShare(0, 3), "late", new TierShare(-1, 1)))
                .build();
        QueueHarness restarted = new QueueHarness(rules);
        QueueHarness same = new QueueHarness(rules);
        restarted.hotKeys = 1;
        for (int step = 0; step < STEPS; step++) {
            nowMs += random.nextInt(8);
            if (random.nextInt(5) == 0) {
                restarted.restart();
            }
            int id = Math.max(0, step - random.nextInt(20)); // the same client and key each time
            Request request = Request.builder("r" + id, "c" + id % 3)
                    .kind(random.nextInt(4) == 0 ? RequestKind.CANCEL : RequestKind.CONSUME)
                    .tier(new String[] {"gold", "free", "late"}[random.nextInt(3)])
                    .cost(random.nextInt(4))
                    .attributes(Map.of("to", KEYS[id % 5 % 3]))
                    .notBeforeMs(random.nextBoolean() ? (Long) (nowMs + random.nextInt(100)) : null)
                    .build();
            Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null);
            for (QueueHarness each : List.of(restarted, same)) {
                each.send(QueueRules.withKey(admission, rules), nowMs);
                while (each.shaper.dueNanos() <= nowMs * MS) {
                    each.carryOut(each.shaper.tick(nowMs * MS, 1_000));
                }
            }
            for (String key : KEYS) {
                assertThat(lastOf(key, restarted))
                        .as("seed " + seed + ", step " + step)
                        .isEqualTo(lastOf(key, same));
            }
        }
        assertThat(same.decisions).extracting(Decision::reason).contains(Reason.QUEUE_FULL, Reason.CANCELLED);
    }

    private static List<String> lastOf(String key, QueueHarness harness) {
        List<String> ofKey = harness.releases.stream()
                .filter(release -> release.key().containsValue(key))
                .map(release -> release.releaseAtNanos() + " " + release.sequence() + " " + release.requestId())
                .toList();
        return ofKey.subList(Math.max(0, ofKey.size() - 8), ofKey.size());
    }
}
