package dev.weir.limit.segment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class LogSegmentTest {

    @Test
    void adds_up_earlier_entries() {
        LogSegment segment = LogSegment.empty(100).withEntry(5, 3).withEntry(9, 4);
        assertThat(segment.size()).isEqualTo(2);
        assertThat(segment.sum(-1)).isEqualTo(100);
        assertThat(segment.sum(0)).isEqualTo(103);
        assertThat(segment.lastSum()).isEqualTo(107);
        assertThat(segment.timeMs(0)).isEqualTo(5);
        assertThat(segment.lastTimeMs()).isEqualTo(9);
    }

    @Test
    void one_time_is_one_entry() {
        assertThat(LogSegment.empty(0).withEntry(5, 3).withEntry(5, 4))
                .isEqualTo(LogSegment.empty(0).withEntry(5, 7));
    }

    @Test
    void is_full_at_thirty_two() {
        LogSegment segment = LogSegment.empty(0);
        for (int i = 0; i < LogSegment.CAPACITY; i++) {
            assertThat(segment.isFull()).isFalse();
            segment = segment.withEntry(i, 1);
        }
        assertThat(segment.isFull()).isTrue();
    }

    @Test
    void reducing_the_newest_entry_leaves_a_part_of_it_or_nothing() {
        LogSegment segment = LogSegment.empty(100).withEntry(5, 3).withEntry(9, 4);
        assertThat(segment.reducedBy(1))
                .isEqualTo(LogSegment.empty(100).withEntry(5, 3).withEntry(9, 3));
        assertThat(segment.reducedBy(4)).isEqualTo(LogSegment.empty(100).withEntry(5, 3));
        assertThat(segment.reducedBy(4).reducedBy(3)).isEqualTo(LogSegment.empty(100));
        assertThat(segment)
                .as("unchanged")
                .isEqualTo(LogSegment.empty(100).withEntry(5, 3).withEntry(9, 4));
    }

    @Test
    void sums_may_wrap_around() {
        LogSegment segment = LogSegment.empty(Long.MAX_VALUE - 1).withEntry(5, 3);
        assertThat(segment.lastSum() - segment.sum(-1)).isEqualTo(3);
        assertThat(segment.reducedBy(3)).isEqualTo(LogSegment.empty(Long.MAX_VALUE - 1));
    }

    @Test
    void equals_by_content() {
        LogSegment segment = LogSegment.of(1, new long[] {2}, new long[] {3});
        assertThat(segment)
                .isEqualTo(LogSegment.empty(1).withEntry(2, 2))
                .hasSameHashCodeAs(LogSegment.empty(1).withEntry(2, 2))
                .isNotEqualTo(LogSegment.of(0, new long[] {2}, new long[] {3}))
                .isNotEqualTo(LogSegment.of(1, new long[] {9}, new long[] {3}))
                .isNotEqualTo(LogSegment.of(1, new long[] {2}, new long[] {9}))
                .hasToString("LogSegment[1, [2], [3]]");
    }

    @Test
    void rejects_invalid_segments() {
        assertThatThrownBy(() -> LogSegment.of(0, new long[2], new long[1]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2 times and 1 sums");
        assertThatThrownBy(() -> LogSegment.of(0, new long[33], new long[33]))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
