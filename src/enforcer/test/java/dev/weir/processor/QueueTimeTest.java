package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.effect.QueueMessage;
import org.junit.jupiter.api.Test;

class QueueTimeTest {

    private final QueueTime time = new QueueTime(1_000);

    @Test
    void a_marker_is_due_at_first_and_then_each_second() {
        assertThat(time.isMarkerDue(50)).isTrue();
        time.nextMarker(0, 50);
        assertThat(time.isMarkerDue(1_049)).isFalse();
        assertThat(time.isMarkerDue(1_050)).isTrue();
    }

    @Test
    void only_a_marker_of_the_same_task_synchronizes_it() {
        assertThat(time.isSynchronizing()).isFalse();
        QueueMessage.Marker own = time.nextMarker(0, 50);
        assertThat(time.isSynchronizing()).isTrue();
        time.readMarker(new QueueTime(1_000).nextMarker(0, 50), 2_000, 60);
        assertThat(time.isSynchronized()).isFalse();
        time.readMarker(own, 2_000, 60);
        assertThat(time.isSynchronized()).isTrue();
        assertThat(time.isSynchronizing()).isFalse();
    }

    @Test
    void a_wait_is_rounded_up_to_milliseconds() {
        long nowNanos = time.nanos(0);
        assertThat(time.untilMs(nowNanos, 0)).isZero();
        assertThat(time.untilMs(nowNanos + 1, 0)).isEqualTo(1);
        assertThat(time.untilMs(nowNanos + 1_000_000, 0)).isEqualTo(1);
        assertThat(time.untilMs(nowNanos - 1_000_001, 0)).isEqualTo(-1);
    }
}
