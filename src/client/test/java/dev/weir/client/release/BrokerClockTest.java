package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class BrokerClockTest {

    private static final long MS = 1_000_000;
    private static final long BROKER_MS = 1_800_000_000_000L;

    private long nowNanos;
    private final BrokerClock clock = new BrokerClock(() -> nowNanos);

    @Test
    void is_behind_the_brokers_time_by_at_most_the_fastest_delivery() {
        Random random = new Random(1);
        for (long ms = 0; ms < 300_000; ms += 1 + random.nextInt(100)) {
            nowNanos = ms * MS;
            clock.read(BROKER_MS + ms - (ms % 3_000 < 200 ? 5 : 100 + random.nextInt(900)));
            assertThat(clock.nanos() - (BROKER_MS + ms) * MS).isLessThanOrEqualTo(-5 * MS);
            if (ms > 3_000) {
                assertThat(clock.nanos() - (BROKER_MS + ms) * MS).isEqualTo(-5 * MS);
            }
        }
    }

    @Test
    void follows_a_broker_clock_that_is_set_back() {
        clock.read(BROKER_MS);
        for (nowNanos = 0; nowNanos < 21_000 * MS; nowNanos += 100 * MS) {
            clock.read(BROKER_MS - 3_600_000 + nowNanos / MS);
        }
        assertThat(clock.nanos()).isEqualTo((BROKER_MS - 3_600_000) * MS + nowNanos);
    }

    @Test
    void an_old_estimate_expires_after_a_pause() {
        clock.read(BROKER_MS);
        nowNanos = 86_400_000 * MS + 864_000 * MS; // a day, by a clock that is 1 % fast
        clock.read(BROKER_MS + 86_400_000);
        assertThat(clock.nanos()).isEqualTo((BROKER_MS + 86_400_000) * MS);
    }
}
