package dev.weir.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.ProducerTimestamps;
import dev.weir.topology.StreamsSettings;
import dev.weir.topology.WeirTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KafkaSettingsTest {

    private static final WeirConfig SECURED = WeirConfig.DEFAULTS
            .withKafka("security.protocol", "SASL_SSL")
            .withKafka("sasl.jaas.config", "a secret")
            .withKafka("processing.guarantee", "at_least_once")
            .withKafka("producer.linger.ms", "7")
            .withKafka("bootstrap.servers", "kafka-1:9092");

    @Test
    void the_kafka_section_overrides_weirs_settings() {
        assertThat(StreamsSettings.deciding(WeirConfig.DEFAULTS))
                .containsEntry("processing.guarantee", "exactly_once_v2")
                .containsEntry("bootstrap.servers", "localhost:9092");
        assertThat(StreamsSettings.deciding(SECURED))
                .containsEntry("processing.guarantee", "at_least_once")
                .containsEntry("bootstrap.servers", "kafka-1:9092")
                .containsEntry("producer.linger.ms", "7")
                .containsEntry("sasl.jaas.config", "a secret");
    }

    @Test
    void no_client_reports_its_metrics_unless_the_kafka_section_says_so() {
        assertThat(reporters(WeirConfig.DEFAULTS)).containsOnly(", false");
        String jmx = "org.apache.kafka.common.metrics.JmxReporter";
        assertThat(reporters(WeirConfig.DEFAULTS
                        .withKafka("metric.reporters", jmx)
                        .withKafka("enable.metrics.push", "true")))
                .containsOnly(jmx + ", true");
    }

    /** Returns to what Weir's own clients, Kafka Streams and its clients report their metrics. */
    private static List<String> reporters(WeirConfig config) {
        List<Map<?, ?>> clients = new ArrayList<>(
                List.of(KafkaSettings.admin(config), KafkaSettings.producer(config), KafkaSettings.consumer(config)));
        for (Properties streams : List.of(StreamsSettings.deciding(config), StreamsSettings.shaping(config))) {
            StreamsConfig ofStreams = new StreamsConfig(streams);
            clients.add(streams);
            clients.add(ofStreams.getMainConsumerConfigs("weir", "weir", 0));
            clients.add(ofStreams.getRestoreConsumerConfigs("weir"));
            clients.add(ofStreams.getGlobalConsumerConfigs("weir"));
            clients.add(ofStreams.getProducerConfigs("weir"));
            clients.add(ofStreams.getAdminConfigs("weir"));
        }
        return clients.stream()
                .map(client -> client.get("metric.reporters") + ", " + client.get("enable.metrics.push"))
                .toList();
    }

    @Test
    void settings_for_all_clients_override_weirs_for_one() {
        WeirConfig config = WeirConfig.DEFAULTS
                .withKafka("linger.ms", "7")
                .withKafka("consumer.session.timeout.ms", "9000")
                .withKafka("isolation.level", "read_committed");
        StreamsConfig streams = new StreamsConfig(StreamsSettings.deciding(config));
        assertThat(streams.getProducerConfigs("weir")).containsEntry("linger.ms", "7");
        assertThat(streams.getMainConsumerConfigs("weir", "weir", 0))
                .containsEntry("session.timeout.ms", "9000")
                .containsEntry("isolation.level", "read_committed");
    }

    @ParameterizedTest
    @ValueSource(strings = {"main.consumer.", "consumer."})
    void interceptors_that_are_set_run_after_weirs_own(String prefix) {
        WeirConfig config = WeirConfig.DEFAULTS.withKafka(prefix + "interceptor.classes", "a.B,c.D");
        String own = ProducerTimestamps.class.getName();
        assertThat(mainConsumer(config)).containsEntry("interceptor.classes", own + ",a.B,c.D");
        assertThat(mainConsumer(WeirConfig.DEFAULTS))
                .containsEntry("interceptor.classes", own)
                .containsEntry(ProducerTimestamps.TOPIC, "weir.requests");
    }

    private static Map<String, Object> mainConsumer(WeirConfig config) {
        return new StreamsConfig(StreamsSettings.deciding(config)).getMainConsumerConfigs("weir", "weir", 0);
    }

    @Test
    void every_client_has_the_security_settings_and_only_known_ones() {
        assertThat(KafkaSettings.admin(SECURED))
                .containsEntry("security.protocol", "SASL_SSL")
                .containsEntry("sasl.jaas.config", "a secret")
                .containsEntry("bootstrap.servers", "kafka-1:9092")
                .doesNotContainKeys("linger.ms", "processing.guarantee");
        assertThat(KafkaSettings.consumer(SECURED)).containsEntry("security.protocol", "SASL_SSL");
        assertThat(KafkaSettings.producer(SECURED))
                .containsEntry("security.protocol", "SASL_SSL")
                .containsEntry("linger.ms", "7");
    }

    @Test
    void every_client_knows_where_to_look_up_references() {
        Map<String, String> providers = Map.of("config.providers", "file", "config.providers.file.class", "x.Files");
        WeirConfig config = WeirConfig.DEFAULTS;
        for (Map.Entry<String, String> setting : providers.entrySet()) {
            config = config.withKafka(setting.getKey(), setting.getValue());
        }
        assertThat(StreamsSettings.deciding(config)).containsAllEntriesOf(providers);
        assertThat(StreamsSettings.shaping(config)).containsAllEntriesOf(providers);
        assertThat(KafkaSettings.admin(config)).containsAllEntriesOf(providers);
        assertThat(KafkaSettings.producer(config)).containsAllEntriesOf(providers);
        assertThat(KafkaSettings.consumer(config)).containsAllEntriesOf(providers);
    }

    @Test
    void consumers_have_their_own_auto_offset_reset() {
        PolicyRegistry policies = new PolicyRegistry();
        EnforcerMetrics metrics = new EnforcerMetrics();
        assertThat(startsOfConsumers(
                        WeirTopology.deciding(WeirConfig.DEFAULTS, 4, policies, metrics),
                        StreamsSettings.deciding(WeirConfig.DEFAULTS)))
                .containsExactly("earliest");
        assertThat(startsOfConsumers(
                        WeirTopology.shaping(WeirConfig.DEFAULTS, policies, new QueueRegistry(), metrics),
                        StreamsSettings.shaping(WeirConfig.DEFAULTS)))
                .containsExactly("earliest");
    }

    private static List<Object> startsOfConsumers(Topology topology, Properties settings) {
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        List<Object> starts = new ArrayList<>();
        KafkaClientSupplier clients = new DefaultKafkaClientSupplier() {
            @Override
            public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
                starts.add(config.get(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG));
                return super.getConsumer(config);
            }
        };
        new KafkaStreams(topology, settings, clients).close();
        return starts;
    }
}
