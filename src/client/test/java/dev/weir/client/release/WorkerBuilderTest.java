package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.wire.RegistryException;
import dev.weir.wire.SchemaRegistryProvider;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerBuilderTest {

    private final WorkerBuilder worker = ReleaseWorker.builder(Map.of(), work -> {});

    @Test
    void a_value_out_of_range_is_named() {
        assertThatThrownBy(() -> worker.threads(0)).hasMessage("threads must be at least 1, is 0");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void a_worker_that_cannot_start_without_a_registry_leaves_no_producer_running(int attempts) {
        String id = "worker-without-registry-" + attempts;
        Map<String, String> kafka = Map.of(
                "bootstrap.servers",
                "localhost:1",
                "group.id",
                "workers",
                "producer.client.id",
                id,
                SchemaRegistryProvider.URL,
                "http://localhost:1/apis/registry/v3");
        assertThatThrownBy(() -> ReleaseWorker.builder(kafka, work -> {})
                        .attempts(attempts)
                        .start())
                .isInstanceOf(RegistryException.class);
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .noneMatch(name -> name.endsWith(id));
    }

    @Test
    void the_back_off_doubles_up_to_a_maximum_and_is_at_least_retry_after() {
        worker.backOff(Duration.ofSeconds(1), Duration.ofSeconds(5));
        assertThat(worker.backOff(1)).hasSeconds(1);
        assertThat(worker.backOff(3)).hasSeconds(4);
        assertThat(worker.backOff(4)).hasSeconds(5);
        assertThat(worker.backOff(1_000_000_000)).hasSeconds(5);
        assertThat(worker.backOff(1, Duration.ofSeconds(3))).hasSeconds(3);
        assertThat(worker.backOff(1, Duration.ofSeconds(50))).hasSeconds(50);
        assertThat(worker.backOff(1, Duration.ofMillis(50_001))).hasSeconds(50);
        assertThat(worker.backOff(1, Duration.ofMillis(Long.MAX_VALUE))).hasSeconds(50);
        assertThat(worker.backOff(4, Duration.ofSeconds(3))).hasSeconds(5);
        worker.backOff(Duration.ofSeconds(1), Duration.ofSeconds(Long.MAX_VALUE));
        assertThat(worker.backOff(1, Duration.ofDays(1))).hasDays(1);
    }

    @ParameterizedTest
    @CsvSource({
        "client.id, a, 10000",
        "session.timeout.ms, 30000, 30000",
        "heartbeat.interval.ms, 12000, ",
        "group.protocol, classic, 10000",
        "group.protocol, CONSUMER, "
    })
    void a_session_lasts_10_s_unless_it_is_set_otherwise(String property, String value, Integer sessionMs) {
        Map<String, Object> kafka = new HashMap<>(Map.of(property, value));
        Object actual = WorkerBuilder.withSession(kafka).get("session.timeout.ms");
        assertThat(actual == null ? null : Integer.valueOf(actual.toString())).isEqualTo(sessionMs);
    }
}
