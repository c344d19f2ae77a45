package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.view.QueueView;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that queues obey the commands of operators. */
class OperatorCommandsTest {

    private static final String FIELD = "tenant";
    private static final Map<String, String> WHOLE = Map.of();
    private static final int KEYS = 8;

    /** More keys than obey an order at once. */
    private static final int MANY = 1_500;

    private static QueueRules unkeyed() {
        return QueueRules.builder("q", 10, 1_000)
                .capacity(100_000)
                .lookAheadMs(0)
                .build();
    }

    private static QueueRules keyed(QueueTotal total) {
        return unkeyed().toBuilder().key(List.of(FIELD)).total(total).build();
    }

    private static Map<String, String> key(String value) {
        return Map.of(FIELD, value);
    }

    private static Decision send(
            QueueHarness queue, RequestKind kind, String id, String client, String key, long nowMs) {
        Request request = Request.builder(id, client)
                .kind(kind)
                .attributes(key(key))
                .source(0, 0)
                .build();
        Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null);
        return queue.send(QueueRules.withKey(admission, queue.rules.get("q")), nowMs);
    }

    private static Decision offer(QueueHarness queue, String id, String key, long nowMs) {
        return send(queue, RequestKind.CONSUME, id, "c", key, nowMs);
    }

    @Test
    void a_paused_queue_admits_and_releases_nothing_until_it_is_resumed() {
        QueueHarness queue = new QueueHarness(unkeyed());
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        Decision admitted = offer(queue, "r0", "a", 0);
        offer(queue, "r1", "a", 0);
        assertThat(admitted.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(admitted.queueing().position()).isEqualTo(1);
        assertThat(admitted.queueing().expectedWaitMs())
                .as("not known while paused")
                .isNull();
        queue.runUntil(10_000);
        queue.restart();
        queue.runUntil(60_000);
        assertThat(queue.releases).isEmpty();
        QueueView view = queue.shaper.queries().view("q", 60_000 * MS);
        assertThat(view.orders().paused()).contains(new QueueCommand.Origin(Optional.of("ann"), "because", 0));
        assertThat(((QueueView.OneBucket) view.buckets()).nextReleaseAtNanos()).isNull();
        queue.command(Action.RESUME, "q", WHOLE, 60_000);
        queue.runUntil(60_100);
        assertThat(queue.takeReleases()).containsExactly("r0@60000", "r1@60100");
        assertThat(queue.orders).isEmpty();
        assertThat(queue.shaper.queries().view("q", 60_100 * MS).orders()).isEqualTo(OrdersView.NONE);
    }

    @Test
    void requests_of_a_paused_queue_expire() {
        QueueHarness queue =
                new QueueHarness(unkeyed().toBuilder().maxWaitMs(5_000).build());
        offer(queue, "r0", "a", 0);
        queue.runUntil(0);
        offer(queue, "r1", "a", 0);
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        queue.runUntil(5_000);
        assertThat(queue.decisions.get(queue.decisions.size() - 1).reason()).isEqualTo(Reason.WAITED_TOO_LONG);
        assertThat(queue.takeReleases()).containsExactly("r0@0");
    }

    @Test
    void a_draining_queue_admits_nothing_and_releases_what_waits() {
        QueueHarness queue = new QueueHarness(unkeyed());
        offer(queue, "r0", "a", 0);
        offer(queue, "r1", "a", 0);
        queue.command(Action.DRAIN, "q", WHOLE, 0);
        Decision denied = offer(queue, "r2", "a", 0);
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.reason()).isEqualTo(Reason.QUEUE_DRAINING);
        assertThat(denied.httpStatus()).isEqualTo(503);
        assertThat(denied.endsWait()).isFalse();
        queue.restart();
        assertThat(send(queue, RequestKind.PEEK, "r3", "c", "a", 0).reason()).isEqualTo(Reason.QUEUE_DRAINING);
        assertThat(send(queue, RequestKind.CANCEL, "r1", "c", "a", 0).outcome()).isEqualTo(Outcome.DENIED);
        queue.runUntil(10_000);
        assertThat(queue.takeReleases()).containsExactly("r0@0");
        queue.command(Action.RESUME, "q", WHOLE, 10_000);
        assertThat(offer(queue, "r4", "a", 10_000).outcome()).isEqualTo(Outcome.QUEUED);
    }

    @Test
    void a_command_for_a_key_leaves_other_keys_alone() {
        QueueHarness queue = new QueueHarness(keyed(null));
        queue.command(Action.PAUSE, "q", key("a"), 0);
        queue.command(Action.DRAIN, "q", key("b"), 0);
        offer(queue, "a0", "a", 0);
        assertThat(offer(queue, "b0", "b", 0).reason()).isEqualTo(Reason.QUEUE_DRAINING);
        offer(queue, "c0", "c", 0);
        queue.runUntil(1_000);
        assertThat(queue.takeReleases()).containsExactly("c0@0");
        queue.command(Action.RESUME, "q", WHOLE, 1_000);
        queue.runUntil(2_000);
        assertThat(queue.releases).as("only the whole queue was resumed").isEmpty();
        OrdersView orders = queue.shaper.queries().view("q", 2_000 * MS).orders();
        assertThat(orders.keys()).isEqualTo(2);
        assertThat(orders.paused()).isEmpty();
        assertThat(orders.listed()).extracting(OrdersView.KeyOrders::key).containsExactly(key("a"), key("b"));
        queue.command(Action.RESUME, "q", key("a"), 2_000);
        queue.runUntil(3_000);
        assertThat(queue.takeReleases()).containsExactly("a0@2000");
    }

    @Test
    void a_key_is_paused_if_its_queue_is() {
        QueueHarness queue = new QueueHarness(keyed(null));
        queue.command(Action.PAUSE, "q", key("a"), 0);
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        queue.command(Action.RESUME, "q", key("a"), 0);
        offer(queue, "a0", "a", 0);
        queue.runUntil(1_000);
        assertThat(queue.releases).isEmpty();
        QueueCommand.Origin origin = new QueueCommand.Origin(Optional.of("ann"), "because", 0);
        assertThat(queue.shaper
                        .queries()
                        .view(BucketId.of("q", key("a")), 0)
                        .orders()
                        .paused())
                .contains(origin);
    }

    @Test
    void a_purge_ends_what_waits_and_not_what_arrives_later() {
        QueueHarness queue = new QueueHarness(unkeyed());
        for (int i = 0; i < 1_000; i++) {
            send(queue, RequestKind.CONSUME, "old" + i, "c" + i % 10, "a", 0);
        }
        queue.decisions.clear();
        queue.command(Action.PURGE, "q", WHOLE, 0);
        send(queue, RequestKind.CONSUME, "new", "c3", "a", 0);
        queue.restart();
        queue.runUntil(0);
        assertThat(queue.takeReleases()).containsExactly("new@0");
        List<Decision> purged = queue.decisions.stream()
                .filter(decision -> decision.reason() == Reason.PURGED)
                .toList();
        assertThat(purged)
                .hasSize(1_000)
                .allMatch(Decision::endsWait)
                .allMatch(decision -> decision.httpStatus() == 410);
        assertThat(purged).extracting(Decision::requestId).doesNotHaveDuplicates();
        assertThat(queue.orders).as("the purge is over").isEmpty();
    }

    /** Of four requests, one is in flight, one in backoff, one due again, and one waits for its first release. */
    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void a_purge_ends_what_waits_for_another_attempt_and_not_what_is_in_flight(boolean isKeyed, boolean restarts) {
        QueueRules slots = QueueRules.builder("q", new InFlightRules(3, 60_000, 60_000, 5, 10_000))
                .lookAheadMs(0)
                .key(isKeyed ? List.of(FIELD) : List.of())
                .build();
        QueueHarness queue = new QueueHarness(slots);
        for (String id : List.of("flying", "due", "backoff", "first")) {
            offer(queue, id, "a", 0);
        }
        queue.runUntil(0);
        Map<String, Release> released = new HashMap<>();
        queue.releases.forEach(release -> released.put(release.requestId(), release));
        assertThat(queue.takeReleases()).containsExactly("flying@0", "due@0", "backoff@0");
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        queue.acknowledge(released.get("due"), "c", RequestKind.COMPLETE, Result.RETRY, 0L, 0);
        queue.acknowledge(released.get("backoff"), "c", RequestKind.COMPLETE, Result.RETRY, null, 0);
        queue.runUntil(1_000);
        assertThat(queue.releases).isEmpty();
        if (restarts) {
            queue.restart();
        }
        queue.decisions.clear();

        queue.command(Action.PURGE, "q", WHOLE, 1_000);
        queue.command(Action.RESUME, "q", WHOLE, 1_000);
        queue.runUntil(30_000);
        assertThat(queue.releases).isEmpty();
        assertThat(queue.decisions)
                .allMatch(decision -> decision.reason() == Reason.PURGED && decision.endsWait())
                .extracting(Decision::requestId)
                .containsExactlyInAnyOrder("due", "backoff", "first");
        assertThat(queue.orders).as("the purge is over").isEmpty();
        assertThat(queue.done(released.get("flying"), 30_000).reason()).isEqualTo(Reason.COMPLETED);
        assertThat(queue.shaper.hasWaiting()).isFalse();
    }

    @Test
    void a_purge_takes_a_bounded_number_of_steps_at_once() {
        QueueHarness queue = new QueueHarness(unkeyed());
        for (int i = 0; i < 2_000; i++) {
            offer(queue, "r" + i, "a", 0);
        }
        queue.command(Action.PURGE, "q", WHOLE, 0);
        assertThat(queue.shaper.queries().view("q", 0).orders().isPurging()).isTrue();
        int ticks = 0;
        while (!queue.orders.isEmpty()) {
            int before = queue.decisions.size();
            queue.carryOut(queue.shaper.tick(0, 100));
            assertThat(queue.decisions.size() - before).isBetween(1, 100);
            ticks++;
        }
        assertThat(ticks).isGreaterThan(10);
        assertThat(queue.shaper.hasWaiting()).isFalse();
        assertThat(queue.releases).as("nothing is released while it is purged").isEmpty();
    }

    @Test
    void a_purge_of_an_unused_queue_or_key_ends_at_once() {
        QueueHarness queue = new QueueHarness(keyed(null));
        queue.command(Action.PURGE, "q", WHOLE, 0);
        queue.command(Action.PURGE, "q", key("a"), 0);
        assertThat(queue.orders).isEmpty();
        offer(queue, "a0", "a", 0);
        queue.command(Action.PURGE, "q", key("b"), 0);
        assertThat(queue.orders).isEmpty();
        queue.runUntil(0);
        assertThat(queue.takeReleases()).containsExactly("a0@0");
    }

    @Test
    void a_deleted_queue_can_be_paused_resumed_and_purged() {
        QueueHarness queue = new QueueHarness(unkeyed());
        for (int i = 0; i < 10; i++) {
            offer(queue, "r" + i, "a", 0);
        }
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(0));
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        queue.runUntil(1_000);
        assertThat(queue.releases).isEmpty();
        queue.command(Action.RESUME, "q", WHOLE, 1_000);
        queue.runUntil(1_000);
        assertThat(queue.takeReleases()).containsExactly("r0@1000");
        queue.command(Action.PURGE, "q", WHOLE, 1_000);
        queue.runUntil(5_000);
        assertThat(queue.releases).isEmpty();
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.orders).isEmpty();
    }

    @Test
    void orders_for_unknown_queues_have_no_effect_on_others() {
        QueueHarness queue = new QueueHarness(unkeyed());
        queue.command(Action.PAUSE, "other", WHOLE, 0);
        queue.command(Action.PAUSE, "q", Map.of("no-field", "x"), 0);
        queue.command(Action.PURGE, "other", Map.of("no-field", "x"), 0);
        offer(queue, "r0", "a", 0);
        queue.runUntil(0);
        assertThat(queue.takeReleases()).containsExactly("r0@0");
        assertThat(queue.shaper.queries().unusual(10, 0))
                .extracting(view -> view.rules().id())
                .as("the other does not exist")
                .containsExactly("q");
    }

    @Test
    void the_keys_with_commands_are_bounded() {
        QueueHarness queue = new QueueHarness(keyed(null));
        for (int i = 0; i < 2 * OrdersView.MAX_KEYS + 5; i++) {
            queue.command(Action.PAUSE, "q", key("k" + i), 0);
        }
        assertThat(queue.orders).hasSize(2 * OrdersView.MAX_KEYS);
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        assertThat(queue.shaper.queries().view("q", 0).orders().paused())
                .as("the whole queue obeys")
                .isPresent();
        assertThat(queue.shaper.queries().view("q", 0).orders().listed()).hasSize(OrdersView.MAX_LISTED);
    }

    @Test
    void a_command_without_a_reason_is_refused() {
        assertThatThrownBy(() -> new QueueCommand.Origin(Optional.empty(), " ", 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a command needs a reason");
    }

    /** A paused key that is not on the heap has a timer, and a resumed one is found again. */
    @ParameterizedTest
    @CsvSource({"1, false", "3, false", "1, true", "3, true"})
    void keys_off_the_heap_obey(int hotKeys, boolean hasTotal) {
        QueueHarness queue = new QueueHarness(keyed(hasTotal ? new QueueTotal(1_000, 1_000, 10_000) : null));
        queue.hotKeys = hotKeys;
        queue.restart();
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        for (int i = 0; i < 50; i++) {
            offer(queue, "r" + i, "k" + i, 0);
        }
        queue.runUntil(5_000);
        assertThat(queue.releases).isEmpty();
        assertThat(queue.shaper.hotKeys()).isLessThanOrEqualTo(hotKeys);
        queue.command(Action.RESUME, "q", WHOLE, 5_000);
        queue.runUntil(7_000);
        assertThat(queue.releases).hasSize(50).allMatch(release -> release.releaseAtNanos() >= 5_000 * MS);
    }

    /** Keys on the heap obey one after the other. Until then, new keys must not push them off it unnoticed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void keys_that_leave_the_heap_before_their_turn_are_resumed(boolean hasTotal) {
        QueueHarness queue = manyKeys(hasTotal);
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        offerToEach(queue, "r", 0);
        queue.command(Action.RESUME, "q", WHOLE, 1_000);
        offerToEach(queue, "new", 1_000);
        queue.runUntil(4_000);
        assertThat(queue.releases.stream().filter(release -> release.requestId().startsWith("r")))
                .hasSize(MANY);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void keys_that_leave_the_heap_before_their_turn_are_purged(boolean hasTotal) {
        QueueHarness queue = manyKeys(hasTotal);
        for (int i = 0; i < MANY; i++) {
            offer(queue, "first" + i, "r" + i, 0);
        }
        queue.runUntil(2);
        offerToEach(queue, "r", 2); // they wait for their key's rate, and new keys go before them
        int released = queue.releases.size();
        queue.command(Action.PURGE, "q", WHOLE, 2);
        offerToEach(queue, "new", 2);
        queue.runUntil(4_000);
        assertThat(queue.decisions.stream()
                        .filter(decision -> decision.reason() == Reason.PURGED)
                        .filter(decision -> !decision.requestId().startsWith("new")))
                .hasSize(2 * MANY - released);
    }

    private static QueueHarness manyKeys(boolean hasTotal) {
        QueueHarness queue = new QueueHarness(keyed(hasTotal ? new QueueTotal(10_000, 1_000, 10_000) : null));
        queue.hotKeys = MANY;
        queue.restart();
        return queue;
    }

    private static void offerToEach(QueueHarness queue, String name, long nowMs) {
        for (int i = 0; i < MANY; i++) {
            offer(queue, name + i, name + i, nowMs);
        }
    }

    static Stream<Arguments> kinds() {
        QueueTotal total = new QueueTotal(40, 1_000, 10_000);
        return Stream.of(
                Arguments.of("unkeyed", unkeyed(), 1_000),
                Arguments.of("keyed", keyed(null), 1_000),
                Arguments.of("keyed, cold", keyed(null), 2),
                Arguments.of("total", keyed(total), 1_000),
                Arguments.of("total, cold", keyed(total), 2));
    }

    /** What the commands and requests so far permit, in terms of sets. */
    private static final class Model {
        final Set<String> paused = new HashSet<>(); // keys, and the empty text for the whole queue
        final Set<String> draining = new HashSet<>();
        final Map<String, String> keyOfWaiting = new HashMap<>(); // by request id
        final Set<String> doomed = new HashSet<>(); // must be purged
        final Set<String> ended = new HashSet<>();
        final Map<String, Long> resumedMs = new HashMap<>();

        boolean isPaused(String key) {
            return paused.contains("") || paused.contains(key);
        }

        boolean isDraining(String key) {
            return draining.contains("") || draining.contains(key);
        }

        void command(Action action, String key, long nowMs) {
            switch (action) {
                case PAUSE -> paused.add(key);
                case DRAIN -> draining.add(key);
                case RESUME -> {
                    if (paused.remove(key)) {
                        resumedMs.put(key, nowMs);
                    }
                    draining.remove(key);
                }
                case PURGE ->
                    keyOfWaiting.forEach((id, of) -> {
                        if (key.isEmpty() || key.equals(of)) {
                            doomed.add(id);
                        }
                    });
            }
        }

        void ends(String id, String how) {
            assertThat(keyOfWaiting.remove(id)).as(id + " waits, and is " + how).isNotNull();
            assertThat(ended.add(id)).as(id + " ends once").isTrue();
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("kinds")
    void random_commands_are_obeyed_as_by_the_model(String name, QueueRules rules, int hotKeys) {
        Set<String> seen = new TreeSet<>();
        for (long seed = 1; seed <= Effort.times(15); seed++) {
            run(seed, rules, hotKeys, seen);
        }
        assertThat(seen).contains("released", "PURGED", "QUEUE_DRAINING", "WAITED_TOO_LONG", "CANCELLED", "restart");
    }

    private static void run(long seed, QueueRules given, int hotKeys, Set<String> seen) {
        Random random = new Random(seed);
        QueueRules rules = given.toBuilder().maxWaitMs(2_000).build();
        QueueHarness queue = new QueueHarness(rules);
        queue.hotKeys = hotKeys;
        queue.restart();
        Model model = new Model();
        long nowMs = 0;
        int steps = 8 + random.nextInt(40); // of work at once
        for (int i = 0; i < 800; i++) {
            nowMs += random.nextInt(5) == 0 ? random.nextInt(400) : 0;
            work(queue, nowMs, steps, model, seen);
            int what = random.nextInt(100);
            String key = rules.isKeyed() ? "k" + random.nextInt(KEYS) : "";
            if (what < 12) {
                Action action = Action.values()[random.nextInt(Action.values().length)];
                String target = random.nextInt(3) == 0 ? "" : key;
                model.command(action, target, nowMs);
                queue.command(action, "q", target.isEmpty() ? WHOLE : key(target), nowMs);
                check(queue, model, seen);
            } else if (what < 15) {
                queue.restart();
                seen.add("restart");
            } else if (what < 20 && !model.keyOfWaiting.isEmpty()) {
                String id = new TreeSet<>(model.keyOfWaiting.keySet()).first();
                String of = model.keyOfWaiting.get(id);
                model.doomed.remove(id);
                Decision answer = send(queue, RequestKind.CANCEL, id, client(id), of.isEmpty() ? "x" : of, nowMs);
                assertThat(queue.decisions.stream().filter(d -> d.reason() == Reason.CANCELLED))
                        .isNotEmpty();
                assertThat(answer).isNotNull();
                check(queue, model, seen);
            } else {
                offer(queue, "r" + i, key, nowMs, model, seen);
            }
        }
        for (String target :
                Stream.concat(Stream.of(""), model.paused.stream()).distinct().toList()) {
            queue.command(Action.RESUME, "q", target.isEmpty() ? WHOLE : key(target), nowMs);
        }
        model.paused.clear();
        work(queue, nowMs + 100_000, steps, model, seen);
        assertThat(model.keyOfWaiting).isEmpty();
        assertThat(queue.shaper.hasWaiting()).isFalse();
    }

    private static String client(String id) {
        return "c" + Math.floorMod(id.hashCode(), 3);
    }

    private static void offer(QueueHarness queue, String id, String key, long nowMs, Model model, Set<String> seen) {
        int before = queue.decisions.size();
        send(queue, RequestKind.CONSUME, id, client(id), key.isEmpty() ? "x" : key, nowMs);
        Decision decision = queue.decisions.get(before);
        assertThat(decision.requestId()).isEqualTo(id);
        seen.add(decision.reason().name());
        if (model.isDraining(key)) {
            assertThat(decision.reason()).isEqualTo(Reason.QUEUE_DRAINING);
        } else if (decision.outcome() == Outcome.QUEUED) {
            model.keyOfWaiting.put(id, key);
        } else {
            assertThat(decision.reason()).isEqualTo(Reason.TOO_LATE);
        }
        queue.decisions.remove(before);
        check(queue, model, seen);
    }

    /** Works until a time, and checks each release and decision when it is made. */
    private static void work(QueueHarness queue, long untilMs, int steps, Model model, Set<String> seen) {
        int ticksAtOnce = 0; // since the time advanced
        for (long beforeNanos = -1; queue.shaper.dueNanos() <= untilMs * MS; ) {
            long nowNanos = queue.shaper.dueNanos();
            ticksAtOnce = nowNanos > beforeNanos ? 0 : ticksAtOnce + 1;
            assertThat(ticksAtOnce).as("ticks without progress").isLessThan(10_000);
            beforeNanos = Math.max(beforeNanos, nowNanos);
            queue.carryOut(queue.shaper.tick(nowNanos, steps));
            check(queue, model, seen);
        }
    }

    private static void check(QueueHarness queue, Model model, Set<String> seen) {
        for (Release release : queue.releases) {
            String key = release.key().getOrDefault(FIELD, "");
            assertThat(model.isPaused(key)).as(release + " although paused").isFalse();
            assertThat(model.doomed).as("purged requests are not released").doesNotContain(release.requestId());
            long resumedMs = Math.max(model.resumedMs.getOrDefault(key, 0L), model.resumedMs.getOrDefault("", 0L));
            assertThat(release.releaseAtNanos())
                    .as("not dated back into a pause")
                    .isGreaterThanOrEqualTo(resumedMs * MS);
            model.ends(release.requestId(), "released");
            seen.add("released");
        }
        queue.releases.clear();
        for (Decision decision : new ArrayList<>(queue.decisions)) {
            if (decision.reason() == Reason.CANCELLED && decision.outcome() == Outcome.ALLOWED) {
                continue;
            }
            seen.add(decision.reason().name());
            assertThat(decision.endsWait()).as(String.valueOf(decision)).isTrue();
            assertThat(model.doomed.contains(decision.requestId()) || decision.reason() != Reason.PURGED)
                    .as(decision + " waited when the purge arrived")
                    .isTrue();
            model.ends(decision.requestId(), String.valueOf(decision.reason()));
        }
        queue.decisions.clear();
    }
}
