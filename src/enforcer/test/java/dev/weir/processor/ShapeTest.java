package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.QueueView;
import dev.weir.storage.DamagedStoreException;
import dev.weir.storage.codec.QueueMessageCodec;
import dev.weir.testing.QueueAudit;
import dev.weir.wire.AdmissionAvro;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.processor.api.MockProcessorContext.CapturedForward;
import org.apache.kafka.streams.processor.api.MockProcessorContext.CapturedPunctuator;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the processor on RocksDB stores that survive it, as they do a crash. The tests control its clock
 * and punctuators.
 */
class ShapeTest {

    private static final QueueMessageCodec CODEC = new QueueMessageCodec();
    private static final Shape.Outlets OUTLETS = ShapeStores.OUTLETS;

    @TempDir
    private Path directory;

    private final PolicyRegistry policies = new PolicyRegistry();
    private final QueueRegistry live = new QueueRegistry();
    private ShapeStores stores;
    private MockProcessorContext<byte[], Object> context;
    private Shape shape;
    private final Set<QueueMessage.Marker> delivered = new HashSet<>();
    private long nowMs = 1_000_000; // the broker's clock
    private long aheadMs; // how far the instance's clock is ahead of it
    private long offset;

    @BeforeEach
    void openStores() {
        policies.put(rules(1, 100));
        stores = ShapeStores.onDisk(directory, 0);
        start();
    }

    @AfterEach
    void closeStores() {
        stores.close();
    }

    private static QueueRules rules(long version, long limit) {
        return QueueRules.builder("q", limit, 1_000)
                .version(version)
                .capacity(1_000)
                .lookAheadMs(0)
                .build();
    }

    /** Starts a new processor on the existing stores. */
    private void start() {
        context = stores.context();
        tellTime();
        shape = new Shape(
                policies,
                live,
                new EnforcerMetrics(),
                WeirConfig.DEFAULTS,
                ShapeStores.NAMES,
                OUTLETS,
                new ReplyPartitions(1));
        shape.init(context);
    }

    private void admit(RequestKind kind, String id, String client) {
        Request request = Request.builder(id, client).kind(kind).source(0, 0).build();
        byte[] trace = "t".getBytes(StandardCharsets.UTF_8);
        Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null)
                .withHeadersAndContext(List.of(new Admission.Header("trace", trace)), DecisionContext.UNKNOWN);
        raw(new AdmissionAvro().encode(QueueRules.withKey(admission, policies.queue("q"))));
    }

    private void raw(byte[] value) {
        append("q".getBytes(StandardCharsets.UTF_8), value);
    }

    private void append(byte[] key, byte[] value) {
        append(key, value, nowMs);
    }

    /** Delivers a record now that was appended earlier. */
    private void append(byte[] key, byte[] value, long appendMs) {
        context.setRecordMetadata("weir.admissions.weir", 0, offset++);
        shape.process(new Record<>(key, value, appendMs));
    }

    private void tellTime() {
        context.setCurrentSystemTimeMs(nowMs + aheadMs);
    }

    /** Delivers the markers that the task has sent to itself. */
    private void deliverMarkers() {
        for (CapturedForward<? extends byte[], ?> forward : context.forwarded(OUTLETS.messages())) {
            QueueMessage.Marker marker = (QueueMessage.Marker) forward.record().value();
            if (delivered.add(marker)) {
                append(null, CODEC.encode(marker));
            }
        }
    }

    /** Advances the time and runs scheduled punctuations when they are due. */
    private void pass(long ms) {
        long untilMs = nowMs + ms;
        deliverMarkers();
        for (CapturedPunctuator next = next(); next != null && nowMs < untilMs; next = next()) {
            nowMs = Math.min(untilMs, nowMs + next.getInterval().toMillis());
            tellTime();
            next.getPunctuator().punctuate(nowMs + aheadMs);
            deliverMarkers();
        }
        nowMs = untilMs;
        tellTime();
    }

    private CapturedPunctuator next() {
        return context.scheduledPunctuators().stream()
                .filter(punctuator -> !punctuator.cancelled())
                .findFirst()
                .orElse(null);
    }

    private <T> List<T> taken(String node, Class<T> type) {
        List<T> taken = context.forwarded(node).stream()
                .map(forward -> type.cast(forward.record().value()))
                .toList();
        if (node.equals(OUTLETS.releases())) {
            context.resetForwards();
        }
        return taken;
    }

    @Test
    void an_idle_queue_schedules_nothing() {
        assertThat(next()).isNull();
        admit(RequestKind.CONSUME, "a", "c");
        assertThat(next()).isNotNull();
        pass(100);
        assertThat(taken(OUTLETS.releases(), Release.class)).hasSize(1);
        assertThat(next()).isNull();
    }

    @Test
    void answers_and_releases_are_keyed_by_client_and_carry_the_requests_headers() {
        admit(RequestKind.CONSUME, "a", "c");
        pass(20);
        List<CapturedForward<? extends byte[], ?>> forwards = new ArrayList<>(context.forwarded(OUTLETS.decisions()));
        forwards.addAll(context.forwarded(OUTLETS.releases()));
        for (CapturedForward<? extends byte[], ?> forward : forwards) {
            assertThat(forward.record().key()).isEqualTo("c".getBytes(StandardCharsets.UTF_8));
            assertThat(forward.record().headers().lastHeader("trace").value()).containsExactly('t');
        }
        assertThat(forwards).hasSize(2);
    }

    @Test
    void after_a_crash_waiting_requests_are_released_once_at_the_same_pace_and_order() {
        for (int i = 0; i < 10; i++) {
            admit(RequestKind.CONSUME, "r" + i, i < 5 ? "a" : "b");
        }
        admit(RequestKind.CANCEL, "r2", "a");
        pass(25);
        List<Release> before = taken(OUTLETS.releases(), Release.class);
        start();
        pass(1_000);
        List<Release> after = taken(OUTLETS.releases(), Release.class);
        List<Release> all = new ArrayList<>(before);
        all.addAll(after);
        assertThat(before).hasSizeBetween(2, 4);
        assertThat(all).extracting(Release::sequence).containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
        assertThat(all)
                .extracting(Release::requestId)
                .containsExactlyInAnyOrder("r0", "r1", "r3", "r4", "r5", "r6", "r7", "r8", "r9");
        for (int i = 1; i < all.size(); i++) {
            assertThat(all.get(i).releaseAtNanos() - all.get(i - 1).releaseAtNanos())
                    .isGreaterThanOrEqualTo(10_000_000);
        }
        for (String client : List.of("a", "b")) {
            assertThat(all)
                    .filteredOn(release -> release.client().equals(client))
                    .extracting(Release::requestId)
                    .isSorted();
        }
        for (String name :
                List.of(ShapeStores.NAMES.entries(), ShapeStores.NAMES.tickets(), ShapeStores.NAMES.expiryTimers())) {
            try (var left = stores.get(name).all()) {
                assertThat(left.hasNext()).isFalse();
            }
        }
    }

    @Test
    void a_queue_with_another_key_drains_by_its_old_rules_across_a_crash() {
        for (int i = 0; i < 30; i++) {
            admit(RequestKind.CONSUME, "r" + i, "c");
        }
        policies.put(QueueRules.builder("q", 1_000_000, 1_000)
                .version(2)
                .burst(1_000)
                .capacity(1_000)
                .maxWaitMs(1_000)
                .lookAheadMs(0)
                .key(List.of("client"))
                .build());
        List<Release> all = new ArrayList<>(releasesWithin(100));
        assertThat(all).hasSizeBetween(5, 15);
        start();
        admit(RequestKind.CONSUME, "too early", "c");
        assertThat(taken(OUTLETS.decisions(), Decision.class))
                .extracting(Decision::reason)
                .containsExactly(Reason.NO_QUEUE);
        all.addAll(releasesWithin(500));
        assertThat(all).hasSize(30);
        assertPace(all);
        start();
        admit(RequestKind.CONSUME, "new", "c");
        assertThat(taken(OUTLETS.decisions(), Decision.class))
                .extracting(Decision::reason)
                .containsExactly(Reason.SHAPED);
        assertThat(releasesWithin(100)).extracting(Release::key).containsExactly(Map.of("client", "c"));
    }

    @Test
    void arrival_order_is_kept_after_a_restart() {
        for (String client : List.of("c", "b", "a")) {
            admit(RequestKind.CONSUME, "r", client);
        }
        start();
        pass(1_000);
        assertThat(taken(OUTLETS.releases(), Release.class))
                .extracting(Release::client)
                .containsExactly("c", "b", "a");
    }

    private List<Release> releasesWithin(long ms) {
        pass(ms);
        return taken(OUTLETS.releases(), Release.class);
    }

    private static void assertPace(List<Release> releases) {
        for (int i = 1; i < releases.size(); i++) {
            assertThat(releases.get(i).releaseAtNanos() - releases.get(i - 1).releaseAtNanos())
                    .isGreaterThanOrEqualTo(10_000_000);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-3_600_000, -2_000, -250, 250, 2_000, 3_600_000})
    void a_takeover_by_an_instance_with_another_clock_neither_stalls_nor_accelerates_a_queue(long skewMs) {
        for (int i = 0; i < 150; i++) {
            admit(RequestKind.CONSUME, "r" + i, "c");
        }
        List<Release> all = new ArrayList<>(releasesWithin(500));
        aheadMs = skewMs;
        start();
        List<Release> after = releasesWithin(500);
        assertThat(after).hasSizeBetween(45, 50);
        all.addAll(after);
        aheadMs = -skewMs;
        start();
        all.addAll(releasesWithin(600));
        assertThat(all).hasSize(150);
        assertPace(all);
        assertThat(all.get(149).releaseAtNanos()).isLessThanOrEqualTo(nowMs * 1_000_000);
    }

    @Test
    void without_its_marker_a_task_releases_nothing_and_sends_another() {
        admit(RequestKind.CONSUME, "a", "c");
        start();
        for (int i = 0; i < 30; i++) {
            nowMs += 100;
            tellTime();
            next().getPunctuator().punctuate(nowMs);
        }
        assertThat(context.forwarded(OUTLETS.releases())).isEmpty();
        assertThat(context.forwarded(OUTLETS.messages())).hasSize(3);
        assertThat(releasesWithin(100)).hasSize(1);
    }

    @Test
    void the_marker_of_another_task_does_not_start_releases() {
        admit(RequestKind.CONSUME, "a", "c");
        CapturedForward<? extends byte[], ?> sent =
                context.forwarded(OUTLETS.messages()).get(0);
        aheadMs = 5_000;
        start();
        append(null, CODEC.encode((QueueMessage.Marker) sent.record().value()));
        next().getPunctuator().punctuate(nowMs);
        assertThat(context.forwarded(OUTLETS.releases())).isEmpty();
        assertThat(releasesWithin(100)).hasSize(1);
    }

    /** The broker's clock was an hour ahead for a second. */
    @Test
    void a_queue_ahead_of_the_brokers_time_continues_at_its_rate() {
        policies.put(QueueRules.builder("q", 100, 1_000)
                .capacity(1_000)
                .maxWaitMs(1_000)
                .lookAheadMs(0)
                .build());
        nowMs += 3_600_000;
        tellTime();
        for (int i = 0; i < 5; i++) {
            admit(RequestKind.CONSUME, "r" + i, "c");
        }
        assertThat(releasesWithin(1_000)).hasSize(5);
        nowMs -= 3_600_000;
        aheadMs = 3_600_000;
        admit(RequestKind.CONSUME, "first", "c"); // before a marker reveals the step
        pass(2_000);
        taken(OUTLETS.releases(), Release.class);
        for (int i = 0; i < 10; i++) {
            admit(RequestKind.CONSUME, "s" + i, "c");
        }
        assertThat(taken(OUTLETS.decisions(), Decision.class))
                .filteredOn(decision -> decision.requestId().startsWith("s"))
                .extracting(Decision::outcome)
                .containsOnly(Outcome.QUEUED);
        List<Release> releases = releasesWithin(1_000);
        assertThat(releases).hasSize(10);
        assertPace(releases);
    }

    @Test
    void no_queue_continues_if_a_scan_of_the_states_ends_early() {
        admit(RequestKind.CONSUME, "r", "c");
        KeyValueStore<Bytes, byte[]> whole = stores.get(ShapeStores.NAMES.states());
        stores.replace(cutOff(whole));
        assertThatThrownBy(this::start).isInstanceOf(DamagedStoreException.class);
        stores.replace(whole);
        start();
    }

    /** Returns a view of a store whose scans omit the last entry. */
    @SuppressWarnings("unchecked")
    private static KeyValueStore<Bytes, byte[]> cutOff(KeyValueStore<Bytes, byte[]> store) {
        return (KeyValueStore<Bytes, byte[]>) Proxy.newProxyInstance(
                ShapeTest.class.getClassLoader(), new Class<?>[] {KeyValueStore.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("all")) {
                        return method.invoke(store, arguments);
                    }
                    KeyValueIterator<Bytes, byte[]> all = store.all();
                    Bytes last = last(store).key;
                    return Proxy.newProxyInstance(
                            ShapeTest.class.getClassLoader(),
                            new Class<?>[] {KeyValueIterator.class},
                            (walk, step, nothing) -> step.getName().equals("hasNext")
                                    ? all.hasNext() && !all.peekNextKey().equals(last)
                                    : step.invoke(all, nothing));
                });
    }

    /** Scans omit entries in damaged blocks. */
    @Test
    void no_queue_continues_without_a_request_that_its_stores_have_lost() {
        for (int i = 0; i < 10; i++) {
            admit(RequestKind.CONSUME, "r" + i, "c" + i % 3);
        }
        admit(RequestKind.CONSUME, "r0", "c0"); // same client and id: the ticket refers to the newer request
        start();
        for (String name : List.of(ShapeStores.NAMES.entries(), ShapeStores.NAMES.tickets())) {
            KeyValueStore<Bytes, byte[]> store = stores.get(name);
            KeyValue<Bytes, byte[]> lost = last(store);
            store.delete(lost.key);
            assertThatThrownBy(this::start).isInstanceOf(DamagedStoreException.class);
            store.put(lost.key, lost.value);
            start();
        }
    }

    private static KeyValue<Bytes, byte[]> last(KeyValueStore<Bytes, byte[]> store) {
        try (KeyValueIterator<Bytes, byte[]> all = store.reverseAll()) {
            return all.next();
        }
    }

    @Test
    void changed_rules_are_applied_while_requests_wait_and_none_arrive() {
        policies.put(QueueRules.builder("q", 1, 3_600_000)
                .version(2)
                .capacity(1_000)
                .lookAheadMs(0)
                .build());
        admit(RequestKind.CONSUME, "a", "c");
        admit(RequestKind.CONSUME, "b", "c");
        pass(1_000);
        assertThat(taken(OUTLETS.releases(), Release.class)).hasSize(1);
        policies.put(rules(3, 100));
        pass(600);
        assertThat(taken(OUTLETS.releases(), Release.class)).hasSize(1);
    }

    @Test
    void a_task_that_failed_in_a_tick_continues_after_its_revival() {
        admit(RequestKind.CONSUME, "a", "c");
        admit(RequestKind.CONSUME, "b", "c");
        deliverMarkers();
        CapturedPunctuator failed = next();
        stores.get(ShapeStores.NAMES.states()).close(); // the tick cannot save the queue's state
        nowMs += 10;
        tellTime();
        assertThatThrownBy(() -> failed.getPunctuator().punctuate(nowMs)).isInstanceOf(RuntimeException.class);
        stores.reopen(ShapeStores.NAMES.states(), context);
        shape.init(context); // Kafka Streams initializes the same object again
        assertThat(next()).isNotNull().isNotSameAs(failed);
    }

    /** The time of a task that takes over starts at the last release, not at the last answer. */
    @Test
    void an_attempt_ends_once_if_another_task_reads_an_answer_that_lags() {
        QueueRules slots = QueueRules.builder("q", InFlightRules.of(1))
                .version(2)
                .capacity(10)
                .lookAheadMs(0)
                .build();
        policies.put(slots);
        admit(RequestKind.CONSUME, "a", "c");
        Request job = Request.builder("a", "c").source(0, 0).build();
        pass(20);
        List<Decision> decisions = new ArrayList<>(taken(OUTLETS.decisions(), Decision.class));
        Release release = taken(OUTLETS.releases(), Release.class).get(0);
        Request extend = answer(release, RequestKind.EXTEND, null, 1);
        Request done = answer(release, RequestKind.COMPLETE, Result.DONE, 2);

        long appendedMs = nowMs;
        pass(2_000);
        report(extend, appendedMs);
        decisions.addAll(taken(OUTLETS.decisions(), Decision.class));
        start();
        report(done, appendedMs);
        decisions.addAll(taken(OUTLETS.decisions(), Decision.class));

        assertThat(decisions)
                .extracting(Decision::reason)
                .containsExactly(Reason.SHAPED, Reason.EXTENDED, Reason.COMPLETED);
        assertThat(decisions)
                .extracting(Decision::decidedAtMs)
                .containsExactly(1_000_000L, appendedMs + 2_000, appendedMs);
        assertThat(new QueueAudit(List.of(job, extend, done), decisions, List.of(release)).faults(List.of(slots)))
                .isEmpty();
    }

    private static Request answer(Release release, RequestKind kind, Result result, long offset) {
        return Request.builder(release.requestId(), release.client())
                .kind(kind)
                .acknowledgement(new Acknowledgement(release.attempt().receipt(), result, null, null))
                .source(0, offset)
                .build();
    }

    private void report(Request answer, long appendMs) {
        byte[] key = "q".getBytes(StandardCharsets.UTF_8);
        append(key, new AdmissionAvro().encode(Admission.acknowledgement(answer)), appendMs);
    }

    private QueueView view() {
        return live.query(0, Duration.ofMinutes(1), (queues, nowNanos) -> queues.view("q", nowNanos))
                .orElseThrow();
    }

    @Test
    void its_queues_can_be_queried_while_it_works() {
        assertThat(view().waiting()).isZero();
        for (int i = 0; i < 5; i++) {
            admit(RequestKind.CONSUME, "r" + i, "c");
        }
        assertThat(view().waiting()).isEqualTo(5);
        pass(25);
        long released = taken(OUTLETS.releases(), Release.class).size();
        assertThat(((QueueView.OneBucket) view().buckets()).released())
                .isEqualTo(released)
                .isPositive();
        assertThat(view().waiting()).isEqualTo(5 - released);
        assertThat(live.query(1, Duration.ZERO, (queues, nowNanos) -> "another partition"))
                .isEmpty();
    }

    @Test
    void a_closed_task_answers_no_queries_and_closes_no_other_task() {
        admit(RequestKind.CONSUME, "a", "c");
        Shape before = shape;
        start();
        before.close();
        assertThat(view().waiting()).isEqualTo(1);
        shape.close();
        assertThat(live.query(0, Duration.ofMinutes(1), (queues, nowNanos) -> "here"))
                .isEmpty();
    }

    @Test
    void a_query_is_answered_between_two_records_of_a_busy_task() throws Exception {
        AtomicInteger answers = new AtomicInteger();
        Thread asking = new Thread(() -> {
            for (int i = 0; i < 100; i++) {
                view();
                answers.incrementAndGet();
            }
        });
        asking.start();
        for (int i = 0; asking.isAlive(); i++) {
            admit(i % 2 == 0 ? RequestKind.CONSUME : RequestKind.CANCEL, "r" + i / 2, "c");
            context.resetForwards();
        }
        asking.join();
        assertThat(answers).hasValue(100);
    }

    private void command(QueueCommand.Action action, Map<String, String> key) {
        QueueCommand.Origin origin = new QueueCommand.Origin(Optional.of("ann"), "because", 0);
        append(null, CODEC.encode(new QueueMessage.Commanded(QueueCommand.of("q", key, action, origin))));
    }

    @Test
    void a_paused_queue_stays_paused_after_a_crash_until_it_is_resumed() {
        admit(RequestKind.CONSUME, "a", "c");
        command(QueueCommand.Action.PAUSE, Map.of());
        admit(RequestKind.CONSUME, "b", "c");
        pass(5_000);
        assertThat(context.forwarded(OUTLETS.releases())).isEmpty();
        start();
        pass(5_000);
        assertThat(context.forwarded(OUTLETS.releases())).isEmpty();
        command(QueueCommand.Action.RESUME, Map.of());
        pass(1_000);
        assertThat(taken(OUTLETS.releases(), Release.class))
                .extracting(Release::requestId)
                .containsExactly("a", "b");
    }

    @Test
    void a_purge_continues_after_a_crash_and_ends_only_what_waited() {
        command(QueueCommand.Action.PAUSE, Map.of());
        for (int i = 0; i < 900; i++) {
            admit(RequestKind.CONSUME, "old" + i, "c");
        }
        command(QueueCommand.Action.PURGE, Map.of());
        admit(RequestKind.CONSUME, "new", "c");
        assertThat(purged()).as("it is done in steps").isLessThan(900);
        long before = purged();
        start();
        command(QueueCommand.Action.RESUME, Map.of());
        pass(5_000);
        assertThat(before + purged()).isEqualTo(900);
        assertThat(taken(OUTLETS.releases(), Release.class))
                .extracting(Release::requestId)
                .containsExactly("new");
    }

    private long purged() {
        return context.forwarded(OUTLETS.decisions()).stream()
                .filter(forward -> ((Decision) forward.record().value()).reason() == Reason.PURGED)
                .count();
    }

    @Test
    void a_draining_queue_denies_until_it_is_resumed_whatever_restarts() {
        command(QueueCommand.Action.DRAIN, Map.of());
        start();
        admit(RequestKind.CONSUME, "a", "c");
        command(QueueCommand.Action.RESUME, Map.of());
        admit(RequestKind.CONSUME, "b", "c");
        assertThat(taken(OUTLETS.decisions(), Decision.class))
                .extracting(Decision::reason)
                .containsExactly(Reason.QUEUE_DRAINING, Reason.SHAPED);
    }

    @Test
    void a_forged_command_is_a_dead_letter_or_has_no_effect_on_other_queues() {
        raw(new byte[] {3, 1, 'q', 0, 9});
        assertThat(context.forwarded(OUTLETS.deadLetters())).hasSize(1);
        command(QueueCommand.Action.PAUSE, Map.of("no-field", "x"));
        admit(RequestKind.CONSUME, "a", "c");
        pass(2_000);
        assertThat(taken(OUTLETS.releases(), Release.class)).hasSize(1);
    }

    @Test
    void an_invalid_admission_is_a_dead_letter() {
        raw(new byte[] {1, 2, 3});
        raw(null);
        assertThat(context.forwarded(OUTLETS.deadLetters())).hasSize(2);
        admit(RequestKind.CONSUME, "a", "c");
        List<Decision> decisions = taken(OUTLETS.decisions(), Decision.class);
        assertThat(decisions).extracting(Decision::outcome).containsExactly(Outcome.QUEUED);
        assertThat(decisions).extracting(Decision::reason).containsExactly(Reason.SHAPED);
    }
}
