package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class HeldReleasesTest {

    private static final TopicPartition P0 = new TopicPartition("releases", 0);
    private static final TopicPartition P1 = new TopicPartition("releases", 1);

    private final HeldReleases held = new HeldReleases(LateReleases.PACE);

    @Test
    void the_committable_offset_stops_at_the_first_held_release() {
        add(P0, 5, 30);
        add(P0, 6, 10);
        add(P0, 7, 20);
        held.received(P0, 8);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, new OffsetAndMetadata(5)));
        assertThat(leave()).isEqualTo(6);
        assertThat(leave()).isEqualTo(7);
        assertThat(held.takeChangedOffsets()).isEmpty();
        assertThat(leave()).isEqualTo(5);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, new OffsetAndMetadata(8)));
        assertThat(held.takeChangedOffsets()).isEmpty();
    }

    @Test
    void attempts_that_are_done_are_committed_although_an_earlier_release_is_not_due() {
        add(P0, 5, 30);
        addAttempt(6, 10);
        add(P0, 7, 20);
        held.received(P0, 8);
        assertThat(leave()).isEqualTo(6);
        assertThat(leave()).isEqualTo(7);
        OffsetAndMetadata committed = held.takeChangedOffsets().get(P0);
        assertThat(committed.offset()).isEqualTo(5);

        held.drop(List.of(P0));
        held.restore(P0, committed); // the next owner
        add(P0, 5, 30);
        addAttempt(6, 10);
        add(P0, 7, 20);
        held.received(P0, 8);
        assertThat(held.takeChangedOffsets()).isEmpty();
        assertThat(leave()).isEqualTo(7);
        assertThat(leave()).isEqualTo(5);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, new OffsetAndMetadata(8)));
        assertThat(held.first(0)).isEmpty();
    }

    @Test
    void attempts_are_not_covered_while_their_offsets_do_not_fit_in_a_commit() {
        for (int i = 0; i < 8_000; i += 2) {
            add(P0, i, Long.MAX_VALUE);
            addAttempt(i + 1, i);
        }
        held.received(P0, 8_000);
        while (first().held().isAttempt() && held.isCommittable()) {
            leave();
        }
        assertThat(first().held().isAttempt()).isTrue();
        assertThat(held.takeChangedOffsets()).isEmpty();
    }

    @Test
    void offsets_without_records_are_committed_with_those_before_them() {
        held.received(P0, 4);
        assertThat(held.takeChangedOffsets()).isEqualTo(Map.of(P0, new OffsetAndMetadata(4)));
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
        assertThat(first().held().partition()).isEqualTo(P1);
        assertThat(held.takeChangedOffsets()).containsOnlyKeys(P1);
    }

    private void add(TopicPartition partition, long offset, long releaseAtNanos) {
        held.add(new HeldReleases.Held(partition, offset, release(offset, releaseAtNanos), null, null));
    }

    private void addAttempt(long offset, long releaseAtNanos) {
        Release release = release(offset, releaseAtNanos).toBuilder()
                .attempt(new Release.Attempt(1, "receipt" + offset, 1_000))
                .build();
        held.add(new HeldReleases.Held(P0, offset, release, null, null));
    }

    private long leave() {
        HeldReleases.Held taken = held.take(first());
        held.markDone(taken);
        return taken.offset();
    }

    private ReleaseOrder.Turn first() {
        return held.first(Long.MAX_VALUE).orElseThrow();
    }

    private static Release release(long sequence, long releaseAtNanos) {
        return Release.builder("r", "c", "q")
                .sequence(sequence)
                .releaseAtNanos(releaseAtNanos)
                .build();
    }
}
