package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.processor.ProducerTimestamps;
import dev.weir.topology.RocksSettings;
import dev.weir.topology.Topics;
import dev.weir.wire.SchemaRegistryProvider;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.StreamsConfig;

/**
 * Builds the properties of Kafka's clients and of Kafka Streams: Weir's defaults, overridden by the {@code kafka}
 * section of the configuration.
 */
public final class KafkaSettings {

    /** The brokers if the configuration does not set {@code kafka.bootstrap.servers}. */
    public static final String DEFAULT_BOOTSTRAP_SERVERS = "localhost:9092";

    /**
     * The minimum interval of compactions of RocksDB. Deleted entries leave the disk after the retention time has
     * passed again, but the disk must not be rewritten too often.
     */
    private static final long LEAST_COMPACT_SECONDS = 60;

    /**
     * The transaction timeout of a change of policies. A writer that is killed within a transaction blocks readers for
     * this time, unless another writer fences it earlier.
     */
    public static final Duration POLICY_TRANSACTION = Duration.ofSeconds(15);

    private static final String CONSUMER = "consumer.";

    /** The property of the providers that resolve references such as {@code ${file:…}}. */
    private static final String PROVIDERS = AbstractConfig.CONFIG_PROVIDERS_CONFIG;

    private static final String READ_COMMITTED = "read_committed";

    private static final int BATCH_BYTES = 128 << 10;

    /** The maximum size of a produce request: a record as large as any, plus its headers. */
    public static final String MAX_REQUEST_BYTES = String.valueOf(4 << 20);

    private KafkaSettings() {}

    /** Returns the properties of the deciding application. */
    public static Properties deciding(WeirConfig config) {
        Properties settings = streams(config, config.applicationId(), config.threads());
        // Requests and the responses of ledgers do not wait for each other. The short poll time keeps the delay of
        // requests that wait for a response short.
        settings.putIfAbsent(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, StreamsConfig.MAX_TASK_IDLE_MS_DISABLED);
        settings.putIfAbsent(StreamsConfig.POLL_MS_CONFIG, 10);
        // How long partitions that were added to the request topic are not read. Kafka's default is five minutes.
        if (metadataAge(settings).isEmpty()) {
            settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.METADATA_MAX_AGE_CONFIG), 30_000);
        }
        addInterceptor(settings, ProducerTimestamps.class);
        settings.put(
                StreamsConfig.mainConsumerPrefix(ProducerTimestamps.TOPIC),
                Topics.of(config).requests());
        return settings;
    }

    /** Adds an interceptor of the main consumer to the configured ones. */
    private static void addInterceptor(Properties settings, Class<?> interceptor) {
        String key = ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG;
        String main = StreamsConfig.mainConsumerPrefix(key);
        String others = Stream.of(main, StreamsConfig.consumerPrefix(key), key)
                .filter(settings::containsKey)
                .map(settings::getProperty)
                .findFirst()
                .map(set -> "," + set)
                .orElse("");
        settings.put(main, interceptor.getName() + others);
    }

    /** Returns the properties of the shaping application, which commits more often and polls for shorter times. */
    public static Properties shaping(WeirConfig config) {
        Properties settings =
                streams(config, shapingId(config), config.shaping().threads());
        settings.put(
                StreamsConfig.COMMIT_INTERVAL_MS_CONFIG,
                config.shaping().commitInterval().toMillis());
        settings.putIfAbsent(StreamsConfig.POLL_MS_CONFIG, 5);
        settings.computeIfPresent(StreamsConfig.CLIENT_ID_CONFIG, (key, id) -> id + WeirConfig.SHAPING_SUFFIX);
        return settings;
    }

    /** Returns the application id of the shaping application. */
    public static String shapingId(WeirConfig config) {
        return config.applicationId() + WeirConfig.SHAPING_SUFFIX;
    }

    /** Returns the transactional id of {@code weir repartition}. */
    public static String repartitionId(WeirConfig config) {
        return config.applicationId() + "-repartition";
    }

    private static Properties streams(WeirConfig config, String applicationId, int threads) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, DEFAULT_BOOTSTRAP_SERVERS);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, applicationId);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, config.state().directory().toString());
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        // A takeover waits until the session and the transaction of the failed instance have timed out: see
        // topology-docs/explanation/guarantees.md. During a rebalance no instance commits, and it can wait for an
        // instance that has failed. So the transaction timeout is longer than the session timeout.
        settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
        settings.put(StreamsConfig.PROBING_REBALANCE_INTERVAL_MS_CONFIG, 60_000);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 8_000);
        settings.put(StreamsConfig.ENSURE_EXPLICIT_INTERNAL_RESOURCE_NAMING_CONFIG, true);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, RocksSettings.class);
        settings.put(RocksSettings.MEMORY_BYTES, config.state().memoryBytes());
        settings.put(
                RocksSettings.COMPACT_SECONDS,
                Math.max(LEAST_COMPACT_SECONDS, config.state().retention().toSeconds()));
        // Aborted changes of policies must not be read, not even by Streams' global store.
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.ISOLATION_LEVEL_CONFIG), READ_COMMITTED);
        settings.put(StreamsConfig.globalConsumerPrefix(ConsumerConfig.ISOLATION_LEVEL_CONFIG), READ_COMMITTED);
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6_000);
        // A member learns of a rebalance with its next heartbeat, and partitions that move pause until all
        // members know.
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 500);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 2);
        // The broker rejects the first batch of a transaction until the markers of the previous one are written. With
        // more requests in flight, the second batch would arrive before the retry of the first and be rejected too, and
        // both would be sent repeatedly.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION), 1);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.RETRY_BACKOFF_MS_CONFIG), 10);
        // A produce request contains one batch of each partition. With Kafka's default of 16 KiB, a commit would wait
        // for several sequential requests.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), BATCH_BYTES);
        // A dead letter can be as large as any record, plus its headers.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.MAX_REQUEST_SIZE_CONFIG), MAX_REQUEST_BYTES);
        for (String key : config.kafka().keySet()) { // also overrides Weir's defaults for a single client
            settings.remove(StreamsConfig.producerPrefix(key));
            String ofConsumers = key.startsWith(CONSUMER) ? key.substring(CONSUMER.length()) : key;
            settings.remove(StreamsConfig.mainConsumerPrefix(ofConsumers));
        }
        settings.putAll(config.kafka());
        return settings;
    }

    /** Returns the session timeout of the consumer groups. The brokers must permit it. */
    public static Duration session(WeirConfig config) {
        String key = ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG;
        return firstOf(deciding(config), StreamsConfig.mainConsumerPrefix(key), StreamsConfig.consumerPrefix(key), key);
    }

    /** Returns how often an instance looks up the partitions of its topics. */
    public static Duration metadataAge(WeirConfig config) {
        return metadataAge(deciding(config)).orElseThrow();
    }

    private static Optional<Duration> metadataAge(Properties settings) {
        String key = ConsumerConfig.METADATA_MAX_AGE_CONFIG;
        return Stream.of(StreamsConfig.mainConsumerPrefix(key), StreamsConfig.consumerPrefix(key), key)
                .filter(settings::containsKey)
                .findFirst()
                .map(found -> firstOf(settings, found));
    }

    /** Returns the transaction timeout of an instance. */
    public static Duration transaction(WeirConfig config) {
        String key = ProducerConfig.TRANSACTION_TIMEOUT_CONFIG;
        return firstOf(deciding(config), StreamsConfig.producerPrefix(key), key);
    }

    /** Returns the longest transaction timeout, including that of policy changes. The brokers must permit it. */
    public static Duration longestTransaction(WeirConfig config) {
        Duration ofInstance = transaction(config);
        return ofInstance.compareTo(POLICY_TRANSACTION) > 0 ? ofInstance : POLICY_TRANSACTION;
    }

    private static Duration firstOf(Properties settings, String... keys) {
        String key = Stream.of(keys).filter(settings::containsKey).findFirst().orElseThrow();
        return Duration.ofMillis((int) ConfigDef.parseType(key, settings.get(key), ConfigDef.Type.INT));
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
