package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

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
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.view.QueueView;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a queue with key fields is one leaky bucket per combination of their values. */
@Tag("slow")
class KeyedQueueTest {

    private static final String FIELD = "destination";

    private static QueueRules rules(long version, long limit, long capacity, long maxWaitMs, String... key) {
        Map<String, TierShare> tiers = Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3));
        return QueueRules.builder("q", limit, 1_000)
                .version(version)
                .burst(2)
                .capacity(capacity)
                .maxWaitMs(maxWaitMs)
                .lookAheadMs(0)
                .tiers(tiers)
                .key(List.of(key))
                .build();
    }

    private static Request request(
            RequestKind kind, String id, String client, String tier, long cost, String destination) {
        return request(kind, id, client, tier, cost, null, destination);
    }

    private static Request request(
            RequestKind kind, String id, String client, String tier, long cost, Long deadlineMs, String destination) {
        Map<String, String> attributes = destination == null ? Map.of() : Map.of(FIELD, destination);
        Request.Source source = new Request.Source(0, 0);
        return Request.builder(id, client)
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .attributes(attributes)
                .deadlineMs(deadlineMs)
                .source(source)
                .build();
    }

    private static Admission admission(QueueRules rules, Request request) {
        return Admission.of(request, "q", new PolicyVersion("p", 1), null).withKey(rules.keyOf(request));
    }

    /** Holds whatever the other keys do, however few keys are on the heap, and however often the queue is restarted. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 1_000})
    void each_key_behaves_as_in_its_own_queue(int hotKeys) {
        Set<String> seen = new HashSet<>();
        for (int seed = 1; seed <= Effort.times(6); seed++) {
            run(seed, hotKeys, seen);
        }
        assertThat(seen).contains("QUEUED", "ALLOWED", "DENIED", "EXPIRED", "release", "removed");
        assertThat(seen.contains("cold")).isEqualTo(hotKeys < 1_000);
    }

    private static void run(int seed, int hotKeys, Set<String> seen) {
        Random random = new Random(seed);
        int keys = 1 + random.nextInt(6);
        QueueRules rules = rules(1, 1 + random.nextInt(30), 8, 2_000, FIELD);
        QueueHarness together = new QueueHarness(rules);
        together.hotKeys = hotKeys;
        together.restart();
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
                rules = rules.withPace(rules.limit(), rules.perMs(), 1 + random.nextInt(8));
                together.rules.put("q", rules);
                together.carryOut(together.shaper.refresh(nowMs * MS));
                QueueRules one = withoutKey(rules);
                for (QueueHarness each : alone.values()) {
                    each.rules.put("q", one);
                    each.carryOut(each.shaper.refresh(nowMs * MS));
                }
            } else if (what == 1) {
                together.restart();
            } else {
                String destination = "d" + random.nextInt(keys);
                RequestKind kind = what < 8 ? RequestKind.CANCEL : RequestKind.CONSUME;
                String tier = List.of("gold", "silver", "bronze").get(random.nextInt(3));
                Long deadlineMs = random.nextInt(3) == 0 ? (Long) (nowMs + random.nextInt(2_500)) : null;
                Request request = request(
                        kind, "r" + i / 3, "c" + random.nextInt(3), tier, random.nextInt(4), deadlineMs, destination);
                send(together, admission(rules, request), nowMs);
                send(alone.get(destination), admission(withoutKey(rules), request), nowMs);
            }
            requireSame(together, alone, seen, "seed " + seed + ", step " + i);
            assertThat(together.shaper.hotKeys()).isLessThanOrEqualTo(hotKeys);
            if (!together.timers.entries.isEmpty()) {
                seen.add("cold");
            }
        }
    }

    /** Without exactly-once, a crash can keep the state of a loaded bucket and lose the removal of its timer. */
    @Test
    void a_timer_of_a_key_on_the_heap_is_ignored() {
        QueueRules rules = rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD);
        QueueHarness queue = withKeys(40, 10, rules);
        Map<TimerKey, BucketId> before = Map.copyOf(queue.timers.entries);
        assertThat(before).hasSize(30);
        queue.hotKeys = 100;
        queue.restart();
        for (int key = 0; key < 40; key += 3) {
            send(queue, admission(rules, request(RequestKind.CONSUME, "s" + key, "c", null, 2, "d" + key)), 10);
        }
        before.forEach(queue.timers.entries::putIfAbsent); // the removals are lost
        queue.restart();
        queue.runDry();
        assertThat(queue.releases).hasSize(40 * 3 + 14);
        assertThat(queue.releases.stream().map(Release::requestId).distinct()).hasSize(40 * 3 + 14);
        assertThat(queue.saved).isEmpty();
    }

    @Test
    void an_uncached_key_steps_back_in_time_like_a_cached_one() {
        Random random = new Random(1);
        QueueRules rules = rules(1, 3, 8, 9_000, FIELD);
        QueueHarness hot = new QueueHarness(rules);
        QueueHarness cold = new QueueHarness(rules);
        cold.hotKeys = 1;
        cold.restart();
        long nowMs = 10_000;
        for (int i = 0; i < 5_000; i++) {
            nowMs += random.nextInt(200);
            for (QueueHarness queue : List.of(hot, cold)) {
                queue.runUntil(nowMs);
            }
            boolean isBack = random.nextInt(50) == 0;
            nowMs -= isBack ? random.nextInt(3_000) : 0;
            Request request = request(
                    RequestKind.CONSUME,
                    "r" + i,
                    "c" + random.nextInt(3),
                    null,
                    random.nextInt(4),
                    "d" + random.nextInt(9));
            for (QueueHarness queue : List.of(hot, cold)) {
                if (isBack) {
                    queue.carryOut(queue.shaper.stepBack(nowMs * MS));
                }
                send(queue, admission(rules, request), nowMs);
                queue.runUntil(nowMs);
            }
        }
        assertThat(cold.timers.entries).isNotEmpty();
        assertThat(hot.releases).hasSizeGreaterThan(1_000);
        for (int key = 0; key < 9; key++) {
            Map<String, String> values = Map.of(FIELD, "d" + key);
            assertThat(of(values, cold)).isEqualTo(of(values, hot));
        }
    }

    private static List<List<Object>> of(Map<String, String> key, QueueHarness queue) {
        return queue.releases.stream()
                .filter(release -> release.key().equals(key))
                .map(KeyedQueueTest::reported)
                .toList();
    }

    private static QueueRules withoutKey(QueueRules rules) {
        return rules.toBuilder().key(List.of()).build();
    }

    private static void send(QueueHarness queue, Admission admission, long nowMs) {
        queue.carryOut(queue.shaper.admit(admission, queue.number++, nowMs, nowMs * MS));
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
            assertThat(decisions.stream().map(KeyedQueueTest::reported))
                    .as(context)
                    .isEqualTo(queue.decisions.stream()
                            .map(KeyedQueueTest::reported)
                            .toList());
            List<Release> releases = new ArrayList<>(together.releases);
            releases.removeIf(release -> !release.key().equals(key));
            assertThat(releases.stream().map(KeyedQueueTest::reported))
                    .as(context)
                    .isEqualTo(queue.releases.stream()
                            .map(KeyedQueueTest::reported)
                            .toList());
            queue.decisions.forEach(decision -> seen.add(decision.outcome().name()));
            if (!queue.releases.isEmpty()) {
                seen.add("release");
            }
            BucketId bucket = BucketId.of("q", key);
            boolean isRemoved = queue.outflow() != null && !together.saved.containsKey(bucket);
            if (isRemoved) {
                seen.add("removed");
                assertThat(queue.shaper.queries().view("q", 0).waiting())
                        .as(context)
                        .isZero();
            }
            queue.decisions.clear();
            queue.releases.clear();
        });
        together.decisions.clear();
        together.releases.clear();
    }

    private static List<Object> reported(Decision decision) {
        List<Object> reported = new ArrayList<>();
        reported.add(decision.requestId());
        reported.add(decision.outcome());
        reported.add(decision.reason());
        reported.add(decision.retryAfterMs());
        reported.add(decision.decidedAtMs());
        reported.add(decision.queueing().position());
        reported.add(decision.queueing().expectedWaitMs());
        return reported;
    }

    private static List<Object> reported(Release release) {
        return List.of(release.requestId(), release.client(), release.releaseAtNanos(), release.enqueuedAtMs());
    }

    @Test
    void a_key_counts_its_releases_and_restarts_after_it_was_idle() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        for (String destination : List.of("a", "b", "a", "a", "b")) {
            send(queue, admission(rules, request(RequestKind.CONSUME, "r", "c", null, 1, destination)), 0);
        }
        assertThat(queue.saved).hasSize(2);
        queue.runUntil(10_000);
        assertThat(queue.saved).isEmpty();
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(sequences(queue, "a")).containsExactly(1L, 2L, 3L);
        assertThat(sequences(queue, "b")).containsExactly(1L, 2L);
        send(queue, admission(rules, request(RequestKind.CONSUME, "r", "c", null, 1, "a")), 10_000);
        queue.runUntil(10_000);
        assertThat(sequences(queue, "a")).containsExactly(1L, 2L, 3L, 1L);
    }

    private static List<Long> sequences(QueueHarness queue, String destination) {
        return queue.releases.stream()
                .filter(release -> release.key().equals(Map.of(FIELD, destination)))
                .map(Release::sequence)
                .toList();
    }

    /** A client that sends one request at a time and waits does not exceed the rate because its bucket is deleted. */
    @Test
    void a_deleted_key_keeps_its_rate() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        for (int nowMs = 0; nowMs < 10_000; nowMs++) {
            queue.runUntil(nowMs);
            if (queue.shaper.queries().view("q", nowMs * MS).waiting() == 0) {
                send(queue, admission(rules, request(RequestKind.CONSUME, "r" + nowMs, "c", null, 1, "a")), nowMs);
            }
        }
        assertThat(queue.releases).hasSizeBetween(100, 102); // 10 a second with a burst of 2
    }

    @Test
    void a_request_without_a_key_field_is_denied_and_the_field_is_named() {
        QueueRules rules = rules(1, 10, 100, 5_000, "tier", FIELD);
        QueueHarness queue = new QueueHarness(rules);
        Request request = request(RequestKind.CONSUME, "r", "c", "gold", 1, null);
        send(queue, admission(rules, request), 0);
        assertThat(queue.decisions).singleElement().satisfies(decision -> {
            assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decision.reason()).isEqualTo(Reason.NO_QUEUE_KEY);
            assertThat(decision.limitedBy()).isEqualTo(FIELD);
            assertThat(decision.httpStatus()).isEqualTo(400);
            assertThat(decision.retryAfterMs()).isNull();
        });
        assertThat(queue.shaper.queries().check(admission(rules, request), 0).reason())
                .isEqualTo(Reason.NO_QUEUE_KEY);
        assertThat(queue.saved).isEmpty();
    }

    /** It is on the partition of another bucket. Two buckets of one key would double its rate. */
    @Test
    void a_request_admitted_before_the_queue_had_a_key_does_not_wait() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        Request request = request(RequestKind.CONSUME, "r", "c", "gold", 1, "a");
        send(queue, admission(withoutKey(rules), request), 0);
        assertThat(queue.decisions).extracting(Decision::reason).containsExactly(Reason.NO_QUEUE);
        assertThat(queue.saved).isEmpty();
    }

    @Test
    void a_deleted_queue_releases_waiting_requests_by_its_last_rules() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        for (int i = 0; i < 8; i++) {
            send(queue, admission(rules, request(RequestKind.CONSUME, "r" + i, "c", null, 1, "d" + i % 2)), 0);
        }
        queue.rules.clear();
        queue.restart();
        queue.carryOut(queue.shaper.refresh(0));
        assertThat(queue.shaper.queries().view("q", 0))
                .returns(true, QueueView::isDeleted)
                .returns(8L, QueueView::waiting)
                .returns(2L, view -> QueueHarness.several(view).keys());
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
            send(queue, admission(rules, request(RequestKind.CONSUME, "r" + i, "c", null, 1, "d" + i / 4)), i / 4);
        }
        queue.runUntil(keys);
        queue.stores.values().forEach(KeyedQueueTest::resetCalls);
        queue.releases.clear();
        queue.carryOut(queue.shaper.tick((keys + 5) * MS, 10 * keys)); // for keys used one or two seconds ago
        assertThat(queue.releases).hasSize(10);
        assertThat(queue.stores.values().stream().filter(KeyedQueueTest::wasCalled))
                .hasSize(10);
        queue.releases.clear();
        queue.carryOut(queue.shaper.tick(2 * keys * MS, 5)); // all that are left are due; deleting a key is a step too
        assertThat(queue.releases).hasSizeBetween(1, 5);
    }

    private static void resetCalls(QueueStore store) {
        ((HeapQueueStore<?, ?>) store.entries()).calls = 0;
    }

    private static boolean wasCalled(QueueStore store) {
        return ((HeapQueueStore<?, ?>) store.entries()).calls > 0;
    }

    @Test
    void the_view_of_all_keys_is_the_sum_of_the_keys() {
        QueueRules rules = rules(1, 10, 100, 5_000, FIELD);
        QueueHarness queue = new QueueHarness(rules);
        assertThat(queue.shaper.queries().view("q", 0))
                .returns(0L, QueueView::waiting)
                .returns(0L, view -> QueueHarness.several(view).keys());
        send(queue, admission(rules, request(RequestKind.CONSUME, "r1", "c", "gold", 3, "a")), 10);
        send(queue, admission(rules, request(RequestKind.CONSUME, "r2", "c", "gold", 4, "b")), 20);
        send(queue, admission(rules, request(RequestKind.CONSUME, "r3", "c", null, 5, "b")), 30);
        QueueView all = queue.shaper.queries().view("q", 130 * MS);
        assertThat(all.waiting()).isEqualTo(3);
        assertThat(all.waitingTokens()).isEqualTo(12);
        assertThat(QueueHarness.several(all).keys()).isEqualTo(2);
        assertThat(all.oldestWaitMs()).isEqualTo(120);
        assertThat(all.tiers())
                .containsExactly(
                        new QueueView.TierView("gold", new TierShare(1, 1), 2),
                        new QueueView.TierView(null, new TierShare(0, 1), 1),
                        new QueueView.TierView("silver", new TierShare(0, 3), 0));
        QueueView b = queue.shaper.queries().view(BucketId.of("q", Map.of(FIELD, "b")), 130 * MS);
        assertThat(b.waiting()).isEqualTo(2);
        assertThat(b.oldestWaitMs()).isEqualTo(110);
        assertThat(b.hasSeveralBuckets()).isFalse();
        QueueView twice = all.mergedWith(all);
        assertThat(twice.waiting()).isEqualTo(6);
        assertThat(QueueHarness.several(twice).keys()).isEqualTo(4);
        assertThat(QueueHarness.several(twice).hotKeys()).isEqualTo(4);
        assertThat(twice.oldestWaitMs()).isEqualTo(120);
    }

    /** A queue with many keys, each of which waits for a long time. */
    private static QueueHarness withKeys(int keys, int hotKeys, QueueRules rules) {
        QueueHarness queue = new QueueHarness(rules);
        queue.hotKeys = hotKeys;
        queue.restart();
        for (int key = 0; key < keys; key++) {
            for (int i = 0; i < 3; i++) {
                String id = "r" + key + "-" + i;
                send(queue, admission(rules, request(RequestKind.CONSUME, id, "c", null, 2, "d" + key)), key / 10);
            }
        }
        return queue;
    }

    @Test
    void heap_and_store_calls_per_release_do_not_grow_with_the_keys() {
        List<Long> calls = new ArrayList<>();
        for (int keys : new int[] {2_000, 20_000}) {
            QueueHarness queue = withKeys(keys, 50, rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD));
            assertThat(queue.shaper.hotKeys()).isEqualTo(50);
            assertThat(QueueHarness.several(queue.shaper.queries().view("q", 0)).keys())
                    .isEqualTo(keys);
            assertThat(queue.timers.entries).hasSize(keys - 50);
            queue.runUntil(keys / 10);
            queue.releases.clear();
            resetCalls(queue);
            queue.runUntil(keys / 10 + 2_000);
            assertThat(queue.releases).hasSizeGreaterThanOrEqualTo(keys);
            assertThat(queue.shaper.hotKeys()).isLessThanOrEqualTo(50);
            calls.add(calls(queue) / queue.releases.size());
        }
        assertThat(calls.get(1)).isLessThanOrEqualTo(calls.get(0) + 1).isLessThan(40);
    }

    private static void resetCalls(QueueHarness queue) {
        queue.loads = 0;
        queue.timers.calls = 0;
        for (QueueStore store : queue.stores.values()) {
            resetCalls(store);
            ((HeapQueueStore<?, ?>) store.tickets()).calls = 0;
            ((HeapQueueStore<?, ?>) store.expiryTimers()).calls = 0;
        }
    }

    private static long calls(QueueHarness queue) {
        long calls = queue.loads + queue.timers.calls;
        for (QueueStore store : queue.stores.values()) {
            calls += ((HeapQueueStore<?, ?>) store.entries()).calls
                    + ((HeapQueueStore<?, ?>) store.tickets()).calls
                    + ((HeapQueueStore<?, ?>) store.expiryTimers()).calls;
        }
        return calls;
    }

    @Test
    void a_restart_reads_no_requests_of_keys_with_few_flows() {
        QueueHarness queue = withKeys(500, 50, rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD));
        QueueView before = queue.shaper.queries().view("q", 60 * MS);
        resetCalls(queue);
        queue.restart();
        assertThat(calls(queue)).isZero();
        assertThat(queue.shaper.queries().view("q", 60 * MS)).isEqualTo(before);
    }

    /** Half of the steps of each tick are for changed rules. */
    @Test
    void changed_rules_reach_all_keys_in_steps_and_a_used_one_at_once() {
        QueueRules slow = rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD);
        QueueRules fast = rules(2, 1_000, 100, QueueRules.NO_MAX_WAIT, FIELD);
        int keys = 3_000;
        QueueHarness queue = withKeys(keys, 10, slow);
        queue.runUntil(keys / 10);
        queue.releases.clear();
        queue.rules.put("q", fast);
        queue.carryOut(queue.shaper.refresh(400 * MS));
        assertThat(queue.shaper.dueNanos()).isLessThanOrEqualTo(400 * MS);
        BucketId last = BucketId.of("q", Map.of(FIELD, "d" + (keys - 1)));
        assertThat(queue.shaper.queries().view(last, 400 * MS).rules()).isEqualTo(fast);
        queue.carryOut(queue.shaper.tick(400 * MS, 1_000));
        assertThat(queue.releases).hasSizeLessThan(1_500);
        queue.restart(); // continues with the outdated keys
        for (int i = 0; i < 6; i++) {
            queue.carryOut(queue.shaper.tick(400 * MS, 1_000));
        }
        queue.runUntil(410);
        assertThat(queue.releases).hasSize(2 * keys);
    }

    /** Five hundred hot keys adopt the rules at once, the others later. */
    @Test
    void a_key_evicted_before_it_follows_changed_rules_is_due_by_the_new_ones() {
        QueueRules slow = rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD);
        QueueRules fast = rules(2, 1_000, 100, QueueRules.NO_MAX_WAIT, FIELD);
        int keys = 700;
        QueueHarness queue = withKeys(keys, keys, slow);
        queue.runUntil(keys / 10);
        queue.releases.clear();
        queue.rules.put("q", fast);
        queue.carryOut(queue.shaper.refresh(400 * MS));
        for (int i = 0; i < 200; i++) {
            send(queue, admission(fast, request(RequestKind.CONSUME, "new" + i, "c", null, 2, "new" + i)), 400);
        }
        assertThat(QueueHarness.several(queue.shaper.queries().view("q", 400 * MS))
                        .keys())
                .isEqualTo(keys + 200);
        for (int i = 0; i < 6; i++) {
            queue.carryOut(queue.shaper.tick(400 * MS, 1_000));
        }
        queue.runUntil(410);
        assertThat(queue.releases).hasSize(2 * keys + 200);
    }

    /** A bucket with more flows than a state lists. */
    @Test
    void a_key_with_many_flows_stays_on_the_heap_and_is_restored_from_its_requests() {
        QueueRules rules = rules(1, 1, 100, QueueRules.NO_MAX_WAIT, FIELD);
        QueueHarness queue = withKeys(20, 1, rules);
        for (int client = 0; client < 40; client++) {
            send(queue, admission(rules, request(RequestKind.CONSUME, "many", "c" + client, null, 1, "d7")), 10);
        }
        assertThat(queue.saved.get(BucketId.of("q", Map.of(FIELD, "d7"))).contents())
                .isNull();
        assertThat(queue.shaper.hotKeys()).isEqualTo(1);
        QueueView before = queue.shaper.queries().view("q", 60 * MS);
        queue.restart();
        assertThat(queue.shaper.queries().view("q", 60 * MS)).isEqualTo(before);
        queue.runDry();
        assertThat(queue.releases).hasSize(20 * 3 + 40);
        assertThat(queue.saved).isEmpty();
        assertThat(queue.timers.entries).isEmpty();
    }
}
