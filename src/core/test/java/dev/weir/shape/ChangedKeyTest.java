package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.view.QueueView;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that a queue whose key changes while requests wait drains by its old rules before the new ones apply. */
class ChangedKeyTest {

    private static final List<String> NO_KEY = List.of();
    private static final int REQUESTS = 60;

    /** Values of a: 3, of b: 4, of both: 12. */
    private static Request request(RequestKind kind, String id, int number) {
        Map<String, String> attributes = Map.of("a", "a" + number % 3, "b", "b" + number % 4);
        Request.Source source = new Request.Source(0, 0);
        return Request.builder(id, "c")
                .kind(kind)
                .attributes(attributes)
                .source(source)
                .build();
    }

    private static QueueRules rules(long version, List<String> key, long limit, long burst, QueueTotal total) {
        return QueueRules.builder("q", limit, 1_000)
                .version(version)
                .burst(burst)
                .capacity(1_000)
                .lookAheadMs(0)
                .key(key)
                .total(total)
                .build();
    }

    private static QueueRules slow(List<String> key) {
        return rules(1, key, 5, 2, null);
    }

    private static QueueRules fast(List<String> key) {
        return rules(2, key, 100, 50, null);
    }

    private static Admission admission(RequestKind kind, String id, int number, QueueRules rules) {
        Admission admission = Admission.of(request(kind, id, number), "q", new PolicyVersion("p", 1), null);
        return QueueRules.withKey(admission, rules);
    }

    private static Decision send(QueueHarness queue, String id, int number, long nowMs) {
        return queue.send(admission(RequestKind.CONSUME, id, number, queue.rules.get("q")), nowMs);
    }

    /** Returns a queue of which a burst has left and the other requests wait. */
    private static QueueHarness filled(QueueRules rules, int hotKeys) {
        QueueHarness queue = new QueueHarness(rules);
        queue.hotKeys = hotKeys;
        queue.restart();
        for (int i = 0; i < REQUESTS; i++) {
            assertThat(send(queue, "r" + i, i, 0).outcome()).isEqualTo(Outcome.QUEUED);
        }
        queue.runUntil(0);
        return queue;
    }

    private static void change(QueueHarness queue, QueueRules rules, long nowMs) {
        queue.rules.put("q", rules);
        queue.carryOut(queue.shaper.refresh(nowMs * MS));
    }

    static Stream<Arguments> changes() {
        return Stream.of(
                        List.of(List.of("a"), NO_KEY),
                        List.of(NO_KEY, List.of("a")),
                        List.of(List.of("a"), List.of("b")),
                        List.of(List.of("a", "b"), List.of("b")),
                        List.of(List.of("a"), List.of("a", "b")))
                .flatMap(keys -> Stream.of(1, 1_000).map(hot -> arguments(keys.get(0), keys.get(1), hot)));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void waiting_requests_leave_by_the_old_rules_before_the_new_ones_apply(
            List<String> from, List<String> to, int hotKeys) {
        QueueHarness queue = filled(slow(from), hotKeys);
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(0));
        change(queue, fast(to), 0);
        long inOneBucket = REQUESTS / buckets(from);
        long drainedMs = 200 * inOneBucket; // when the slot of its last request ends
        for (long nowMs = 1; nowMs < drainedMs + 300; nowMs++) {
            queue.runUntil(nowMs);
            if (nowMs % 700 == 0) {
                queue.restart();
                queue.carryOut(queue.shaper.refresh(nowMs * MS));
            }
            Admission admission = admission(RequestKind.CONSUME, "new" + nowMs, (int) nowMs, queue.rules.get("q"));
            Decision expected = queue.shaper.queries().check(admission, nowMs * MS);
            Decision decision = queue.send(admission, nowMs);
            assertThat(decision.reason())
                    .as("after %d of %d ms", nowMs, drainedMs)
                    .isEqualTo(nowMs < drainedMs ? Reason.NO_QUEUE : Reason.SHAPED)
                    .isEqualTo(expected.reason());
        }
        queue.runDry();
        List<Release> old = released(queue, "r");
        assertThat(old).hasSize(REQUESTS);
        requirePace(old, slow(from));
        assertThat(old.stream().mapToLong(Release::sequence).max()).hasValue(inOneBucket);
        assertThat(old.get(REQUESTS - 1).releaseAtNanos()).isEqualTo((drainedMs - 400) * MS); // a burst of 2
        List<Release> later = released(queue, "new");
        assertThat(later).hasSize(300).allMatch(release -> release.releaseAtNanos() >= drainedMs * MS);
        requirePace(later, fast(to));
        assertThat(queue.savedQueues.get("q").rules()).isEqualTo(fast(to));
    }

    private static long buckets(List<String> key) {
        return (key.contains("a") ? 3L : 1L) * (key.contains("b") ? 4L : 1L);
    }

    private static List<Release> released(QueueHarness queue, String ids) {
        return queue.releases.stream()
                .filter(release -> release.requestId().startsWith(ids))
                .sorted(Comparator.comparing(Release::releaseAtNanos))
                .toList();
    }

    /** Checks the pace of each bucket, and that its sequence has no gaps. It may start again after an idle time. */
    private static void requirePace(List<Release> releases, QueueRules rules) {
        Map<Map<String, String>, OutflowPace> paces = new HashMap<>();
        Map<Map<String, String>, Long> sequences = new HashMap<>();
        for (Release release : releases) {
            OutflowPace pace =
                    paces.computeIfAbsent(release.key(), key -> new OutflowPace(rules.perMs(), rules.burst()));
            assertThat(pace.earlyNanos(rules.limit(), release.releaseAtNanos(), release.cost()))
                    .as("%s", release)
                    .isLessThanOrEqualTo(0);
            assertThat(release.sequence()).isIn(1L, 1 + sequences.getOrDefault(release.key(), 0L));
            sequences.put(release.key(), release.sequence());
            assertThat(release.key().keySet()).containsExactlyInAnyOrderElementsOf(rules.key());
        }
    }

    @Test
    void a_queue_that_drains_is_reported_with_its_old_rules_until_the_new_ones_apply() {
        QueueRules old = slow(List.of("a"));
        for (List<String> to : List.of(NO_KEY, List.of("b"))) {
            QueueHarness queue = filled(old, 1_000);
            queue.rules.put("q", fast(to));
            BucketId unkeyed = new BucketId("q", List.of());
            BucketId oldKey = BucketId.of("q", Map.of("a", "a0"));
            for (String when : List.of("changed", "refreshed")) {
                assertThat(queue.shaper.queries().view("q", 0))
                        .as(when)
                        .returns(old, QueueView::rules)
                        .returns(true, QueueView::isDeleted)
                        .returns(REQUESTS - 6L, QueueView::waiting)
                        .returns(3L, view -> QueueHarness.several(view).keys());
                assertThat(queue.shaper.queries().views(10, 0))
                        .containsExactly(queue.shaper.queries().view("q", 0));
                assertThat(queue.shaper.queries().view(unkeyed, 0))
                        .isEqualTo(queue.shaper.queries().view("q", 0));
                assertThat(queue.shaper.queries().view(oldKey, 0))
                        .returns(old, QueueView::rules)
                        .returns(true, QueueView::isDeleted)
                        .returns(REQUESTS / 3 - 2L, QueueView::waiting);
                assertThat(queue.shaper.queries().view(BucketId.of("q", Map.of("b", "b0")), 0))
                        .returns(fast(to), QueueView::rules)
                        .returns(true, QueueView::isDeleted)
                        .returns(0L, QueueView::waiting);
                queue.carryOut(queue.shaper.refresh(0));
            }
            queue.runDry();
            assertThat(queue.savedQueues).isEmpty();
            assertThat(queue.shaper.queries().views(10, 60_000 * MS)).isEmpty();
            assertThat(queue.shaper.queries().view("q", 60_000 * MS))
                    .returns(fast(to), QueueView::rules)
                    .returns(false, QueueView::isDeleted)
                    .returns(0L, QueueView::waiting);
        }
    }

    @Test
    void a_cancellation_finds_a_request_only_by_the_key_with_which_it_waits() {
        QueueHarness queue = filled(slow(List.of("a")), 1);
        change(queue, fast(NO_KEY), 0);
        assertThat(queue.send(admission(RequestKind.CANCEL, "r59", 59, fast(NO_KEY)), 0)
                        .reason())
                .isEqualTo(Reason.NOT_WAITING);
        queue.send(admission(RequestKind.CANCEL, "r59", 59, slow(List.of("a"))), 0);
        assertThat(queue.decisions)
                .filteredOn(decision -> decision.reason() == Reason.CANCELLED)
                .hasSize(2);
        queue.runDry();
        assertThat(queue.releases).hasSize(REQUESTS - 1);
    }

    @Test
    void a_queue_that_gets_its_old_key_back_continues_with_the_newest_rules() {
        for (List<String> key : List.of(List.of("b", "a"), NO_KEY)) {
            QueueHarness queue = filled(slow(key), 1);
            change(queue, fast(List.of("b")), 0);
            change(queue, rules(3, key.isEmpty() ? key : List.of("a", "b"), 1_000, 10, null), 0);
            assertThat(send(queue, "more", 0, 0).outcome()).isEqualTo(Outcome.QUEUED);
            queue.runUntil(100);
            assertThat(queue.releases).hasSize(REQUESTS + 1);
        }
    }

    /** No tick is due, so nothing has removed the queue before the request arrives. */
    @Test
    void a_queue_without_waiting_requests_changes_its_key_at_once() {
        for (List<List<String>> keys : List.of(
                List.of(NO_KEY, List.of("a")), List.of(List.of("a"), NO_KEY), List.of(List.of("a"), List.of("b")))) {
            QueueHarness queue = filled(slow(keys.get(0)), 1_000);
            queue.runDry();
            queue.rules.put("q", fast(keys.get(1)));
            assertThat(queue.shaper.queries().view("q", 60_000 * MS))
                    .returns(fast(keys.get(1)), QueueView::rules)
                    .returns(false, QueueView::isDeleted);
            Admission admission = admission(RequestKind.CONSUME, "new", 0, fast(keys.get(1)));
            assertThat(queue.shaper.queries().check(admission, 60_000 * MS).outcome())
                    .isEqualTo(Outcome.QUEUED);
            assertThat(queue.send(admission, 60_000).outcome()).isEqualTo(Outcome.QUEUED);
            assertThat(queue.savedQueues.get("q").rules()).isEqualTo(fast(keys.get(1)));
        }
    }

    @Test
    void a_total_holds_while_the_key_changes() {
        QueueTotal total = new QueueTotal(20, 1_000, 1_000);
        QueueHarness queue = filled(rules(1, List.of("a"), 10, 1, total), 1_000);
        change(queue, rules(2, List.of("b"), 10, 1, total), 0);
        List<Outcome> outcomes = new ArrayList<>();
        for (int nowMs = 1; nowMs < 6_000; nowMs += 5) {
            queue.runUntil(nowMs);
            if (nowMs % 1_000 == 1) {
                queue.restart();
                queue.carryOut(queue.shaper.refresh(nowMs * MS));
            }
            outcomes.add(send(queue, "new" + nowMs, nowMs, nowMs).outcome());
        }
        queue.runDry();
        assertThat(outcomes).contains(Outcome.DENIED, Outcome.QUEUED);
        assertThat(outcomes.lastIndexOf(Outcome.DENIED)).isLessThan(outcomes.indexOf(Outcome.QUEUED));
        assertThat(released(queue, "r")).hasSize(REQUESTS);
        assertThat(released(queue, "new")).isNotEmpty();
        OutflowPace pace = new OutflowPace(1_000, 1);
        for (Release release : released(queue, "")) {
            assertThat(pace.earlyNanos(20, release.releaseAtNanos(), 1)).isLessThanOrEqualTo(0);
        }
    }

    /** All rules have the same rate and burst, so each bucket keeps its pace however often the queue is replaced. */
    @Test
    void a_bucket_keeps_its_pace_whatever_is_deleted_changed_or_restarted() {
        Set<String> seen = new HashSet<>();
        for (int seed = 0; seed < Effort.times(20); seed++) {
            Random random = new Random(seed);
            QueueHarness queue = new QueueHarness(rules(1, NO_KEY, 10, 3, null));
            queue.hotKeys = 1 + random.nextInt(8);
            queue.restart();
            QueueRules last = queue.rules.get("q");
            long nowMs = 0;
            for (int i = 0; i < 2_000; i++) {
                nowMs += random.nextInt(20) == 0 ? random.nextInt(3_000) : random.nextInt(30);
                queue.runUntil(nowMs);
                int what = random.nextInt(100);
                if (what == 0) {
                    queue.restart();
                } else if (what < 3) {
                    queue.rules.clear();
                } else if (what < 8) {
                    List<String> key = List.of(NO_KEY, List.of("a"), List.of("b"), List.of("a", "b"))
                            .get(random.nextInt(4));
                    boolean hasTotal = !key.isEmpty() && random.nextBoolean();
                    last = rules(last.version() + 1, key, 10, 3, hasTotal ? new QueueTotal(60, 1_000, 500) : null);
                    queue.rules.put("q", last);
                }
                if (random.nextInt(3) == 0) {
                    queue.carryOut(queue.shaper.refresh(nowMs * MS));
                }
                queue.shaper.queries().views(10, nowMs * MS);
                boolean isLate = random.nextInt(20) == 0; // sent before its sender knew the rules in force
                Admission admission = admission(
                        RequestKind.CONSUME, "r" + i, random.nextInt(12), isLate ? last : queue.rules.get("q"));
                Decision expected = queue.shaper.queries().check(admission, nowMs * MS);
                assertThat(queue.send(admission, nowMs).reason())
                        .as("seed %d, step %d", seed, i)
                        .isEqualTo(expected.reason());
            }
            queue.rules.clear();
            queue.carryOut(queue.shaper.refresh(nowMs * MS));
            queue.runDry();
            queue.decisions.forEach(decision -> seen.add(decision.reason().name()));
            requireEachOnce(queue);
            requirePace(queue.releases);
            assertThat(queue.saved).isEmpty();
            assertThat(queue.savedQueues).isEmpty();
            assertThat(queue.ledgers).isEmpty();
            assertThat(queue.timers.entries).isEmpty();
        }
        assertThat(seen).containsExactlyInAnyOrder("SHAPED", "NO_QUEUE");
    }

    private static void requireEachOnce(QueueHarness queue) {
        assertThat(queue.releases)
                .extracting(Release::requestId)
                .containsExactlyInAnyOrderElementsOf(queue.decisions.stream()
                        .filter(decision -> decision.outcome() == Outcome.QUEUED)
                        .map(Decision::requestId)
                        .toList());
    }

    private static void requirePace(List<Release> releases) {
        Map<Map<String, String>, OutflowPace> paces = new HashMap<>();
        for (Release release : releases) {
            OutflowPace pace = paces.computeIfAbsent(release.key(), key -> new OutflowPace(1_000, 3));
            assertThat(pace.earlyNanos(10, release.releaseAtNanos(), 1))
                    .as("%s", release)
                    .isLessThanOrEqualTo(0);
        }
    }

    @Test
    void a_queue_that_loses_its_total_with_its_key_drains_by_it() {
        QueueTotal total = new QueueTotal(20, 1_000, 1_000);
        QueueHarness queue = filled(rules(1, List.of("a", "b"), 10, 1, total), 1_000);
        change(queue, fast(NO_KEY), 0);
        queue.runDry();
        assertThat(queue.releases).hasSize(REQUESTS);
        OutflowPace pace = new OutflowPace(1_000, 1);
        for (Release release : released(queue, "r")) {
            assertThat(pace.earlyNanos(20, release.releaseAtNanos(), 1)).isLessThanOrEqualTo(0);
        }
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.ledgers).isEmpty();
    }
}
