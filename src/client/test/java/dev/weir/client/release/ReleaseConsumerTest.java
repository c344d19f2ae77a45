package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Release;
import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidGroupIdException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReleaseConsumerTest {

    private static final TopicPartition P0 = new TopicPartition("releases", 0);
    private static final TopicPartition P1 = new TopicPartition("releases", 1);
    private static final int MAX_HELD = 8;
    private static final long MS = 1_000_000;

    private final ReleaseCodec avro = new ReleaseCodec();
    private final Group group = new Group();
    private final Map<TopicPartition, Long> ends = new HashMap<>();
    private long nowNanos;
    private final BrokerClock clock = new BrokerClock(() -> nowNanos);
    private ReleaseConsumer releases;

    /** A group with one member, whose commits can be rejected because of a rebalance. */
    private static final class Group extends MockConsumer<byte[], byte[]> {
        private final Map<TopicPartition, Long> committed = new HashMap<>();
        private ConsumerRebalanceListener listener;
        private boolean dividing;

        Group() {
            super("earliest");
        }

        @Override
        public void subscribe(Collection<String> topics, ConsumerRebalanceListener rebalanceListener) {
            listener = rebalanceListener;
            super.subscribe(topics, rebalanceListener);
        }

        @Override
        public synchronized void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
            if (dividing) {
                throw new RebalanceInProgressException();
            }
            offsets.forEach((partition, offset) -> committed.put(partition, offset.offset()));
        }
    }

    @BeforeEach
    void join() {
        releases = new ReleaseConsumer(new ReleaseCodec(), () -> group, "releases", clock, MAX_HELD, LateReleases.PACE);
        clock.read(0);
        group.updateBeginningOffsets(Map.of(P0, 0L, P1, 0L));
        group.rebalance(List.of(P0, P1));
    }

    @AfterEach
    void close() {
        releases.close();
    }

    @Test
    void a_release_waits_to_the_nanosecond() {
        write(P0, "a", 1_000);
        nowNanos = 999;
        assertThat(next()).isEmpty();
        nowNanos = 1_000;
        assertThat(next()).contains("a");
        assertThat(next()).isEmpty();
    }

    @Test
    void the_partitions_are_merged_by_the_time_of_release() {
        write(P0, "b", 20);
        write(P0, "d", 40);
        write(P1, "c", 30);
        write(P1, "a", 10);
        nowNanos = 30;
        assertThat(drain()).containsExactly("a", "b", "c");
        nowNanos = 50;
        write(P1, "late", 5);
        assertThat(drain()).containsExactly("late", "d");
    }

    @Test
    void late_releases_are_returned_at_the_pace_of_their_queue_and_not_committed_before() {
        for (int i = 1; i <= 3; i++) {
            writePaced(P0, "a" + i, 0, 200 * MS);
        }
        write(P1, "b", 0);
        nowNanos = 12_000 * MS;
        assertThat(drain()).containsExactlyInAnyOrder("a1", "b");
        releases.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L, P1, 1L));
        nowNanos += 199 * MS;
        assertThat(next()).isEmpty();
        nowNanos += MS;
        assertThat(drain()).containsExactly("a2");
        nowNanos += 200 * MS;
        assertThat(drain()).containsExactly("a3");
        releases.commit();
        assertThat(group.committed).containsEntry(P0, 3L);
    }

    @Test
    void late_releases_of_a_revoked_partition_are_forgotten() {
        writePaced(P0, "a1", 0, 200 * MS);
        writePaced(P0, "a2", 0, 200 * MS);
        writePaced(P1, "b1", 0, 200 * MS);
        nowNanos = 12_000 * MS;
        assertThat(drain()).containsExactly("a1");
        group.rebalance(List.of(P1));
        assertThat(next()).isEmpty();
        nowNanos += 200 * MS;
        assertThat(drain()).containsExactly("b1");
        nowNanos += 1_000 * MS;
        assertThat(drain()).isEmpty();
        releases.commit();
        assertThat(group.committed).isEqualTo(Map.of(P1, 1L));
    }

    @Test
    void late_releases_count_as_held_so_that_their_partition_is_paused() {
        for (int i = 0; i <= MAX_HELD; i++) {
            writePaced(P0, "a" + i, 0, 200 * MS);
        }
        nowNanos = 12_000 * MS;
        assertThat(drain()).containsExactly("a0");
        assertThat(group.paused()).containsExactly(P0);
        for (int i = 1; i <= MAX_HELD; i++) {
            nowNanos += 200 * MS;
            assertThat(drain()).containsExactly("a" + i);
        }
        assertThat(group.paused()).isEmpty();
    }

    @Test
    void poll_returns_after_the_timeout() {
        write(P0, "a", Long.MAX_VALUE);
        long startNanos = System.nanoTime();
        assertThat(releases.next(Duration.ofMillis(3))).isEmpty();
        assertThat(System.nanoTime() - startNanos)
                .isGreaterThanOrEqualTo(Duration.ofMillis(3).toNanos());
    }

    @Test
    void an_infinite_timeout_waits_until_the_release_is_due() {
        write(P0, "a", 1_000_000_000_000L);
        group.schedulePollTask(() -> {});
        group.schedulePollTask(() -> nowNanos = 999_000_000_000L);
        group.schedulePollTask(() -> nowNanos = 1_000_000_000_000L);
        assertThat(releases.next(Duration.ofSeconds(Long.MAX_VALUE)).map(Release::requestId))
                .contains("a");
    }

    @Test
    void a_clock_that_is_set_back_ends_no_poll() {
        write(P0, "a", 10);
        nowNanos = 10;
        group.wakeup(); // as after a step of the clock
        assertThat(next()).contains("a");
    }

    @Test
    void a_commit_stops_before_the_first_release_that_was_not_returned() {
        write(P0, "b", 20);
        write(P0, "a", 10);
        write(P1, "c", 30);
        nowNanos = 10;
        assertThat(drain()).containsExactly("a");
        releases.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 0L, P1, 0L));
        nowNanos = 20;
        assertThat(drain()).containsExactly("b");
        assertThat(group.committed).containsEntry(P0, 0L);
        releases.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 2L, P1, 0L));
    }

    @Test
    void releases_of_a_revoked_partition_are_neither_returned_nor_committed() {
        write(P0, "a", 10);
        write(P0, "b", 20);
        write(P1, "c", 30);
        nowNanos = 10;
        assertThat(drain()).containsExactly("a");
        group.rebalance(List.of(P1));
        nowNanos = 30;
        assertThat(drain()).containsExactly("c");
        releases.commit();
        assertThat(group.committed).isEqualTo(Map.of(P1, 1L));
    }

    @Test
    void a_commit_during_a_rebalance_is_repeated_at_revocation() {
        write(P0, "a", 10);
        write(P0, "b", 10);
        nowNanos = 10;
        assertThat(next()).contains("a");
        group.dividing = true;
        releases.commit();
        group.dividing = false;
        assertThat(next()).contains("b"); // returned, but not committed
        group.rebalance(List.of(P1));
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L));
    }

    @Test
    void nothing_is_committed_for_a_lost_partition() {
        write(P0, "a", 10);
        write(P1, "b", 10);
        nowNanos = 10;
        assertThat(drain()).containsExactlyInAnyOrder("a", "b");
        group.dividing = true;
        releases.commit();
        group.dividing = false;
        group.listener.onPartitionsLost(List.of(P0));
        releases.commit();
        assertThat(group.committed).isEqualTo(Map.of(P1, 1L));
    }

    @Test
    void a_full_partition_is_paused_until_half_of_it_is_returned() {
        for (int i = 1; i <= MAX_HELD / 2; i++) {
            write(P0, "a" + i, i);
        }
        write(P1, "b", 100);
        assertThat(next()).isEmpty();
        assertThat(next()).isEmpty();
        assertThat(group.paused()).containsExactly(P0);
        nowNanos = 1;
        assertThat(drain()).containsExactly("a1");
        assertThat(group.paused()).containsExactly(P0);
        nowNanos = 2;
        assertThat(drain()).containsExactly("a2");
        assertThat(group.paused()).isEmpty();
    }

    @Test
    void an_invalid_record_is_reported_at_each_poll() {
        write(P0, "a", 10);
        nowNanos = 10;
        assertThat(next()).contains("a");
        append(P0, new byte[] {1, 2, 3});
        write(P0, "b", 10);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(this::next)
                    .isInstanceOf(SerializationException.class)
                    .hasMessageStartingWith("topic releases, partition 0, offset 1: not a release: ");
        }
        releases.commit();
        assertThat(group.committed).containsEntry(P0, 1L);
    }

    @Test
    void a_record_without_a_value_is_no_release() {
        append(P1, null);
        assertThatThrownBy(this::next)
                .isInstanceOf(SerializationException.class)
                .hasMessage("topic releases, partition 1, offset 0: not a release: the record has no value");
    }

    @Test
    void closing_leaves_the_group() {
        releases.close();
        assertThat(group.closed()).isTrue();
    }

    @Test
    void user_properties_apply_except_auto_commit() {
        Properties properties = new Properties();
        properties.put("isolation.level", "read_uncommitted");
        properties.put("enable.auto.commit", "true");
        properties.put("group.id", "workers");
        assertThat(ReleaseConsumer.settings(properties))
                .containsEntry("isolation.level", "read_uncommitted")
                .containsEntry("auto.offset.reset", "earliest")
                .containsEntry("enable.auto.commit", false)
                .containsEntry("group.id", "workers");
        assertThat(ReleaseConsumer.settings(Map.of())).containsEntry("isolation.level", "read_committed");
    }

    @Test
    void it_starts_without_dns_and_connects_once_a_host_name_is_resolved() {
        Map<String, Object> kafka =
                ReleaseConsumer.settings(Map.of("bootstrap.servers", "no-such-host.invalid:9092", "group.id", "g"));
        AtomicBoolean isResolved = new AtomicBoolean();
        Group late = new Group();
        try (ReleaseConsumer waiting = new ReleaseConsumer(
                avro,
                () -> isResolved.get()
                        ? late
                        : new KafkaConsumer<>(kafka, new ByteArrayDeserializer(), new ByteArrayDeserializer()),
                "releases",
                clock,
                MAX_HELD,
                LateReleases.PACE)) {
            assertThat(waiting.next(Duration.ofMillis(1))).isEmpty();
            assertThat(waiting.failure()).hasValueSatisfying(failure -> assertThat(failure)
                    .hasRootCauseMessage("No resolvable bootstrap urls given in bootstrap.servers"));
            waiting.commit();
            isResolved.set(true);
            assertThat(waiting.next(Duration.ofSeconds(3))).isEmpty();
            assertThat(waiting.failure()).isEmpty();
            assertThat(late.subscription()).containsExactly("releases");
        }
        assertThat(late.closed()).isTrue();
        try (ReleaseConsumer waiting = new ReleaseConsumer(kafka)) {
            assertThat(waiting.failure()).isPresent();
        }
    }

    @Test
    void a_group_must_be_named() {
        assertThatThrownBy(() -> new ReleaseConsumer(Map.of("bootstrap.servers", "localhost:1")))
                .isInstanceOf(InvalidGroupIdException.class);
    }

    private Optional<String> next() {
        return releases.next(Duration.ZERO).map(Release::requestId);
    }

    /** Returns all releases that are due. */
    private List<String> drain() {
        List<String> all = new ArrayList<>();
        for (Optional<String> one = next(); one.isPresent(); one = next()) {
            all.add(one.get());
        }
        return all;
    }

    private void write(TopicPartition partition, String requestId, long releaseAtNanos) {
        append(
                partition,
                avro.encode(Release.builder(requestId, "c", "q")
                        .releaseAtNanos(releaseAtNanos)
                        .build()));
    }

    private void writePaced(TopicPartition partition, String requestId, long releaseAtNanos, long paceNanos) {
        append(
                partition,
                avro.encode(Release.builder(requestId, "c", "q")
                        .releaseAtNanos(releaseAtNanos)
                        .sequence(ends.getOrDefault(partition, 0L) + 1)
                        .pace(new Release.Pace(paceNanos, 0))
                        .build()));
    }

    private void append(TopicPartition partition, byte[] value) {
        long offset = ends.merge(partition, 1L, Long::sum) - 1;
        group.addRecord(new ConsumerRecord<>(partition.topic(), partition.partition(), offset, new byte[0], value));
    }
}
