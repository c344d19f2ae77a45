package dev.weir.topology;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.requests.ProducerTimestamps;
import java.time.Duration;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.streams.StreamsConfig;

/**
 * Builds the properties of the two applications of Kafka Streams: Weir's defaults, overridden by the {@code kafka}
 * section of the configuration.
 */
public final class StreamsSettings {

    /**
     * The minimum interval of compactions of RocksDB. Deleted entries leave the disk after the retention time has
     * passed again, but the disk must not be rewritten too often.
     */
    private static final long LEAST_COMPACT_SECONDS = 60;

    /** How much later than the maximum Kafka Streams commits by itself. */
    private static final Duration LOST_REQUEST = Duration.ofSeconds(1);

    private static final String CONSUMER = "consumer.";

    private static final String READ_COMMITTED = "read_committed";

    private static final int BATCH_BYTES = 128 << 10;

    private StreamsSettings() {}

    /** Returns the properties of the deciding application. */
    public static Properties deciding(WeirConfig config) {
        Properties settings = streams(config, config.applicationId(), config.threads());
        // Requests and the responses of ledgers do not wait for each other.
        settings.putIfAbsent(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, StreamsConfig.MAX_TASK_IDLE_MS_DISABLED);
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

    /** Returns the properties of the shaping application. */
    public static Properties shaping(WeirConfig config) {
        Properties settings = streams(
                config, KafkaSettings.shapingId(config), config.shaping().threads());
        settings.computeIfPresent(StreamsConfig.CLIENT_ID_CONFIG, (key, id) -> id + WeirConfig.SHAPING_SUFFIX);
        return settings;
    }

    private static Properties streams(WeirConfig config, String applicationId, int threads) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, KafkaSettings.DEFAULT_BOOTSTRAP_SERVERS);
        settings.putAll(KafkaSettings.WITHOUT_REPORTERS);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, applicationId);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, config.state().directory().toString());
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        // Threads commit on request: see CommitPacing. Kafka Streams' own commits are for requests that were lost.
        settings.put(
                StreamsConfig.COMMIT_INTERVAL_MS_CONFIG,
                config.commits().max().plus(LOST_REQUEST).toMillis());
        // A takeover waits until the session and the transaction of the failed instance have timed out: see
        // topology-docs/explanation/guarantees.md. During a rebalance no instance commits, and it can wait for an
        // instance that has failed. So the transaction timeout is longer than the session timeout.
        settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
        settings.put(StreamsConfig.PROBING_REBALANCE_INTERVAL_MS_CONFIG, 60_000);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 8_000);
        settings.put(StreamsConfig.ENSURE_EXPLICIT_INTERNAL_RESOURCE_NAMING_CONFIG, true);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        // Polls end when records arrive and when timers are due: see ThreadPace. Other events, such as a task that was
        // restored, wait for the end of a poll. Each poll takes about half a millisecond of processor time.
        settings.putIfAbsent(StreamsConfig.POLL_MS_CONFIG, 50);
        // A killed instance keeps its stores: on the same disk, it restores what RocksDB had not flushed (KIP-892).
        settings.put(StreamsConfig.TRANSACTIONAL_STATE_STORES_CONFIG, true);
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
        settings.put(
                StreamsConfig.producerPrefix(ProducerConfig.MAX_REQUEST_SIZE_CONFIG), KafkaSettings.MAX_REQUEST_BYTES);
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
        return ofInstance.compareTo(KafkaSettings.POLICY_TRANSACTION) > 0
                ? ofInstance
                : KafkaSettings.POLICY_TRANSACTION;
    }

    private static Duration firstOf(Properties settings, String... keys) {
        String key = Stream.of(keys).filter(settings::containsKey).findFirst().orElseThrow();
        return Duration.ofMillis((int) ConfigDef.parseType(key, settings.get(key), ConfigDef.Type.INT));
    }
}
