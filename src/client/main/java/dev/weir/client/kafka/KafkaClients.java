package dev.weir.client.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Selects and checks the settings of Kafka's clients. */
public final class KafkaClients {

    /** The prefix of properties that apply only to producers. */
    public static final String PRODUCER = "producer.";

    /** The prefix of properties that apply only to consumers. */
    public static final String CONSUMER = "consumer.";

    /** How long {@link #partitions} waits for a topic that exists. */
    private static final Duration FIND = Duration.ofSeconds(10);

    private static final long FIND_POLL_MS = 10;

    private KafkaClients() {}

    /**
     * Returns the properties of all Kafka clients, overridden by those with a prefix, which is removed.
     *
     * @param kafka the properties, with and without prefixes
     * @param own {@link #PRODUCER} or {@link #CONSUMER}
     * @return a modifiable copy
     */
    public static Map<String, Object> settings(Map<?, ?> kafka, String own) {
        Map<String, Object> settings = new HashMap<>();
        Map<String, Object> over = new HashMap<>();
        kafka.forEach((name, value) -> {
            String key = String.valueOf(name);
            if (key.startsWith(own)) {
                over.put(key.substring(own.length()), value);
            } else if (!key.startsWith(PRODUCER) && !key.startsWith(CONSUMER)) {
                settings.put(key, value);
            }
        });
        settings.putAll(over);
        return settings;
    }

    /**
     * Checks the settings of a producer that is created later. A producer must not be created before a broker has
     * responded: closing it can take as long as {@code request.timeout.ms}, since it requests its id at once.
     *
     * @param producer the settings
     * @throws KafkaException if they are invalid
     */
    public static void check(Map<String, Object> producer) {
        Map<String, Object> settings = new HashMap<>(producer);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        var unused = new ProducerConfig(settings);
    }

    /**
     * Returns whether Kafka's clients could not be created because no host name of the brokers was resolved.
     *
     * @param failure the exception of the constructor
     * @return whether a later attempt can succeed
     */
    public static boolean isUnresolved(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof ConfigException
                    && cause.getMessage() != null
                    && (cause.getMessage().startsWith("No resolvable bootstrap urls")
                            || cause.getMessage().startsWith("Unknown host in "))) {
                return true;
            }
        }
        return false;
    }

    /**
     * Waits until a producer has the metadata of a topic, so that no record has to wait for it. Does not depend on the
     * producer's {@code max.block.ms}. The topic must exist, since a producer can create a missing topic.
     *
     * @param producer the producer
     * @param topic the name of the topic
     * @return the number of its partitions
     * @throws TimeoutException if no broker returns it within 10 s
     * @throws InterruptException if the thread is interrupted
     */
    public static int partitions(KafkaProducer<?, ?> producer, String topic) {
        long startNanos = System.nanoTime();
        int found = 0;
        while (found == 0) {
            try {
                found = producer.partitionsFor(topic).size();
            } catch (TimeoutException e) {
                if (System.nanoTime() - startNanos > FIND.toNanos()) {
                    throw new TimeoutException("no broker returned the partitions of " + topic, e);
                }
                pause();
            }
        }
        return found;
    }

    private static void pause() {
        try {
            Thread.sleep(FIND_POLL_MS);
        } catch (InterruptedException e) {
            throw new InterruptException(e);
        }
    }
}
