package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.kafka.TopicFollower;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClientBuilderTest {

    private static final Map<String, String> KAFKA = Map.of(
            "bootstrap.servers", "b:1",
            "group.id", "g",
            "client.id", "both",
            "producer.client.id", "p",
            "consumer.max.poll.records", "7");

    private final ClientBuilder builder = WeirClient.builder(KAFKA);

    @Test
    void decisions_are_read_uncommitted_by_default() {
        assertThat(builder.consumer()).containsEntry("isolation.level", "read_uncommitted");
        assertThat(builder.committed(true).consumer()).containsEntry("isolation.level", "read_committed");
    }

    @Test
    void settings_of_a_kafka_client_override_the_common_ones() {
        assertThat(builder.producer())
                .containsEntry("client.id", "p")
                .containsEntry("bootstrap.servers", "b:1")
                .doesNotContainKeys("max.poll.records", "consumer.max.poll.records", "producer.client.id");
        assertThat(builder.consumer()).containsEntry("client.id", "both").containsEntry("max.poll.records", "7");
    }

    @Test
    void reading_decisions_joins_no_group_and_commits_nothing() {
        assertThat(TopicFollower.settings(builder.consumer()))
                .doesNotContainKey("group.id")
                .containsEntry("enable.auto.commit", false);
    }

    @Test
    void a_request_not_written_before_the_timeout_is_dropped() {
        assertThat(builder.timeout(Duration.ofSeconds(3)).producer())
                .containsEntry("max.block.ms", 0)
                .containsEntry("delivery.timeout.ms", 3_001);
        assertThat(builder.timeout(Duration.ofMillis(10)).producer()).containsEntry("delivery.timeout.ms", 1_001);
    }

    @Test
    void only_a_setting_of_the_producer_lets_it_block_the_calling_thread() {
        assertThat(builder.pipelineSettings().kafka().mayBlock()).isFalse();
        assertThat(WeirClient.builder(Map.of("bootstrap.servers", "b:1", "producer.max.block.ms", 1_000))
                        .pipelineSettings()
                        .kafka()
                        .mayBlock())
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "1, linger.ms, 50, 1050",
        "3, producer.linger.ms, 5, 3005",
        "1, request.timeout.ms, 300, 1000",
        "3, request.timeout.ms, 300, 3000",
        "1, request.timeout.ms, 30000, 30001",
        "1, linger.ms, 9223372036854775807, 2147483647",
        "1, delivery.timeout.ms, 70000, 70000"
    })
    void a_late_request_is_dropped_with_other_settings_of_the_producer(
            int timeoutSeconds, String name, String value, int deliveryMs) {
        Map<String, Object> settings = WeirClient.builder(Map.of("bootstrap.servers", "b:1", name, value))
                .timeout(Duration.ofSeconds(timeoutSeconds))
                .producer();
        assertThat(Integer.parseInt(settings.get("delivery.timeout.ms").toString()))
                .isEqualTo(deliveryMs);
        assertThat(settings).containsEntry(name.replace("producer.", ""), value);
    }

    @Test
    void an_invalid_setting_of_the_producer_is_named() {
        ClientBuilder invalid = WeirClient.builder(Map.of("bootstrap.servers", "b:1", "request.timeout.ms", "soon"));
        assertThatThrownBy(invalid::producer)
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("request.timeout.ms");
    }

    @Test
    void a_value_out_of_range_is_named() {
        assertThatThrownBy(() -> builder.maxInFlight(0)).hasMessage("maxInFlight must be at least 1, is 0");
        assertThatThrownBy(() -> builder.timeout(Duration.ZERO)).hasMessage("timeout must be 1 ms to 1 day, is PT0S");
        assertThatThrownBy(() -> builder.timeout(Duration.ofDays(1).plusMillis(1)))
                .hasMessage("timeout must be 1 ms to 1 day, is PT24H0.001S");
        for (Duration endless : List.of(Duration.ofMillis(Long.MAX_VALUE), Duration.ofSeconds(Long.MAX_VALUE))) {
            assertThatThrownBy(() -> builder.timeout(endless))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("timeout must be 1 ms to 1 day, is ");
        }
        assertThat(builder.timeout(Duration.ofDays(1)).producer()).containsEntry("request.timeout.ms", 86_400_000);
        assertThatThrownBy(() -> new CircuitSettings(0, 50, Duration.ofSeconds(1), 1))
                .hasMessage("window must be at least 1, is 0");
    }
}
