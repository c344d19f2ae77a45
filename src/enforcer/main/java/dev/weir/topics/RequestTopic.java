package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * The properties of the request topic that other topics must have too.
 *
 * @param partitions the number of partitions
 * @param retention the retention settings of the topic itself, without the brokers' defaults
 */
public record RequestTopic(int partitions, Map<String, String> retention) {

    private static final int TIMEOUT_SECONDS = 30;
    private static final int NEWS_SECONDS = 10;
    private static final int POLL_MS = 50;
    private static final List<String> RETENTION =
            List.of(TopicConfig.RETENTION_MS_CONFIG, TopicConfig.RETENTION_BYTES_CONFIG);

    /** Returns the properties of a topic that will be created with these settings. */
    static RequestTopic of(int partitions, Map<String, String> settings) {
        Map<String, String> retention = new TreeMap<>(settings);
        retention.keySet().retainAll(RETENTION);
        return new RequestTopic(partitions, retention);
    }

    /** Reads the properties of an existing topic. If the user has no permission to read settings, returns none. */
    static RequestTopic read(Admin admin, String name)
            throws ExecutionException, InterruptedException, TimeoutException {
        return new RequestTopic(partitions(admin, name), retention(admin, name));
    }

    /**
     * Returns the number of partitions of the request topic.
     *
     * @throws UnreachableException if the topic does not exist or no broker responds
     */
    public static int partitions(WeirConfig config) {
        return partitions(config, Topics.of(config).requests());
    }

    /**
     * Returns the number of partitions of the topic of replies.
     *
     * @throws UnreachableException if the topic does not exist or no broker responds
     */
    public static int replyPartitions(WeirConfig config) {
        return partitions(config, Topics.of(config).replies());
    }

    private static int partitions(WeirConfig config, String name) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            return awaitPartitions(admin, name);
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "cannot look up the partitions of " + name + ": " + UnreachableException.causeMessage(e.getCause()),
                    e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the brokers did not return the partitions of " + name + " in time", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while looking up the partitions of " + name, e);
        }
    }

    /** Retries for some time, because brokers learn of a new topic with a delay. */
    private static int awaitPartitions(Admin admin, String name)
            throws ExecutionException, InterruptedException, TimeoutException {
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(NEWS_SECONDS);
        while (true) {
            try {
                return partitions(admin, name);
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof UnknownTopicOrPartitionException)
                        || System.nanoTime() - deadlineNanos > 0) {
                    throw e;
                }
                Thread.sleep(POLL_MS);
            }
        }
    }

    private static int partitions(Admin admin, String name)
            throws ExecutionException, InterruptedException, TimeoutException {
        return admin.describeTopics(List.of(name))
                .allTopicNames()
                .get(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                .get(name)
                .partitions()
                .size();
    }

    private static Map<String, String> retention(Admin admin, String name)
            throws ExecutionException, InterruptedException, TimeoutException {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        Map<String, String> retention = new TreeMap<>();
        try {
            for (ConfigEntry entry : admin.describeConfigs(List.of(topic))
                    .all()
                    .get(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                    .get(topic)
                    .entries()) {
                if (RETENTION.contains(entry.name())
                        && entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) {
                    retention.put(entry.name(), entry.value());
                }
            }
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof AuthorizationException)) {
                throw e;
            }
        }
        return retention;
    }
}
