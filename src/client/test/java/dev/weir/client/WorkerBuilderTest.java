package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WorkerBuilderTest {

    private final WorkerBuilder worker = ReleaseWorker.builder(Map.of(), work -> {});

    @Test
    void what_is_out_of_its_range_is_named() {
        assertThatThrownBy(() -> worker.threads(0)).hasMessage("threads is out of its range: 0");
    }

    @Test
    void a_back_off_doubles_up_to_the_most_which_weirs_own_wish_does_not_exceed() {
        worker.backOff(Duration.ofSeconds(1), Duration.ofSeconds(5));
        assertThat(worker.backOff(1)).hasSeconds(1);
        assertThat(worker.backOff(3)).hasSeconds(4);
        assertThat(worker.backOff(4)).hasSeconds(5);
        assertThat(worker.backOff(1_000_000_000)).hasSeconds(5);
        assertThat(worker.backOff(1, Duration.ofSeconds(3))).hasSeconds(3);
        assertThat(worker.backOff(1, Duration.ofDays(1))).hasSeconds(5);
    }
}
