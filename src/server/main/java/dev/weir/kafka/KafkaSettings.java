package dev.weir.kafka;

import dev.weir.config.WeirConfig;
import dev.weir.wire.SchemaRegistryProvider;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Builds the properties of Kafka's clients: Weir's defaults, overridden by the {@code kafka} section of the configuration. */
public final class KafkaSettings {

    /** The brokers if the configuration does not set {@code kafka.bootstrap.servers}. */
    public static final String DEFAULT_BOOTSTRAP_SERVERS = "localhost:9092";

    /**
     * The transaction timeout of a change of policies. A writer that is killed within a transaction blocks readers for
     * this time, unless another writer fences it earlier.
     */
    public static final Duration POLICY_TRANSACTION = Duration.ofSeconds(15);

    private static final String CONSUMER = "consumer.";

    /** The property of the providers that resolve references such as {@code ${file:…}}. */
    private static final String PROVIDERS = AbstractConfig.CONFIG_PROVIDERS_CONFIG;

    /** The maximum size of a produce request: a record as large as any, plus its headers. */
    public static final String MAX_REQUEST_BYTES = String.valueOf(4 << 20);

    /**
     * What all of Weir's Kafka clients leave out, unless the configuration says otherwise. Kafka Streams has some hundred
     * metrics for each store. While tasks start and end, the stream threads would register them for JMX, and name them
     * for brokers that collect metrics of clients (KIP-714).
     */
    public static final Map<String, String> WITHOUT_REPORTERS = Map.of(
            CommonClientConfigs.METRIC_REPORTER_CLASSES_CONFIG, "",
            CommonClientConfigs.ENABLE_METRICS_PUSH_CONFIG, "false");

    private KafkaSettings() {}

    /** Returns the application id of the shaping application. */
    public static String shapingId(WeirConfig config) {
        return config.applicationId() + WeirConfig.SHAPING_SUFFIX;
    }

    /** Returns the transactional id of {@code weir repartition}. */
    public static String repartitionId(WeirConfig config) {
        return config.applicationId() + "-repartition";
    }

    /** Returns the properties of a {@link dev.weir.client.WeirClient}, including those of the schema registry. */
    public static Map<String, Object> weirClient(WeirConfig config) {
        Map<String, Object> settings = new HashMap<>();
        producer(config).forEach((key, value) -> settings.put("producer." + key, value));
        consumer(config).forEach((key, value) -> settings.put(CONSUMER + key, value));
        config.registry().forEach((key, value) -> settings.put(SchemaRegistryProvider.PREFIX + key, value));
        return settings;
    }

    /** Returns the properties of an admin client. */
    public static Properties admin(WeirConfig config) {
        return client(config, AdminClientConfig.configNames(), "admin.");
    }

    /** Returns the properties of a producer. */
    public static Properties producer(WeirConfig config) {
        return client(config, ProducerConfig.configNames(), "producer.");
    }

    /** Returns the properties of a consumer. */
    public static Properties consumer(WeirConfig config) {
        return client(config, ConsumerConfig.configNames(), CONSUMER);
    }

    /**
     * Checks the properties of all clients.
     *
     * @throws org.apache.kafka.common.config.ConfigException if one is invalid
     */
    public static void requireValid(WeirConfig config) {
        Properties consumer = consumer(config);
        consumer.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        consumer.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        Properties producer = producer(config);
        producer.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        producer.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        var unusedConsumer = new ConsumerConfig(consumer); // the constructors check the properties
        var unusedProducer = new ProducerConfig(producer);
    }

    /**
     * Returns the properties of the {@code kafka} section that apply to a client, with or without its prefix. The
     * prefixed ones take precedence.
     */
    private static Properties client(WeirConfig config, Set<String> known, String prefix) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", DEFAULT_BOOTSTRAP_SERVERS);
        settings.putAll(WITHOUT_REPORTERS);
        for (Map.Entry<String, String> entry : config.kafka().entrySet()) {
            if (known.contains(entry.getKey()) || entry.getKey().startsWith(PROVIDERS)) {
                settings.put(entry.getKey(), entry.getValue());
            }
        }
        for (Map.Entry<String, String> entry : config.kafka().entrySet()) {
            if (entry.getKey().startsWith(prefix)) {
                settings.put(entry.getKey().substring(prefix.length()), entry.getValue());
            }
        }
        return settings;
    }
}
