package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.processor.ProducerTimestamps;
import dev.weir.topology.RocksSettings;
import dev.weir.topology.Topics;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.streams.StreamsConfig;

/**
 * What Kafka's clients and Streams are given: Weir's own settings, and over them those of the {@code kafka} section.
 */
public final class KafkaSettings {

    /** Where a broker is looked for if the configuration does not say. */
    public static final String DEFAULT_BOOTSTRAP_SERVERS = "localhost:9092";

    /** What is forgotten leaves the disk when as much time has passed again, but the disk is not written too often. */
    private static final long LEAST_COMPACT_SECONDS = 60;

    /**
     * The transaction timeout of a change of policies: how long a writer that was killed in the middle blocks readers,
     * unless another writer begins.
     */
    public static final Duration POLICY_TRANSACTION = Duration.ofSeconds(15);

    private static final String CONSUMER = "consumer.";

    /** Where clients look up {@code ${file:…}} and the like. */
    private static final String PROVIDERS = AbstractConfig.CONFIG_PROVIDERS_CONFIG;

    private static final String READ_COMMITTED = "read_committed";

    private static final int BATCH_BYTES = 128 << 10;

    private static final String MAX_REQUEST_BYTES = String.valueOf(4 << 20);

    private KafkaSettings() {}

    /** The settings of the application that decides. */
    public static Properties deciding(WeirConfig config) {
        Properties settings = streams(config, config.applicationId(), config.threads());
        // Neither requests nor the answers of ledgers wait for each other; who waits for an answer is looked after
        // often.
        settings.putIfAbsent(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, StreamsConfig.MAX_TASK_IDLE_MS_DISABLED);
        settings.putIfAbsent(StreamsConfig.POLL_MS_CONFIG, 10);
        addInterceptor(settings, ProducerTimestamps.class);
        settings.put(
                StreamsConfig.mainConsumerPrefix(ProducerTimestamps.TOPIC),
                Topics.of(config).requests());
        return settings;
    }

    /** Adds an interceptor of the main consumer to those that an operator has set. */
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

    /** The settings of the application that shapes: it commits more often, and wakes up for what is due. */
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

    public static String shapingId(WeirConfig config) {
        return config.applicationId() + WeirConfig.SHAPING_SUFFIX;
    }

    private static Properties streams(WeirConfig config, String applicationId, int threads) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, DEFAULT_BOOTSTRAP_SERVERS);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, applicationId);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, config.state().directory().toString());
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        // What dies is taken over when its session and its transaction have timed out: topology-docs/failures.md.
        // Nobody commits during a rebalance, which may wait for one that died: so transactions outlast the session.
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
        // What another writer of policies left undone is no policy, also where Streams itself reads all there is.
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.ISOLATION_LEVEL_CONFIG), READ_COMMITTED);
        settings.put(StreamsConfig.globalConsumerPrefix(ConsumerConfig.ISOLATION_LEVEL_CONFIG), READ_COMMITTED);
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6_000);
        // By its next heartbeat a member learns that partitions move; they stand still until the last one knows.
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 500);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 2);
        // With more in flight, the second batch of a transaction overtakes a first one that the broker puts off until
        // the markers of the one before are written; both are refused and sent again, again and again.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION), 1);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.RETRY_BACKOFF_MS_CONFIG), 10);
        // A request takes one batch of each partition. With Kafka's 16 KiB a commit waited for six or seven of them,
        // one after the other.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), BATCH_BYTES);
        // A dead letter is a record of any size, and headers come on top.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.MAX_REQUEST_SIZE_CONFIG), MAX_REQUEST_BYTES);
        for (String key : config.kafka().keySet()) { // what is set for more clients stands over what Weir sets for one
            settings.remove(StreamsConfig.producerPrefix(key));
            String ofConsumers = key.startsWith(CONSUMER) ? key.substring(CONSUMER.length()) : key;
            settings.remove(StreamsConfig.mainConsumerPrefix(ofConsumers));
        }
        settings.putAll(config.kafka());
        return settings;
    }

    /** How long the groups wait for an instance that says nothing; brokers must allow it. */
    public static Duration session(WeirConfig config) {
        String key = ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG;
        return firstOf(deciding(config), StreamsConfig.mainConsumerPrefix(key), StreamsConfig.consumerPrefix(key), key);
    }

    /** How long the longest transaction of an instance may be open. */
    public static Duration transaction(WeirConfig config) {
        String key = ProducerConfig.TRANSACTION_TIMEOUT_CONFIG;
        return firstOf(deciding(config), StreamsConfig.producerPrefix(key), key);
    }

    /** The longest of all transactions, those that change rules among them; brokers must allow it. */
    public static Duration longestTransaction(WeirConfig config) {
        Duration ofInstance = transaction(config);
        return ofInstance.compareTo(POLICY_TRANSACTION) > 0 ? ofInstance : POLICY_TRANSACTION;
    }

    private static Duration firstOf(Properties settings, String... keys) {
        String key = Stream.of(keys).filter(settings::containsKey).findFirst().orElseThrow();
        return Duration.ofMillis((int) ConfigDef.parseType(key, settings.get(key), ConfigDef.Type.INT));
    }

    public static Properties admin(WeirConfig config) {
        return client(config, AdminClientConfig.configNames(), "admin.");
    }

    public static Properties producer(WeirConfig config) {
        return client(config, ProducerConfig.configNames(), "producer.");
    }

    public static Properties consumer(WeirConfig config) {
        return client(config, ConsumerConfig.configNames(), CONSUMER);
    }

    /** What of the {@code kafka} section this client knows, under its plain name or its prefixed one. */
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
