package dev.weir.watch;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.Topics;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import dev.weir.watch.ClusterProblem.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Detects that a topic of the enforcer is deleted while it runs. Kafka's clients wait for such a topic without a
 * message, since it could be one that was just created.
 *
 * <p>A topic is missing if it existed before and two successive looks do not find it, because a broker that has just
 * started may not know all topics yet. A topic with another id was deleted and created again.
 */
final class TopicWatch {

    private static final Logger LOG = LoggerFactory.getLogger(TopicWatch.class);

    /** The number of successive looks that must not find a topic. */
    static final int LOOKS = 2;

    private static final int TIMEOUT_SECONDS = 10;

    private final Admin admin;
    private final Topics topics;
    private final Map<String, String> stateOf = new TreeMap<>();
    private final Set<String> names;
    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<String, Integer> absent = new HashMap<>();

    /** Read by another thread. */
    private final Map<String, Integer> partitions = new ConcurrentHashMap<>();

    TopicWatch(Admin admin, WeirConfig config) {
        this.admin = admin;
        topics = Topics.of(config);
        Set<String> changelogs = new TopicRequirements(config).changelogs().keySet();
        names = new TreeSet<>(TopicSetup.names(config));
        names.addAll(changelogs);
        changelogs.forEach(name -> stateOf.put(name, name.replaceFirst("-changelog$", "")));
    }

    /**
     * Looks for the topics and returns those that were deleted.
     *
     * @throws KafkaException if the brokers do not respond
     */
    List<ClusterProblem> look() {
        return problems(admin.describeTopics(names).topicNameValues());
    }

    /**
     * Returns the topics that were deleted. A topic that this user may not describe proves nothing, so it is as it was.
     *
     * @param answers the answer about each topic
     */
    List<ClusterProblem> problems(Map<String, KafkaFuture<TopicDescription>> answers) {
        List<ClusterProblem> problems = new ArrayList<>();
        for (Map.Entry<String, KafkaFuture<TopicDescription>> answer : answers.entrySet()) {
            String name = answer.getKey();
            try {
                Optional<TopicDescription> found = description(answer.getValue());
                found.ifPresentOrElse(topic -> see(name, topic), () -> miss(name));
                problem(name, found).ifPresent(problems::add);
            } catch (AuthorizationException e) {
                LOG.debug("{} cannot be watched: {}", name, e.getMessage());
            }
        }
        return problems;
    }

    private void see(String name, TopicDescription topic) {
        partitions.put(name, topic.partitions().size());
        absent.remove(name);
        ids.putIfAbsent(name, topic.topicId());
    }

    private void miss(String name) {
        if (ids.containsKey(name)) {
            absent.merge(name, 1, Integer::sum);
        }
    }

    private Optional<ClusterProblem> problem(String name, Optional<TopicDescription> found) {
        if (found.isEmpty()) {
            return absent.getOrDefault(name, 0) < LOOKS
                    ? Optional.empty()
                    : Optional.of(new ClusterProblem(
                            Kind.TOPIC_DELETED,
                            name,
                            name + " was deleted",
                            "Stop all instances and start them again, which creates it" + afterwards(name)));
        }
        return found.get().topicId().equals(ids.get(name))
                ? Optional.empty()
                : Optional.of(new ClusterProblem(
                        Kind.TOPIC_DELETED,
                        name,
                        name + " was deleted and created again",
                        "Restart all instances" + afterwards(name)));
    }

    /** Returns the partitions of the topics that only clients read, as of the last look. Thread-safe. */
    Set<TopicPartition> outputs() {
        Set<TopicPartition> outputs = new HashSet<>();
        for (String name : List.of(topics.decisions(), topics.replies(), topics.releases(), topics.deadLetters())) {
            for (int partition = 0; partition < partitions.getOrDefault(name, 0); partition++) {
                outputs.add(new TopicPartition(name, partition));
            }
        }
        return outputs;
    }

    /** Returns what else the loss of a topic requires. */
    private String afterwards(String name) {
        if (stateOf.containsKey(name)) {
            return ". The state of " + stateOf.get(name) + " starts empty, unless you restore a backup";
        }
        if (name.equals(topics.policies())) {
            return ", and apply the policies (weir policies apply)";
        }
        if (name.equals(topics.policyHistory())) {
            return ". Earlier versions of policies are lost";
        }
        return ". Its records are lost";
    }

    /**
     * Returns the description of a topic; empty if it does not exist.
     *
     * @throws AuthorizationException if this user may not describe it
     */
    private static Optional<TopicDescription> description(KafkaFuture<TopicDescription> answer) {
        try {
            return Optional.of(answer.get(TIMEOUT_SECONDS, TimeUnit.SECONDS));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException
                    || e.getCause() instanceof InvalidTopicException) {
                return Optional.empty();
            }
            throw e.getCause() instanceof KafkaException refusal ? refusal : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new KafkaException("no response within " + TIMEOUT_SECONDS + "s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new KafkaException("interrupted", e);
        }
    }
}
