package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WorkerBuilderTest {

    private final WorkerBuilder worker = ReleaseWorker.builder(Map.of(), work -> {});

    @Test
    void a_value_out_of_range_is_named() {
        assertThatThrownBy(() -> worker.threads(0)).hasMessage("threads must be at least 1, is 0");
    }

    @Test
    void the_back_off_doubles_up_to_a_maximum_that_also_bounds_retry_after() {
        worker.backOff(Duration.ofSeconds(1), Duration.ofSeconds(5));
        assertThat(worker.backOff(1)).hasSeconds(1);
        assertThat(worker.backOff(3)).hasSeconds(4);
        assertThat(worker.backOff(4)).hasSeconds(5);
        assertThat(worker.backOff(1_000_000_000)).hasSeconds(5);
        assertThat(worker.backOff(1, Duration.ofSeconds(3))).hasSeconds(3);
        assertThat(worker.backOff(1, Duration.ofDays(1))).hasSeconds(5);
    }
}
