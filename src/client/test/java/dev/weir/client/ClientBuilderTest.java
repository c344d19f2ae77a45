package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

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
    void a_value_out_of_range_is_named() {
        assertThatThrownBy(() -> builder.maxInFlight(0)).hasMessage("maxInFlight must be at least 1, is 0");
        assertThatThrownBy(() -> builder.timeout(Duration.ZERO)).hasMessage("timeout must be at least 1 ms, is PT0S");
        assertThatThrownBy(() -> new CircuitSettings(0, 50, Duration.ofSeconds(1), 1))
                .hasMessage("window must be at least 1, is 0");
    }
}
