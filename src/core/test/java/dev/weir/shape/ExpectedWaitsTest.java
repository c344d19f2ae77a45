package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Compares the figures in decisions with what happens to the requests: the same queue runs on without further arrivals.
 * A request that arrives in the millisecond of a release is decided before it.
 */
class ExpectedWaitsTest {

    private static final long NO_MAX_WAIT = QueueRules.NO_MAX_WAIT;
    private static final String[] TIERS = {"gold", "silver", "bronze", null};

    /** A kind of random traffic. */
    private record Traffic(
            int clients, int tiers, int largestCost, long maxWaitMs, boolean hasDeadlines, boolean isBounded) {

        Traffic(int clients, int tiers, int largestCost, long maxWaitMs, boolean hasDeadlines) {
            this(clients, tiers, largestCost, maxWaitMs, hasDeadlines, maxWaitMs != NO_MAX_WAIT || hasDeadlines);
        }

        Traffic withCapacity() {
            return new Traffic(clients, tiers, largestCost, maxWaitMs, hasDeadlines, true);
        }

        QueueRules rules(Random random) {
            return QueueRules.builder("q", 1 + random.nextInt(20), 1_000)
                    .burst(1 + random.nextInt(4))
                    .capacity(isBounded ? 4 + random.nextInt(12) : 1_000)
                    .maxWaitMs(maxWaitMs)
                    .lookAheadMs(random.nextBoolean() ? 0 : random.nextInt(300))
                    .tiers(Map.of(
                            "gold", new TierShare(random.nextInt(2), 1 + random.nextInt(5)),
                            "silver", new TierShare(0, 1 + random.nextInt(5)),
                            "bronze", new TierShare(random.nextInt(2) - 1, 1)))
                    .build();
        }

        Sample sample(Random random, long nowMs) {
            boolean isLarge = random.nextInt(4) == 0;
            return new Sample(
                    "c" + random.nextInt(clients),
                    tiers > TIERS.length
                            ? "tier-" + random.nextInt(tiers)
                            : TIERS[TIERS.length - 1 - random.nextInt(tiers)],
                    largestCost == 0 ? 3 : isLarge ? 1 + random.nextInt(largestCost) : 1,
                    hasDeadlines && random.nextInt(3) == 0 ? (Long) (nowMs + random.nextInt(4_000)) : null);
        }
    }

    private record Sample(String client, String tier, long cost, Long deadlineMs) {}

    /** A queue after random requests, and one more request that has not been sent. */
    private static final class Case {
        final QueueHarness queue;
        final Sample last;
        final long nowMs;

        Case(Traffic traffic, long seed) {
            Random random = new Random(seed);
            queue = new QueueHarness(traffic.rules(random));
            long atMs = 10_000;
            int requests = 1 + random.nextInt(traffic.clients > 64 ? 600 : 40);
            for (int i = 0; i < requests; i++) {
                atMs += random.nextInt(3) == 0 ? random.nextInt(500) : 0;
                runBefore(queue, atMs);
                offer("r" + i, traffic.sample(random, atMs), atMs);
            }
            nowMs = atMs + (random.nextBoolean() ? 0 : random.nextInt(300));
            runBefore(queue, nowMs);
            last = traffic.sample(random, nowMs);
        }

        Decision offer(String id, Sample request, long atMs) {
            return queue.offer(id, request.client, request.tier, request.cost, request.deadlineMs, atMs);
        }
    }

    /** Does what is due before a time, as if requests of that time were decided first. */
    private static void runBefore(QueueHarness queue, long atMs) {
        while (queue.shaper.dueNanos() < atMs * MS) {
            queue.carryOut(queue.shaper.tick(queue.shaper.dueNanos(), 1_000));
        }
    }

    private static final class Counts {
        int answered;
        int tooLow;
        int exact;
        final List<Long> over = new ArrayList<>();

        void add(long toldValue, long had) {
            answered++;
            tooLow += toldValue < had ? 1 : 0;
            exact += toldValue == had ? 1 : 0;
            if (toldValue > had) {
                over.add(toldValue - had);
            }
        }

        @Override
        public String toString() {
            Collections.sort(over);
            return answered + " expected, " + tooLow + " too low, " + exact + " exact, "
                    + (over.isEmpty()
                            ? "none above"
                            : "others above by " + over.get(over.size() / 2) + " (median), "
                                    + over.get(over.size() * 9 / 10) + " (90 %), " + over.get(over.size() - 1));
        }
    }

    /** Sends the last request of each case, and compares its position and wait with its release. */
    private static Counts[] waits(Traffic traffic, int cases, long seed) {
        Counts positions = new Counts();
        Counts waits = new Counts();
        for (int i = 0; i < Effort.times(cases); i++) {
            Case each = new Case(traffic, seed + i);
            each.queue.releases.clear();
            Decision decision = each.offer("last", each.last, each.nowMs);
            if (decision.outcome() != Outcome.QUEUED) {
                continue;
            }
            each.queue.runDry();
            int place = place(each.queue.releases);
            Release release = each.queue.releases.get(place - 1);
            positions.add(decision.queueing().position(), place);
            waits.add(decision.queueing().expectedWaitMs(), ceilMs(release.releaseAtNanos()) - each.nowMs);
        }
        report(traffic + ":\n  position " + positions + "\n  wait     " + waits);
        return new Counts[] {positions, waits};
    }

    /** Prints the counts of a run with more cases than in a build. */
    private static void report(String counts) {
        if (Effort.times(10) > 10) {
            System.out.println(counts);
        }
    }

    private static int place(List<Release> releases) {
        for (int i = 0; i < releases.size(); i++) {
            if (releases.get(i).requestId().equals("last")) {
                return i + 1;
            }
        }
        throw new AssertionError("the request was not released");
    }

    private static long ceilMs(long nanos) {
        return -Math.floorDiv(-nanos, MS);
    }

    @Test
    void waits_are_exact_for_one_client() {
        for (Counts each : waits(new Traffic(1, 1, 20, NO_MAX_WAIT, false), 400, 1)) {
            assertThat(each.tooLow).isZero();
            assertThat(each.over).allMatch(ms -> ms == 1); // nanoseconds that are rounded up add up
            assertThat(each.exact).isGreaterThanOrEqualTo(each.answered * 99 / 100);
        }
    }

    @Test
    void waits_are_exact_if_all_costs_are_equal() {
        for (Counts each : waits(new Traffic(6, 4, 0, NO_MAX_WAIT, false), 1_000, 10_000)) {
            assertThat(each.exact).isEqualTo(each.answered);
        }
    }

    @Test
    void waits_are_never_longer_than_told_if_others_are_counted_in_groups() {
        for (Traffic traffic : List.of(
                new Traffic(100, 1, 10, NO_MAX_WAIT, false),
                new Traffic(100, 1, 0, NO_MAX_WAIT, false),
                new Traffic(100, 4, 10, NO_MAX_WAIT, false),
                new Traffic(70, 100, 10, NO_MAX_WAIT, false))) {
            for (Counts each : waits(traffic, 40, 30_000)) {
                assertThat(each.tooLow).isZero();
            }
        }
    }

    @Test
    void waits_are_never_longer_than_told() {
        for (Traffic traffic : List.of(
                new Traffic(2, 1, 10, NO_MAX_WAIT, false),
                new Traffic(6, 1, 10, NO_MAX_WAIT, false),
                new Traffic(4, 3, 10, NO_MAX_WAIT, false),
                new Traffic(30, 4, 10, NO_MAX_WAIT, false))) {
            for (Counts each : waits(traffic, 600, 20_000)) {
                assertThat(each.tooLow).isZero();
                assertThat(each.exact).isGreaterThan(each.answered / 2);
            }
        }
    }

    /** What became of the last requests of random cases. */
    private static final class Judged {
        int tooLate;
        int wrongly;
        int queued;
        int expired;
        int beyond;

        @Override
        public String toString() {
            return tooLate + " too late, " + wrongly + " of them wrongly; " + queued + " queued, " + expired
                    + " of them expired, " + beyond + " had an expected wait beyond their deadline";
        }
    }

    private static Judged judged(Traffic traffic) {
        Judged judged = new Judged();
        for (int i = 0; i < Effort.times(800); i++) {
            Case each = new Case(traffic, 40_000 + i);
            Decision decision = each.offer("last", each.last, each.nowMs);
            long latestMs = each.nowMs + each.queue.rules.get("q").maxWaitMs();
            if (each.last.deadlineMs != null) {
                latestMs = Math.min(latestMs, each.last.deadlineMs);
            }
            if (decision.reason() == Reason.TOO_LATE) {
                judged.tooLate++;
                judged.wrongly += releasedIfPatientNanos(traffic, 40_000 + i) <= latestMs * MS ? 1 : 0;
            } else if (decision.outcome() == Outcome.QUEUED) {
                judged.queued++;
                judged.beyond += each.nowMs + decision.queueing().expectedWaitMs() > latestMs ? 1 : 0;
                each.queue.runDry();
                judged.expired += each.queue.decisions.stream().anyMatch(ExpectedWaitsTest::isExpiryOfLast) ? 1 : 0;
            }
        }
        report(traffic + ":\n  " + judged);
        return judged;
    }

    private static boolean isExpiryOfLast(Decision decision) {
        return decision.requestId().equals("last") && decision.outcome() == Outcome.EXPIRED;
    }

    /** Returns when the last request leaves if it may wait as long as it takes. */
    private static long releasedIfPatientNanos(Traffic traffic, long seed) {
        Case patient = new Case(traffic, seed);
        patient.queue.rules.put("q", withoutBounds(patient.queue.rules.get("q")));
        patient.queue.shaper.refresh(patient.nowMs * MS);
        Sample last = patient.last;
        patient.queue.releases.clear();
        patient.offer("last", new Sample(last.client, last.tier, last.cost, null), patient.nowMs);
        patient.queue.runDry();
        return patient.queue.releases.get(place(patient.queue.releases) - 1).releaseAtNanos();
    }

    private static QueueRules withoutBounds(QueueRules rules) {
        return QueueRules.builder("q", rules.limit(), rules.perMs())
                .version(2)
                .burst(rules.burst())
                .lookAheadMs(rules.lookAheadMs())
                .tiers(rules.tiers())
                .build();
    }

    @Test
    void a_request_that_is_denied_as_too_late_would_have_left_too_late() {
        int tooLate = 0;
        for (Traffic traffic : List.of(
                new Traffic(1, 1, 10, 2_000, true),
                new Traffic(3, 1, 10, 2_000, true),
                new Traffic(3, 1, 0, 3_000, false),
                new Traffic(4, 3, 10, 3_000, true),
                new Traffic(4, 3, 10, 600_000, true))) {
            Judged judged = judged(traffic);
            assertThat(judged.wrongly).isZero();
            assertThat(judged.beyond).isZero();
            tooLate += judged.tooLate;
            if (traffic.clients == 1) { // its wait is known, unless a request was cancelled or the time was wrong
                assertThat(judged.expired).isLessThanOrEqualTo(judged.queued / 100);
                assertThat(judged.tooLate).isGreaterThan(Effort.times(200));
            }
        }
        assertThat(tooLate).isGreaterThan(Effort.times(300));
    }

    /** The retry times of denied requests, and what happened at that time. */
    private static final class Retried {
        int answered;
        int never;
        int early;
        int tooLate;
        int exact;

        @Override
        public String toString() {
            return answered + " with a time to retry, " + early + " of them too early, " + tooLate
                    + " were too late for their deadline, " + exact + " were admitted no earlier; " + never + " never";
        }
    }

    private static Retried retried(Traffic traffic, Reason reason) {
        Retried retried = new Retried();
        for (int i = 0; i < Effort.times(800); i++) {
            Case each = new Case(traffic, 60_000 + i);
            Decision decision = each.offer("last", each.last, each.nowMs);
            Long ms = decision.retryAfterMs();
            if (decision.reason() == reason && ms == null) {
                retried.never++;
                assertThat(each.last.deadlineMs).isNotNull();
                boolean isSure = reason == Reason.QUEUE_FULL || "deadline".equals(decision.limitedBy());
                for (long laterMs : isSure ? new long[] {1, 100, 1_000} : new long[0]) {
                    assertThat(isReleasedIfSentAgain(traffic, 60_000 + i, laterMs))
                            .as("%s, case %d: %s", traffic, i, decision)
                            .isFalse();
                }
            } else if (decision.reason() == reason) {
                retried.answered++;
                Decision again = again(traffic, 60_000 + i, ms);
                boolean isTooLate = again.reason() == Reason.TOO_LATE && "deadline".equals(again.limitedBy());
                retried.tooLate += isTooLate ? 1 : 0;
                retried.early += again.outcome() != Outcome.QUEUED && !isTooLate ? 1 : 0;
                retried.exact += again(traffic, 60_000 + i, ms - 1).outcome() != Outcome.QUEUED ? 1 : 0;
            }
        }
        report(traffic + ", " + reason + ":\n  " + retried);
        return retried;
    }

    private static Decision again(Traffic traffic, long seed, long afterMs) {
        Case each = new Case(traffic, seed);
        runBefore(each.queue, each.nowMs + afterMs);
        return each.offer("again", each.last, each.nowMs + afterMs);
    }

    private static boolean isReleasedIfSentAgain(Traffic traffic, long seed, long afterMs) {
        Case each = new Case(traffic, seed);
        runBefore(each.queue, each.nowMs + afterMs);
        each.offer("again", each.last, each.nowMs + afterMs);
        each.queue.runDry();
        return each.queue.releases.stream()
                .anyMatch(release -> release.requestId().equals("again"));
    }

    @Test
    void a_request_that_finds_the_queue_full_is_admitted_when_it_was_told_and_no_earlier() {
        for (Traffic traffic : List.of(
                new Traffic(1, 1, 10, NO_MAX_WAIT, false),
                new Traffic(3, 1, 10, 600_000, false),
                new Traffic(4, 3, 10, 600_000, true))) {
            Retried retried = retried(traffic.withCapacity(), Reason.QUEUE_FULL);
            assertThat(retried.early).isZero();
            assertThat(retried.exact).isEqualTo(retried.answered);
            assertThat(retried.tooLate).isLessThan(retried.answered / 10);
            assertThat(retried.answered).isGreaterThan(Effort.times(100));
        }
    }

    @Test
    void a_request_that_retries_when_told_is_admitted_in_spite_of_the_longest_wait() {
        for (Traffic traffic : List.of(
                new Traffic(1, 1, 10, 2_000, false),
                new Traffic(3, 1, 10, 2_000, false),
                new Traffic(3, 1, 0, 3_000, false),
                new Traffic(4, 3, 10, 3_000, true))) {
            Retried full = retried(traffic, Reason.QUEUE_FULL);
            assertThat(full.early).isZero();
            assertThat(full.answered).isPositive();
            assertThat(retried(traffic, Reason.TOO_LATE).early).isZero();
        }
    }

    @Test
    void a_request_that_is_evicted_is_told_when_there_is_room_again() {
        QueueHarness queue = new QueueHarness(QueueHarness.rules(
                1, 1_000, 1, 2, NO_MAX_WAIT, "gold", new TierShare(1, 1), "free", new TierShare(0, 1)));
        queue.offer("first", "a", "free", 0);
        queue.runUntil(0);
        queue.offer("kept", "a", "free", 10);
        queue.offer("evicted", "b", "free", 10);
        assertThat(queue.offer("gold", "c", "gold", 4, null, 10).queueing())
                .isEqualTo(new Decision.Queueing("q", 1L, 990L));
        Decision evicted = queue.decisions.get(queue.decisions.size() - 2);
        assertThat(evicted.reason()).isEqualTo(Reason.EVICTED);
        assertThat(evicted.retryAfterMs()).isEqualTo(991); // when gold has left
    }

    @Test
    void a_key_that_waits_for_the_total_does_not_ask_every_millisecond() {
        QueueRules rules = QueueRules.builder("q", 100, 1_000)
                .capacity(1)
                .lookAheadMs(0)
                .key(List.of("client"))
                .total(new QueueTotal(1, 1_000, 2))
                .build();
        QueueHarness queue = new QueueHarness(rules);
        assertThat(send(queue, rules, "r0", "a", 0).queueing().expectedWaitMs()).isNull();
        runBefore(queue, 50);
        assertThat(send(queue, rules, "r1", "a", 50).queueing().position()).isEqualTo(1);
        runBefore(queue, 100);
        Decision full = send(queue, rules, "r2", "a", 100);
        assertThat(full.limitedBy()).isEqualTo("capacity");
        assertThat(send(queue, rules, "r3", "b", 100).outcome()).isEqualTo(Outcome.QUEUED);
        Decision allFull = send(queue, rules, "r4", "c", 100);
        assertThat(allFull.limitedBy()).isEqualTo("total.capacity");
        for (Decision each : List.of(full, allFull)) { // a token takes a second
            assertThat(each.retryAfterMs()).isBetween(500L, 1_101L);
        }
        runBefore(queue, 100 + full.retryAfterMs());
        assertThat(send(queue, rules, "r5", "a", 100 + full.retryAfterMs()).outcome())
                .isEqualTo(Outcome.QUEUED);
    }

    private static Decision send(QueueHarness queue, QueueRules rules, String id, String client, long nowMs) {
        return queue.send(
                QueueRules.withKey(QueueHarness.admission(RequestKind.CONSUME, id, client, null, 1, null), rules),
                nowMs);
    }
}
