package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class HeldReleasesTest {

    private static final TopicPartition P0 = new TopicPartition("releases", 0);
    private static final TopicPartition P1 = new TopicPartition("releases", 1);

    private final HeldReleases held = new HeldReleases();

    @Test
    void the_committable_offset_stops_at_the_first_held_release() {
        add(P0, 5, 30);
        add(P0, 6, 10);
        add(P0, 7, 20);
        held.received(P0, 8);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, 5L));
        assertThat(leave()).isEqualTo(6);
        assertThat(leave()).isEqualTo(7);
        assertThat(held.takeChangedOffsets()).isEmpty();
        assertThat(leave()).isEqualTo(5);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, 8L));
        assertThat(held.takeChangedOffsets()).isEmpty();
    }

    @Test
    void offsets_without_records_are_committed_with_those_before_them() {
        held.received(P0, 4);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, 4L));
    }

    @Test
    void releases_of_the_same_time_are_ordered_by_sequence() {
        held.add(new HeldReleases.Held(P0, 0, release(2, 10), null, null));
        held.add(new HeldReleases.Held(P1, 9, release(1, 10), null, null));
        assertThat(leave()).isEqualTo(9);
        assertThat(leave()).isEqualTo(0);
    }

    @Test
    void dropping_a_partition_removes_all_its_releases() {
        add(P0, 5, 10);
        add(P1, 5, 20);
        held.drop(List.of(P0));
        assertThat(held.partitions()).containsExactly(P1);
        assertThat(held.first().partition()).isEqualTo(P1);
        assertThat(held.takeChangedOffsets()).containsOnlyKeys(P1);
    }

    private void add(TopicPartition partition, long offset, long releaseAtNanos) {
        held.add(new HeldReleases.Held(partition, offset, release(offset, releaseAtNanos), null, null));
    }

    private long leave() {
        long offset = held.first().offset();
        held.removeFirst();
        return offset;
    }

    private static Release release(long sequence, long releaseAtNanos) {
        return Release.builder("r", "c", "q")
                .sequence(sequence)
                .releaseAtNanos(releaseAtNanos)
                .build();
    }
}
