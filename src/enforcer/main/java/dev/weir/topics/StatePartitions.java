package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaCommands;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.topology.Stores;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * The number of partitions of the state of clients, by which requests are placed. The deciding application has one task
 * for each of them. Partitions that are added to the request topic do not change it; {@code weir repartition} does.
 *
 * <p>It is the number of partitions of one changelog. Before that exists, it is that of the topic of routed requests.
 */
// The repartitioning grows this changelog last, and copies no record of it, so it also shows that one is unfinished.
public final class StatePartitions {

    private static final int TIMEOUT_SECONDS = 30;

    private StatePartitions() {}

    /** Returns the name of the changelog that determines the number. */
    public static String changelog(WeirConfig config) {
        return config.applicationId() + "-" + Stores.DECISION_ORDER + "-changelog";
    }

    /**
     * Returns what an operator should know if the request topic has another number of partitions than the state.
     *
     * @param topic the name of the request topic
     * @param requests the number of its partitions
     * @param state the number of partitions of the state
     */
    public static Optional<TopicRequirements.Warning> difference(
            String topic, int requests, int state, KafkaCommands commands) {
        if (requests == state) {
            return Optional.empty();
        }
        String has = topic + " has " + requests + " partitions, ";
        return Optional.of(
                requests > state
                        ? new TopicRequirements.Warning(
                                has + "the state of clients has " + state + ": " + state
                                        + " threads decide all requests,"
                                        + " and route those of clients whose partition has changed",
                                List.of(
                                        "to decide with " + requests + " threads, stop all instances and run:",
                                        "weir repartition"))
                        : new TopicRequirements.Warning(
                                has + "fewer than the state of clients, which has " + state
                                        + ": the topic was deleted and created again",
                                List.of("add the missing partitions:", commands.addPartitions(topic, state))));
    }

    /**
     * Returns the number of partitions of the state.
     *
     * @throws UnreachableException if there are no topics or no broker responds
     */
    public static int of(WeirConfig config) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            return of(admin, config);
        }
    }

    /** Like {@link #of(WeirConfig)}. */
    public static int of(Admin admin, WeirConfig config) {
        Topics topics = Topics.of(config);
        List<String> names = List.of(changelog(config), topics.routedRequests());
        Map<String, KafkaFuture<TopicDescription>> found =
                admin.describeTopics(names).topicNameValues();
        try {
            for (String name : names) {
                int partitions = partitions(found.get(name));
                if (partitions > 0) {
                    return partitions;
                }
            }
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "cannot look up the partitions of the state: " + UnreachableException.causeMessage(e.getCause()),
                    e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the brokers did not return the partitions of the state in time", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while looking up the partitions of the state", e);
        }
        return RequestTopic.partitions(config); // brokers learn of new topics with a delay
    }

    /** Returns 0 if the topic does not exist or this user is not permitted to describe it. */
    private static int partitions(KafkaFuture<TopicDescription> topic)
            throws ExecutionException, InterruptedException, TimeoutException {
        try {
            return topic.get(TIMEOUT_SECONDS, TimeUnit.SECONDS).partitions().size();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException
                    || e.getCause() instanceof TopicAuthorizationException) {
                return 0;
            }
            throw e;
        }
    }
}
