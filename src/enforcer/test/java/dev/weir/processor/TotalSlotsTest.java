package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.storage.codec.QueueMessageCodec;
import dev.weir.testing.QueueAudit;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Predicate;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.processor.api.MockProcessorContext.CapturedForward;
import org.apache.kafka.streams.processor.api.MockProcessorContext.CapturedPunctuator;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the slots of a queue's total with the processors of three partitions, each with its stores and a clock of its own,
 * and with the messages between them. After each step, no more requests may be in flight than the total has slots.
 */
class TotalSlotsTest {

    private static final QueueMessageCodec CODEC = new QueueMessageCodec();
    private static final int PARTITIONS = 3;
    private static final int LEDGER = 0;
    private static final int STEP_MS = 5;
    private static final int ACK_TIMEOUT_MS = 20_000;

    /** Longer than a report, the loan that follows and their delivery take, several times over. */
    private static final int EXCHANGES_MS = 1_000;

    @TempDir
    private Path directory;

    private final PolicyRegistry policies = new PolicyRegistry();
    private final List<Partition> partitions = new ArrayList<>();
    private final Map<String, Release> inFlight = new LinkedHashMap<>(); // by receipt
    private final List<Release> releases = new ArrayList<>();
    private final List<Request> requests = new ArrayList<>();
    private final List<Decision> decisions = new ArrayList<>();
    private final Random random = new Random(1);
    private Predicate<QueueMessage> isLost = message -> false;
    private int mostDelayMs = 10;
    private long mostInFlight;
    private long nowMs = 1_000_000; // the broker's clock

    /** A message between partitions. */
    private record Message(long atMs, int to, QueueMessage content) {}

    private final List<Message> underWay = new ArrayList<>();

    /** The task of a partition, on stores that survive it. */
    private final class Partition {
        final int number;
        final long aheadMs; // how far its clock is ahead of the broker's
        final ShapeStores stores;
        final Map<CapturedPunctuator, Long> dueMs = new HashMap<>();
        MockProcessorContext<byte[], Object> context;
        Shape shape;
        long offset;

        Partition(int number, long aheadMs) {
            this.number = number;
            this.aheadMs = aheadMs;
            stores = ShapeStores.inMemory(directory, number);
            start();
        }

        /** Starts a new processor on the existing stores, as after a crash. */
        void start() {
            context = stores.context();
            context.setCurrentSystemTimeMs(nowMs + aheadMs);
            dueMs.clear();
            shape = new Shape(
                    policies,
                    new QueueRegistry(),
                    new EnforcerMetrics(),
                    WeirConfig.DEFAULTS,
                    ShapeStores.NAMES,
                    ShapeStores.OUTLETS,
                    new ReplyPartitions(1));
            shape.init(context);
        }

        void read(QueueMessage message) {
            context.setCurrentSystemTimeMs(nowMs + aheadMs);
            context.setRecordMetadata("weir.admissions.weir", number, offset++);
            shape.process(new Record<>(null, CODEC.encode(message), nowMs));
            takeForwards();
        }

        /** Runs the punctuation that is due. */
        void tick() {
            context.setCurrentSystemTimeMs(nowMs + aheadMs);
            for (CapturedPunctuator each : List.copyOf(context.scheduledPunctuators())) {
                long atMs = dueMs.computeIfAbsent(
                        each, scheduled -> nowMs + scheduled.getInterval().toMillis());
                if (!each.cancelled() && atMs <= nowMs) {
                    dueMs.remove(each);
                    each.getPunctuator().punctuate(nowMs + aheadMs);
                }
            }
            takeForwards();
        }

        private void takeForwards() {
            List<CapturedForward<? extends byte[], ?>> forwards = List.copyOf(context.forwarded());
            context.resetForwards();
            for (CapturedForward<? extends byte[], ?> forward : forwards) {
                Object value = forward.record().value();
                if (value instanceof QueueMessage message) {
                    send(message);
                } else if (value instanceof Release release) {
                    releases.add(release);
                    inFlight.put(release.attempt().receipt(), release);
                } else if (value instanceof Decision decision
                        && forward.childName().orElse("").equals(ShapeStores.OUTLETS.decisions())) {
                    decisions.add(decision);
                }
            }
        }

        private void send(QueueMessage message) {
            if (message instanceof QueueMessage.Marker) {
                underWay.add(new Message(nowMs, number, message));
            } else if (!isLost.test(message)) {
                int to = message instanceof QueueMessage.Granted granted
                        ? granted.grant().place().partition()
                        : LEDGER;
                underWay.add(new Message(nowMs + 1 + random.nextInt(mostDelayMs), to, message));
            }
        }
    }

    @BeforeEach
    void open() {
        for (int i = 0; i < PARTITIONS; i++) {
            partitions.add(new Partition(i, 3_600_000L * (i - 1)));
        }
    }

    @AfterEach
    void close() {
        partitions.forEach(partition -> partition.stores.close());
    }

    private void total(long version, long slots) {
        policies.put(QueueRules.builder("q", new InFlightRules(slots, ACK_TIMEOUT_MS, ACK_TIMEOUT_MS, 3, 0))
                .version(version)
                .capacity(1_000)
                .lookAheadMs(0)
                .key(List.of("k"))
                .total(QueueTotal.ofInFlight(slots, 1_000))
                .build());
        mostInFlight = Math.max(slots, slotsInFlight()); // those above a lower bound stay
    }

    /** Sends requests of a partition, each with another key. */
    private void admit(int partition, int number) {
        for (int i = 0; i < number; i++) {
            String id = "r" + requests.size();
            Request request = Request.builder(id, "c")
                    .attributes(Map.of("k", partition + "-" + id))
                    .source(0, requests.size())
                    .build();
            requests.add(request);
            partitions
                    .get(partition)
                    .read(new QueueMessage.Admitted(QueueRules.withKey(
                            Admission.of(request, "q", new PolicyVersion("p", 1), null), policies.queue("q"))));
        }
    }

    /** Ends the oldest attempt in flight. */
    private void complete() {
        complete(inFlight.values().iterator().next());
    }

    private void complete(Release release) {
        Request done = Request.builder(release.requestId(), release.client())
                .kind(RequestKind.COMPLETE)
                .acknowledgement(new Acknowledgement(release.attempt().receipt(), Result.DONE, null, null))
                .source(0, requests.size())
                .build();
        requests.add(done);
        inFlight.remove(release.attempt().receipt());
        partitions.get(partitionOf(release)).read(new QueueMessage.Admitted(Admission.acknowledgement(done)));
    }

    private static int partitionOf(Release release) {
        return release.key().get("k").charAt(0) - '0';
    }

    private void command(Action action) {
        partitions.forEach(partition -> command(partition, action, Map.of()));
    }

    private static void command(Partition partition, Action action, Map<String, String> key) {
        QueueCommand.Origin origin = new QueueCommand.Origin(Optional.empty(), "test", 0);
        partition.read(new QueueMessage.Commanded(QueueCommand.of("q", key, action, origin)));
    }

    /** Returns the slots of attempts that have neither been completed nor timed out, by the broker's clock. */
    private long slotsInFlight() {
        inFlight.values().removeIf(release -> release.releaseAtNanos() / 1_000_000 + ACK_TIMEOUT_MS <= nowMs);
        return inFlight.values().stream().mapToLong(Release::cost).sum();
    }

    private void pass(long ms) {
        for (long untilMs = nowMs + ms; nowMs < untilMs; ) {
            nowMs += STEP_MS;
            List<Message> arrived =
                    underWay.stream().filter(message -> message.atMs <= nowMs).toList();
            underWay.removeAll(arrived);
            arrived.forEach(message -> partitions.get(message.to).read(message.content));
            partitions.forEach(Partition::tick);
            assertThat(slotsInFlight()).as("slots in flight").isLessThanOrEqualTo(mostInFlight);
        }
    }

    /** Completes all requests one after the other, so that none must be left. */
    private void completeAll() {
        long waited = decisions.stream()
                .filter(each -> each.reason() == Reason.SHAPED)
                .count();
        for (int quiet = 0; quiet < 10; quiet = inFlight.isEmpty() ? quiet + 1 : 0) {
            pass(100);
            if (!inFlight.isEmpty()) {
                complete();
            }
        }
        assertThat(releases.stream().filter(release -> !release.isRetry()).count())
                .isEqualTo(waited);
    }

    private void assertAudited() {
        assertThat(new QueueAudit(requests, decisions, releases).faults(List.of(policies.queue("q"))))
                .isEmpty();
    }

    @Test
    void keys_of_all_partitions_share_the_slots() {
        total(1, 4);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            admit(partition, 10);
        }
        pass(EXCHANGES_MS);
        for (int done = 0; done < 27; done++) {
            assertThat(inFlight).hasSize(Math.min(4, 30 - done));
            complete();
            pass(EXCHANGES_MS);
        }
        completeAll();
        assertAudited();
    }

    @Test
    void fewer_slots_than_partitions_starve_none() {
        total(1, 1);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            admit(partition, 6);
        }
        for (int done = 0; done < 9; done++) {
            pass(EXCHANGES_MS);
            complete();
        }
        for (int partition = 0; partition < PARTITIONS; partition++) {
            int own = partition;
            assertThat(releases.stream().filter(release -> partitionOf(release) == own))
                    .as("partition %d", partition)
                    .hasSizeBetween(2, 4);
        }
        completeAll();
        assertAudited();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void messages_may_be_lost_and_late(int oneIn) {
        total(1, 4);
        isLost = message -> random.nextInt(oneIn) == 0;
        mostDelayMs = 700;
        for (int i = 0; i < 30; i++) {
            admit(random.nextInt(PARTITIONS), 1);
            pass(random.nextInt(200));
            if (!inFlight.isEmpty() && random.nextBoolean()) {
                complete();
            }
        }
        for (int i = 0; i < 60 && releases.size() < 30; i++) {
            pass(EXCHANGES_MS);
            List.copyOf(inFlight.values()).forEach(this::complete);
        }
        assertThat(releases).hasSize(30);
        isLost = message -> false;
        completeAll();
        assertAudited();
    }

    @Test
    void tasks_may_restart_at_any_time() {
        total(1, 4);
        for (int i = 0; i < 60; i++) {
            admit(random.nextInt(PARTITIONS), 1);
            pass(random.nextInt(100));
            if (!inFlight.isEmpty()) {
                complete();
            }
            partitions.get(random.nextInt(PARTITIONS)).start();
        }
        completeAll();
        assertAudited();
    }

    @Test
    void slots_of_a_paused_queue_stay_in_use_and_others_are_lent_after_it() {
        total(1, 2);
        admit(1, 3);
        pass(EXCHANGES_MS);
        command(Action.PAUSE);
        admit(2, 3);
        complete();
        complete();
        pass(5_000);
        assertThat(releases).hasSize(2);
        partitions.forEach(Partition::start);
        pass(5_000);
        assertThat(releases).hasSize(2);
        command(Action.RESUME);
        pass(EXCHANGES_MS);
        assertThat(releases).hasSize(4);
        completeAll();
        assertAudited();
    }

    @Test
    void a_partition_whose_only_key_is_paused_returns_its_slots() {
        total(1, 2);
        admit(1, 2);
        pass(EXCHANGES_MS);
        admit(1, 1);
        command(partitions.get(1), Action.PAUSE, Map.of("k", "1-r2"));
        complete();
        complete();
        pass(EXCHANGES_MS);
        assertThat(releases).hasSize(2);
        admit(2, 2);
        pass(EXCHANGES_MS);
        assertThat(inFlight).hasSize(2);
        command(partitions.get(1), Action.RESUME, Map.of("k", "1-r2"));
        completeAll();
        assertAudited();
    }

    @Test
    void a_purge_ends_what_waits_and_keeps_the_slots_of_what_is_in_flight() {
        total(1, 2);
        admit(1, 5);
        pass(EXCHANGES_MS);
        admit(2, 5);
        command(Action.PURGE);
        pass(EXCHANGES_MS);
        assertThat(decisions).filteredOn(each -> each.reason() == Reason.PURGED).hasSize(8);
        admit(2, 2);
        pass(EXCHANGES_MS);
        assertThat(releases).hasSize(2);
        complete();
        complete();
        pass(EXCHANGES_MS);
        assertThat(releases).hasSize(4);
        assertAuditedAfterRest();
    }

    private void assertAuditedAfterRest() {
        List.copyOf(inFlight.values()).forEach(this::complete);
        pass(EXCHANGES_MS);
        assertAudited();
    }

    @Test
    void a_draining_queue_releases_what_waits_within_its_slots() {
        total(1, 2);
        admit(1, 3);
        admit(2, 3);
        command(Action.DRAIN);
        admit(0, 1);
        assertThat(decisions.get(6).reason()).isEqualTo(Reason.QUEUE_DRAINING);
        completeAll();
        assertThat(releases).hasSize(6);
        assertAudited();
    }

    @Test
    void a_lower_bound_lends_nothing_until_enough_ended_and_a_higher_one_lends_at_once() {
        total(1, 6);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            admit(partition, 10);
        }
        pass(EXCHANGES_MS);
        assertThat(inFlight).hasSize(6);
        total(2, 2);
        pass(EXCHANGES_MS);
        for (int left = 5; left >= 2; left--) {
            complete();
            mostInFlight = left;
            pass(EXCHANGES_MS);
            assertThat(inFlight).hasSize(left);
        }
        complete();
        pass(EXCHANGES_MS);
        assertThat(inFlight).hasSize(2);
        total(3, 5);
        pass(EXCHANGES_MS);
        assertThat(inFlight).hasSize(5);
        completeAll();
    }

    /** Slots that a partition has kept since it was busy, and does not use, must not be used after the change. */
    @Test
    void a_lower_bound_holds_for_requests_that_arrive_later() {
        total(1, 6);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            admit(partition, 2);
        }
        pass(EXCHANGES_MS);
        List.copyOf(inFlight.values()).forEach(this::complete);
        pass(60_000);
        total(2, 2);
        pass(EXCHANGES_MS);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            admit(partition, 2);
        }
        pass(EXCHANGES_MS);
        assertThat(inFlight).hasSize(2);
        completeAll();
    }

    @Test
    void the_slot_of_a_worker_that_dies_is_lent_to_another_partition_after_its_timeout() {
        total(1, 1);
        admit(1, 1);
        pass(EXCHANGES_MS);
        admit(2, 1);
        pass(ACK_TIMEOUT_MS - 2 * EXCHANGES_MS);
        assertThat(releases).hasSize(1);
        pass(2 * EXCHANGES_MS);
        assertThat(releases).hasSize(2);
        assertThat(partitionOf(releases.get(1))).isEqualTo(2);
        complete();
        pass(EXCHANGES_MS);
        assertThat(releases).hasSize(3);
        assertThat(releases.get(2).attempt().number()).isEqualTo(2);
        completeAll();
        assertAudited();
    }
}
