package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.Kind;
import dev.weir.policy.Outcome;
import dev.weir.policy.Reason;
import dev.weir.policy.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A queue with key fields is one leaky bucket for each combination of their values. */
class KeyedQueueTest {

    private static final String FIELD = "destination";

    private static QueueRules rules(long version, long limit, long capacity, long maxWaitMs, String... key) {
        Map<String, Share> tiers = Map.of("gold", new Share(1, 1), "silver", new Share(0, 3));
        return new QueueRules("q", version, limit, 1_000, 2, capacity, maxWaitMs, 0, tiers, List.of(key));
    }

    private static Request request(Kind kind, String id, String client, String tier, long cost, String destination) {
        Map<String, String> attributes = destination == null ? Map.of() : Map.of(FIELD, destination);
        Request.Source source = new Request.Source(0, 0);
        return new Request(id, client, kind, tier, cost, null, attributes, null, null, null, 0, source);
    }

    private static Admission admission(QueueRules rules, Request request) {
        return new Admission(request, "q", "p", 1L, null, null, false, 0, List.of()).to(rules.keyOf(request));
    }

    /** Whatever the other keys do. */
    @Test
    void each_key_has_what_it_would_have_in_a_queue_of_its_own() {
        Set<String> seen = new HashSet<>();
        for (int seed = 1; seed <= 12; seed++) {
            run(seed, seen);
        }
        assertThat(seen).contains("QUEUED", "ALLOWED", "DENIED", "EXPIRED", "release", "forgotten");
    }

    private static void run(int seed, Set<String> seen) {
        Random random = new Random(seed);
        int keys = 1 + random.nextInt(6);
        QueueRules rules = rules(1, 1 + random.nextInt(30), 8, 2_000, FIELD);
        QueueHarness together = new QueueHarness(rules);
        Map<String, QueueHarness> alone = new HashMap<>();
        for (int key = 0; key < keys; key++) {
            alone.put("d" + key, new QueueHarness(withoutKey(rules)));
        }
        long nowMs = 0;
        for (int i = 0; i < 1_500; i++) {
            nowMs += random.nextInt(10) == 0 ? random.nextInt(4_000) : random.nextInt(60);
            runUntil(together, alone, nowMs);
            int what = random.nextInt(100);
            if (what == 0) {
                rules = rules(rules.version() + 1, 1 + random.nextInt(30), 3 + random.nextInt(8), 2_000, FIELD);
                together.rules.put("q", rules);
                together.shaper.refresh(nowMs * MS);
                QueueRules one = withoutKey(rules);
                for (QueueHarness each : alone.values()) {
                    each.rules.put("q", one);
                    each.shaper.refresh(nowMs * MS);
                }
            } else if (what == 1) {
                together.restart();
                alone.values().forEach(QueueHarness::restart);
            } else {
                String destination = "d" + random.nextInt(keys);
                Kind kind = what < 8 ? Kind.CANCEL : Kind.CONSUME;
                String tier = List.of("gold", "silver", "bronze").get(random.nextInt(3));
                Request request =
                        request(kind, "r" + i / 3, "c" + random.nextInt(3), tier, random.nextInt(4), destination);
                send(together, admission(rules, request), nowMs);
                send(alone.get(destination), admission(withoutKey(rules), request), nowMs);
            }
            requireSame(together, alone, seen, "seed " + seed + ", step " + i);
        }
    }

    private static QueueRules withoutKey(QueueRules rules) {
        return new QueueRules(
                "q",
                rules.version(),
                rules.limit(),
                rules.perMs(),
                rules.burst(),
                rules.capacity(),
                rules.maxWaitMs(),
                0,
                rules.tiers());
    }

    private static void send(QueueHarness queue, Admission admission, long nowMs) {
        queue.shaper.admit(admission, queue.number++, nowMs, nowMs * MS);
    }

    private static void runUntil(QueueHarness together, Map<String, QueueHarness> alone, long nowMs) {
        together.runUntil(nowMs);
        alone.values().forEach(queue -> queue.runUntil(nowMs));
    }

    private static void requireSame(
            QueueHarness together, Map<String, QueueHarness> alone, Set<String> seen, String context) {
        alone.forEach((destination, queue) -> {
            Map<String, String> key = Map.of(FIELD, destination);
            List<Decision> decisions = new ArrayList<>(together.decisions);
            decisions.removeIf(decision -> !decision.queueing().key().equals(key));
            assertThat(decisions.stream().map(KeyedQueueTest::told))
                    .as(context)
                    .isEqualTo(
                            queue.decisions.stream().map(KeyedQueueTest::told).toList());
            List<Release> releases = new ArrayList<>(together.releases);
            releases.removeIf(release -> !release.key().equals(key));
            assertThat(releases.stream().map(KeyedQueueTest::told))
                    .as(context)
                    .isEqualTo(queue.releases.stream().map(KeyedQueueTest::told).toList());
            queue.decisions.forEach(decision -> seen.add(decision.outcome().name()));
            if (!queue.releases.isEmpty()) {
                seen.add("release");
            }
            BucketId bucket = BucketId.of("q", key);
            boolean isForgotten = queue.outflow() != null && !together.saved.containsKey(bucket);
            if (isForgotten) {
                seen.add("forgotten");
                assertThat(queue.shaper.view("q", 0).waiting()).as(context).isZero();
            }
            queue.decisions.clear();
            queue.releases.clear();
        });
        together.decisions.clear();
        together.releases.clear();
    }

    private static List<Object> told(Decision decision) {
        List<Object> told = new ArrayList<>();
        told.add(decision.requestId());
        told.add(decision.outcome());
        told.add(decision.reason());
        told.add(decision.retryAfterMs());
        told.add(decision.decidedAtMs());
        told.add(decision.queueing().position());
        told.add(decision.queueing().expectedWaitMs());
        return told;
    }

    private static List<Object> told(Release release) {
        return List.of(release.requestId(), release.client(), release.releaseAtNanos(), release.enqueuedAtMs());
    }

    @Test
    void a_key_counts_its_releases_and_begins_anew_once_it_was_idle() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        for (String destination : List.of("a", "b", "a", "a", "b")) {
            send(queue, admission(rules, request(Kind.CONSUME, "r", "c", null, 1, destination)), 0);
        }
        assertThat(queue.saved).hasSize(2);
        queue.runUntil(10_000);
        assertThat(queue.saved).isEmpty();
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(sequences(queue, "a")).containsExactly(1L, 2L, 3L);
        assertThat(sequences(queue, "b")).containsExactly(1L, 2L);
        send(queue, admission(rules, request(Kind.CONSUME, "r", "c", null, 1, "a")), 10_000);
        queue.runUntil(10_000);
        assertThat(sequences(queue, "a")).containsExactly(1L, 2L, 3L, 1L);
    }

    private static List<Long> sequences(QueueHarness queue, String destination) {
        return queue.releases.stream()
                .filter(release -> release.key().equals(Map.of(FIELD, destination)))
                .map(Release::sequence)
                .toList();
    }

    /** Who sends one request at a time, and waits, gets no more than the rate because its bucket is forgotten. */
    @Test
    void a_key_that_is_forgotten_keeps_its_rate() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        for (int nowMs = 0; nowMs < 10_000; nowMs++) {
            queue.runUntil(nowMs);
            if (queue.shaper.view("q", nowMs * MS).waiting() == 0) {
                send(queue, admission(rules, request(Kind.CONSUME, "r" + nowMs, "c", null, 1, "a")), nowMs);
            }
        }
        assertThat(queue.releases).hasSizeBetween(100, 102); // 10 a second and a burst of 2
    }

    @Test
    void a_request_without_a_key_field_is_denied_and_told_which_one() {
        QueueRules rules = rules(1, 10, 100, 5_000, "tier", FIELD);
        QueueHarness queue = new QueueHarness(rules);
        Request request = request(Kind.CONSUME, "r", "c", "gold", 1, null);
        send(queue, admission(rules, request), 0);
        assertThat(queue.decisions).singleElement().satisfies(decision -> {
            assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decision.reason()).isEqualTo(Reason.NO_QUEUE_KEY);
            assertThat(decision.limitedBy()).isEqualTo(FIELD);
            assertThat(decision.httpStatus()).isEqualTo(400);
            assertThat(decision.retryAfterMs()).isNull();
        });
        assertThat(queue.shaper.check(admission(rules, request), 0).reason()).isEqualTo(Reason.NO_QUEUE_KEY);
        assertThat(queue.saved).isEmpty();
    }

    /** Each takes heap, and clients can make up as many as they like. */
    @Test
    void there_is_a_bound_on_the_keys_in_use() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        queue.maxKeys = 2;
        queue.restart();
        for (String destination : List.of("a", "b", "c", "a")) {
            send(queue, admission(rules, request(Kind.CONSUME, "r", "c", null, 5, destination)), 0);
        }
        assertThat(queue.decisions)
                .extracting(Decision::outcome)
                .containsExactly(Outcome.QUEUED, Outcome.QUEUED, Outcome.DENIED, Outcome.QUEUED);
        assertThat(queue.decisions.get(2))
                .returns(Reason.QUEUE_FULL, Decision::reason)
                .returns("keys", Decision::limitedBy)
                .returns(2L, Decision::limit)
                .returns(503, Decision::httpStatus);
        assertThat(queue.decisions.get(2).retryAfterMs()).isPositive();
        send(queue, admission(rules, request(Kind.CANCEL, "r", "c", null, 1, "c")), 0);
        assertThat(queue.decisions.get(4).reason()).isEqualTo(Reason.NOT_WAITING);
        queue.runUntil(60_000); // all have left, and the keys are idle
        send(queue, admission(rules, request(Kind.CONSUME, "r", "c", null, 5, "c")), 60_000);
        assertThat(queue.decisions.get(5).outcome()).isEqualTo(Outcome.QUEUED);
    }

    /** It is on the partition of another bucket: two buckets of one key would double its rate. */
    @Test
    void a_request_that_was_sent_before_the_key_was_known_does_not_wait() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        Request request = request(Kind.CONSUME, "r", "c", "gold", 1, "a");
        send(queue, admission(withoutKey(rules), request), 0);
        assertThat(queue.decisions).extracting(Decision::reason).containsExactly(Reason.NO_QUEUE);
        assertThat(queue.saved).isEmpty();
    }

    @Test
    void a_queue_that_is_deleted_releases_what_waits_by_its_last_rules() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        for (int i = 0; i < 8; i++) {
            send(queue, admission(rules, request(Kind.CONSUME, "r" + i, "c", null, 1, "d" + i % 2)), 0);
        }
        queue.rules.clear();
        queue.restart();
        queue.shaper.refresh(0);
        assertThat(queue.shaper.view("q", 0))
                .returns(true, QueueView::isDeleted)
                .returns(8L, QueueView::waiting)
                .returns(2L, QueueView::keys);
        queue.runUntil(10_000);
        assertThat(queue.releases).hasSize(8);
        assertThat(queue.saved).isEmpty();
    }

    @Test
    void a_tick_touches_the_keys_that_are_due_and_no_more_than_it_has_time_for() {
        QueueRules rules = rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        int keys = 5_000;
        for (int i = 0; i < 4 * keys; i++) {
            queue.runUntil(i / 4);
            send(queue, admission(rules, request(Kind.CONSUME, "r" + i, "c", null, 1, "d" + i / 4)), i / 4);
        }
        queue.runUntil(keys);
        queue.stores.values().forEach(KeyedQueueTest::resetCalls);
        queue.releases.clear();
        queue.shaper.tick((keys + 5) * MS, 10 * keys); // of keys that came one or two seconds ago
        assertThat(queue.releases).hasSize(10);
        assertThat(queue.stores.values().stream().filter(KeyedQueueTest::wasCalled))
                .hasSize(10);
        queue.releases.clear();
        queue.shaper.tick(2 * keys * MS, 5); // all that are left are due; to forget a key is a step too
        assertThat(queue.releases).hasSizeBetween(1, 5);
    }

    private static void resetCalls(QueueStore store) {
        ((MemoryTable<?, ?>) store.slots()).calls = 0;
    }

    private static boolean wasCalled(QueueStore store) {
        return ((MemoryTable<?, ?>) store.slots()).calls > 0;
    }

    @Test
    void the_view_of_all_keys_adds_up_what_each_has() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        assertThat(queue.shaper.view("q", 0)).returns(0L, QueueView::waiting).returns(0L, QueueView::keys);
        send(queue, admission(rules, request(Kind.CONSUME, "r1", "c", "gold", 3, "a")), 10);
        send(queue, admission(rules, request(Kind.CONSUME, "r2", "c", "gold", 4, "b")), 20);
        send(queue, admission(rules, request(Kind.CONSUME, "r3", "c", null, 5, "b")), 30);
        QueueView all = queue.shaper.view("q", 130 * MS);
        assertThat(all.waiting()).isEqualTo(3);
        assertThat(all.waitingTokens()).isEqualTo(12);
        assertThat(all.keys()).isEqualTo(2);
        assertThat(all.oldestWaitMs()).isEqualTo(120);
        assertThat(all.tiers())
                .containsExactly(
                        new QueueView.OfTier("gold", new Share(1, 1), 2),
                        new QueueView.OfTier(null, new Share(0, 1), 1),
                        new QueueView.OfTier("silver", new Share(0, 3), 0));
        QueueView b = queue.shaper.view(BucketId.of("q", Map.of(FIELD, "b")), 130 * MS);
        assertThat(b.waiting()).isEqualTo(2);
        assertThat(b.oldestWaitMs()).isEqualTo(110);
        assertThat(b.keys()).isNull();
        QueueView twice = all.and(all);
        assertThat(twice.waiting()).isEqualTo(6);
        assertThat(twice.keys()).isEqualTo(4);
        assertThat(twice.oldestWaitMs()).isEqualTo(120);
    }
}
