package dev.weir.audit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.event.Request;
import org.junit.jupiter.api.Test;

class DeadLetterIndexTest {

    private final DeadLetterIndex index = new DeadLetterIndex(10);

    private void add(int partition, long offset) {
        RecordPosition place = new RecordPosition(AuditedTopic.DEAD_LETTERS, 0, offset);
        index.add(new Request.Source(partition, offset), new AuditedDeadLetter("NOT_AVRO", place, 0));
    }

    @Test
    void up_to_the_maximum_all_are_kept() {
        for (int offset = 0; offset < 10; offset++) {
            add(offset % 2, offset);
        }
        assertThat(index.omitted()).isZero();
        assertThat(index.of(0)).containsOnlyKeys(0L, 2L, 4L, 6L, 8L);
        assertThat(index.isOmitted(new Request.Source(0, 0))).isFalse();
    }

    @Test
    void beyond_the_maximum_the_oldest_of_the_largest_partition_are_omitted() {
        add(1, 3);
        for (int offset = 0; offset < 1_000; offset++) {
            add(0, offset);
        }
        assertThat(index.of(new Request.Source(1, 3))).hasSize(1);
        assertThat(index.of(0)).hasSizeBetween(4, 9).containsKey(999L);
        long last = index.of(0).firstKey() - 1;
        assertThat(index.omitted()).isEqualTo(last + 1);
        assertThat(index.isOmitted(new Request.Source(0, last))).isTrue();
        assertThat(index.isOmitted(new Request.Source(0, last + 1))).isFalse();
        assertThat(index.isOmitted(new Request.Source(1, 3))).isFalse();
    }

    @Test
    void a_late_one_of_an_omitted_request_and_many_of_one_request_are_bounded_too() {
        for (int offset = 0; offset < 100; offset++) {
            add(0, offset);
        }
        long omitted = index.omitted();
        add(0, 1);
        assertThat(index.omitted()).isEqualTo(omitted + 1);
        assertThat(index.of(new Request.Source(0, 1))).isEmpty();
        for (int i = 0; i < 100; i++) {
            add(1, 7);
        }
        assertThat(index.of(new Request.Source(1, 7))).hasSizeLessThanOrEqualTo(10);
        assertThat(index.isOmitted(new Request.Source(1, 7))).isTrue();
    }
}
