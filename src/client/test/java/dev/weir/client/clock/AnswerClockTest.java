package dev.weir.client.clock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class AnswerClockTest {

    private static final long START = Long.MAX_VALUE - 5; // overflows

    private final AnswerClock clock = new AnswerClock();

    private static long at(long ms) {
        return START + TimeUnit.MILLISECONDS.toNanos(ms);
    }

    private long silentMs(long atMs) {
        return TimeUnit.NANOSECONDS.toMillis(clock.silentNanos(at(atMs)));
    }

    @Test
    void a_silence_begins_with_the_first_question_after_an_answer() {
        assertThat(silentMs(5_000)).isZero();
        clock.requested(at(5_000));
        clock.requested(at(5_400));
        assertThat(silentMs(5_900)).isEqualTo(900);
        assertThat(clock.isSilentFor(0, at(5_999))).isFalse();
        assertThat(clock.isSilentFor(0, at(6_000))).isTrue();
        assertThat(clock.isSilentFor(TimeUnit.SECONDS.toNanos(2), at(6_999))).isFalse();
        assertThat(clock.isSilentFor(TimeUnit.SECONDS.toNanos(2), at(7_000))).isTrue();
        clock.answered(at(7_000));
        assertThat(silentMs(60_000)).isZero();
        clock.requested(at(60_000));
        assertThat(silentMs(60_300)).isEqualTo(300);
    }

    @Test
    void answers_that_are_late_but_flow_are_no_silence() {
        for (int ms = 0; ms < 60_000; ms += 10) {
            clock.requested(at(ms));
            assertThat(clock.isSilentFor(0, at(ms))).isFalse();
            if (ms % 900 == 0) {
                clock.answered(at(ms));
            }
        }
    }

    @Test
    void a_silence_in_which_nothing_is_asked_does_not_count() {
        clock.requested(at(0));
        assertThat(silentMs(30_000)).isEqualTo(30_000);
        assertThat(silentMs(30_001)).isZero();
        clock.requested(at(40_000));
        assertThat(silentMs(40_500)).isEqualTo(500);
    }

    @Test
    void an_answer_is_known_with_its_time() {
        assertThat(clock.hasAnsweredSince(at(-1_000))).isFalse();
        clock.answered(at(100));
        assertThat(clock.hasAnsweredSince(at(100))).isTrue();
        assertThat(clock.hasAnsweredSince(at(101))).isFalse();
    }
}
