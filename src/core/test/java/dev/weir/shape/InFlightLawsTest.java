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
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.QueueAudit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests laws of a queue with slots. Workers complete, extend, lose, repeat and forge at random; the shaper restarts in
 * between, and with few keys on the heap. A model of each job says what each answer and release must be. In most runs,
 * a tier or a client has fewer slots than the bucket.
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
        final long slots;
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
            slots = Math.max(1, cost);
        }

        boolean sharesFlowWith(Job other) {
            return key.equals(other.key)
                    && client.equals(other.client)
                    && String.valueOf(tier).equals(String.valueOf(other.tier));
        }

        String tierName() {
            return tier == null ? "" : tier;
        }

        boolean sharesTierWith(Job other) {
            return tierName().equals(other.tierName());
        }

        boolean sharesClientWith(Job other) {
            return client.equals(other.client);
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
    private int maxCost;
    private QueueRules rules;
    private int releasesSeen;
    private int givenUpSeen;
    private int decisionsSeen;
    private long nowMs;
    private long settledMs;
    private String context;
    private final Map<String, Long> lastReleasesMs = new HashMap<>(); // by key

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
    void slots_are_never_exceeded_and_each_attempt_starts_once(long seed) {
        Random random = new Random(seed);
        rules = randomRules(random);
        slots = rules.inFlight();
        queue = new QueueHarness(rules);
        maxCost = random.nextBoolean() ? 1 : 3;
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

    /** The state of a bucket lists all that matters if few requests wait; then a restart changes no release. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void a_restart_changes_no_release_of_a_bucket_with_few_requests(long seed) {
        Random random = new Random(seed);
        InFlightCaps caps = new InFlightCaps(Map.of("gold", 2L), OptionalLong.of(1 + random.nextInt(2)));
        rules = QueueRules.builder("q", new InFlightRules(4, 50, 100, 3, 10, caps))
                .capacity(6)
                .key(List.of("to"))
                .tiers(Map.of("gold", new TierShare(0, 3), "late", new TierShare(-1, 1)))
                .build();
        QueueHarness restarted = new QueueHarness(rules);
        QueueHarness same = new QueueHarness(rules);
        restarted.hotKeys = 1;
        String[] tiers = {"gold", "free", "late"};
        for (int step = 0; step < STEPS; step++) {
            nowMs += random.nextInt(8);
            int choice = random.nextInt(4);
            if (choice == 0 && !same.releases.isEmpty()) {
                int back = random.nextInt(Math.min(8, same.releases.size()));
                Release release = same.releases.get(same.releases.size() - 1 - back);
                Result result = Result.values()[random.nextInt(3)];
                for (QueueHarness each : List.of(restarted, same)) {
                    each.acknowledge(release, release.client(), RequestKind.COMPLETE, result, nowMs);
                }
            } else if (choice == 1) {
                restarted.restart();
            } else {
                Admission admission = QueueHarness.admission(
                        choice == 2 || random.nextBoolean() ? RequestKind.CONSUME : RequestKind.CANCEL,
                        "r" + random.nextInt(step + 1),
                        "c" + random.nextInt(3),
                        tiers[random.nextInt(tiers.length)],
                        random.nextInt(4),
                        null,
                        Map.of("to", KEYS[random.nextInt(3)]));
                for (QueueHarness each : List.of(restarted, same)) {
                    each.send(QueueRules.withKey(admission, rules), nowMs);
                }
            }
            for (QueueHarness each : List.of(restarted, same)) {
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
        assertThat(restarted.releases).hasSizeGreaterThan(STEPS / 5).hasSameSizeAs(same.releases);
    }

    private static List<Release> lastOf(String key, QueueHarness harness) {
        List<Release> ofKey = harness.releases.stream()
                .filter(release -> release.key().containsValue(key))
                .toList();
        return ofKey.subList(Math.max(0, ofKey.size() - 8), ofKey.size());
    }

    private static QueueRules randomRules(Random random) {
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
                : QueueRules.builder("q", 100 + random.nextInt(400), 1_000)
                        .burst(1 + random.nextInt(3))
                        .inFlight(slots);
        return rules.capacity(5 + random.nextInt(40))
                .lookAheadMs(random.nextInt(2) * 10L)
                .key(random.nextBoolean() ? List.of("to") : List.of())
                .tiers(Map.of("gold", new TierShare(0, 3)))
                .build();
    }

    /** Some are larger than the slots of the bucket, some smaller than the cost of a request. */
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
                random.nextInt(maxCost + 1),
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
                .as(context + ": whether the time is needed")
                .isEqualTo(!live.isEmpty());
        live.values().stream().map(job -> job.key).distinct().forEach(this::checkNoneIdle);
        checkView();
    }

    /** The view counts what is in flight, by tier, and what waits for another attempt. */
    private void checkView() {
        Map<String, Long> slotsByTier = live.values().stream()
                .filter(job -> job.state == State.IN_FLIGHT)
                .collect(Collectors.groupingBy(Job::tierName, Collectors.summingLong(job -> job.slots)));
        assertThat(queue.shaper.queries().view("q", nowMs * MS).inFlight())
                .as(context)
                .isEqualTo(new QueueView.InFlightView(
                        count(State.IN_FLIGHT),
                        slotsByTier.values().stream().mapToLong(slots -> slots).sum(),
                        slotsByTier,
                        count(State.BACKOFF)));
    }

    private long count(State state) {
        return live.values().stream().filter(job -> job.state == state).count();
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
        lastReleasesMs.merge(job.key, job.startedMs, Math::max);
        assertThat(slotsInUse(job.key)).as(what).isLessThanOrEqualTo(slots.most());
        assertThat(free(tierSlots(job), inFlight(job.key, job::sharesTierWith)))
                .as(what + ", of the tier")
                .isNotNegative();
        assertThat(free(slots.caps().ofClient(), inFlight(job.key, job::sharesClientWith)))
                .as(what + ", of the client")
                .isNotNegative();
    }

    private OptionalLong tierSlots(Job job) {
        Long most = slots.caps().ofTier().get(job.tierName());
        return most == null ? OptionalLong.empty() : OptionalLong.of(most);
    }

    /** Returns how many slots are free; negative if too many are in use. A request takes no more than there are. */
    private static long free(OptionalLong most, List<Job> inFlight) {
        return most.isEmpty()
                ? Long.MAX_VALUE
                : most.getAsLong()
                        - inFlight.stream()
                                .mapToLong(job -> Math.min(job.slots, most.getAsLong()))
                                .sum();
    }

    private List<Job> inFlight(String key, Predicate<Job> filter) {
        return live.values().stream()
                .filter(job -> job.state == State.IN_FLIGHT && job.key.equals(key) && filter.test(job))
                .toList();
    }

    /** Retries leave first; those, and first attempts, in the order of arrival. */
    private static boolean precedes(Job job, Job other) {
        return Comparator.comparing((Job one) -> one.state == State.WAITING)
                        .thenComparing(one -> one.number)
                        .compare(job, other)
                < 0;
    }

    private long slotsInUse(String key) {
        return inFlight(key, job -> true).stream().mapToLong(job -> job.slots).sum();
    }

    /**
     * No slots are left idle while the rate permits a release and a request may go whose tier and client have slots for it.
     * One that needs more slots of its bucket or its tier than are free is waited for, so if requests cost more than 1,
     * only the largest ones are compared.
     */
    private void checkNoneIdle(String key) {
        if (!permitsRelease(key)) {
            return;
        }
        long free = slots.most() - slotsInUse(key);
        List<Job> first = free == 0 ? List.of() : firstOfFlows(key);
        Map<Boolean, List<Job>> byTierSlots =
                first.stream().filter(this::hasClientSlots).collect(Collectors.partitioningBy(this::hasTierSlots));
        List<Job> mayGo = byTierSlots.get(true);
        boolean isSure = mayGo.stream()
                .anyMatch(job -> byTierSlots.get(false).stream().noneMatch(other -> other.sharesTierWith(job)));
        if (isSure) {
            long largest = mayGo.stream().mapToLong(job -> job.slots).max().orElseThrow();
            assertThat(free).as(context + ": idle slots").isLessThan(largest);
        }
    }

    /** Returns whether a bucket has been idle for so long that its rate permits any request. */
    private boolean permitsRelease(String key) {
        long longestMs = rules.hasRate() ? Math.max(rules.burst(), maxCost) * rules.perMs() / rules.limit() + 2 : 0;
        return lastReleasesMs.getOrDefault(key, 0L) + longestMs <= nowMs;
    }

    /** Returns the next request of each flow of a bucket. */
    private List<Job> firstOfFlows(String key) {
        Map<Flow, Job> first = new HashMap<>();
        live.values().stream()
                .filter(job -> job.key.equals(key) && job.mayGo(nowMs))
                .forEach(job -> first.merge(
                        new Flow(job.tierName(), job.client), job, (one, other) -> precedes(one, other) ? one : other));
        return List.copyOf(first.values());
    }

    private boolean hasClientSlots(Job job) {
        return hasSlots(slots.caps().ofClient(), job, inFlight(job.key, job::sharesClientWith));
    }

    private boolean hasTierSlots(Job job) {
        return hasSlots(tierSlots(job), job, inFlight(job.key, job::sharesTierWith));
    }

    private static boolean hasSlots(OptionalLong most, Job job, List<Job> inFlight) {
        return free(most, inFlight) >= Math.min(job.slots, most.orElse(0));
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
