package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The pace of the demo on machines of given capacities, with simulated time. */
class DemoPaceTest {

    private static final int REQUESTS = 30_969;
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long HOUR_NANOS = TimeUnit.HOURS.toNanos(1);

    /** A machine that decides a fixed number of requests a second. */
    private static final class Machine {
        private final DemoPace pace = new DemoPace(0);
        private double perSecond;
        private double decided;
        private int sent;
        private int mostInFlight;
        private int counted;
        private long nowNanos;

        Machine(double perSecond) {
            this.perSecond = perSecond;
        }

        void step() {
            assertThat(nowNanos).as("%d sent", sent).isLessThan(HOUR_NANOS);
            int due = Math.min(REQUESTS - sent, pace.due(nowNanos, sent, (long) decided));
            sent += due;
            counted += pace.isCounted(nowNanos) ? due : 0;
            mostInFlight = Math.max(mostInFlight, sent - (int) decided);
            decided = Math.min(sent, decided + perSecond * STEP_NANOS / 1e9);
            nowNanos += STEP_NANOS;
        }

        void runUntil(int requests) {
            while (sent < requests) {
                step();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"200, 100", "1000, 500", "3000, 1500", "5000, 2500", "20000, 2500"})
    void the_rate_is_half_of_what_the_machine_decides_within_bounds(double perSecond, int rate) {
        Machine machine = new Machine(perSecond);
        machine.runUntil(REQUESTS);
        assertThat(machine.pace.rate()).isBetween(rate * 9 / 10, rate);
        assertThat(DemoPace.isEnough(machine.counted)).isTrue();
        assertThat(machine.mostInFlight).isLessThanOrEqualTo(DemoPace.WINDOW);
    }

    @Test
    void a_fast_machine_needs_less_than_twelve_seconds_and_a_slow_one_does_not_keep_to_the_rate() {
        Machine fast = new Machine(8_000);
        fast.runUntil(REQUESTS);
        assertThat(fast.nowNanos).isLessThan(TimeUnit.SECONDS.toNanos(12));
        Machine slow = new Machine(500);
        slow.runUntil(REQUESTS);
        assertThat(slow.nowNanos).isLessThan(TimeUnit.SECONDS.toNanos(REQUESTS / 500 + 12));
    }

    @Test
    void a_rate_that_is_not_sustained_is_lowered_and_its_latencies_do_not_count() {
        Machine machine = new Machine(4_000);
        machine.runUntil(DemoPace.WARM_UP_REQUESTS + 5_000);
        int before = machine.pace.rate();
        machine.perSecond = 300; // something else begins
        while (machine.pace.rate() == before) {
            machine.step();
        }
        assertThat(machine.pace.isCounted(machine.nowNanos)).isFalse();
        machine.runUntil(REQUESTS);
        assertThat(machine.pace.rate()).isLessThanOrEqualTo(300).isGreaterThanOrEqualTo(DemoPace.MIN_RATE);
    }

    @Test
    void a_machine_that_stalls_gets_no_more_than_the_window() {
        Machine machine = new Machine(0);
        for (int i = 0; i < 10_000; i++) {
            machine.step();
        }
        assertThat(machine.sent).isEqualTo(DemoPace.WINDOW);
        assertThat(machine.pace.rate()).isZero();
    }
}
