package dev.weir.watch;

import dev.weir.config.WeirConfig;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import dev.weir.topology.Topics;
import dev.weir.watch.ClusterProblem.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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

/**
 * Detects that a topic of the enforcer is deleted while it runs. Kafka's clients wait for such a topic without a
 * message, since it could be one that was just created.
 *
 * <p>A topic is missing if it existed before and two successive looks do not find it, because a broker that has just
 * started may not know all topics yet. A topic with another id was deleted and created again.
 */
final class TopicWatch {

    /** The number of successive looks that must not find a topic. */
    static final int LOOKS = 2;

    private static final int TIMEOUT_SECONDS = 10;

    private final Admin admin;
    private final Topics topics;
    private final Map<String, String> stateOf = new TreeMap<>();
    private final Set<String> names;
    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<String, Integer> absent = new HashMap<>();
    private final Map<String, Integer> partitions = new HashMap<>();

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
        List<ClusterProblem> problems = new ArrayList<>();
        Map<String, KafkaFuture<TopicDescription>> answers =
                admin.describeTopics(names).topicNameValues();
        for (String name : names) {
            TopicDescription found = description(answers.get(name));
            if (found != null) {
                Uuid id = found.topicId();
                partitions.put(name, found.partitions().size());
                absent.remove(name);
                Uuid before = ids.putIfAbsent(name, id);
                if (before != null && !before.equals(id)) {
                    problems.add(new ClusterProblem(
                            Kind.TOPIC_DELETED,
                            name,
                            name + " was deleted and created again",
                            "Restart all instances" + afterwards(name)));
                }
            } else if (ids.containsKey(name) && absent.merge(name, 1, Integer::sum) >= LOOKS) {
                problems.add(new ClusterProblem(
                        Kind.TOPIC_DELETED,
                        name,
                        name + " was deleted",
                        "Stop all instances and start them again, which creates it" + afterwards(name)));
            }
        }
        return problems;
    }

    /** Returns the partitions of the topics that only clients read, as of the last look. */
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

    /** Returns the description of a topic, {@code null} if it does not exist. One that is hidden has the id zero. */
    private static TopicDescription description(KafkaFuture<TopicDescription> answer) {
        try {
            return answer.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException
                    || e.getCause() instanceof InvalidTopicException) {
                return null;
            }
            if (e.getCause() instanceof AuthorizationException) {
                return new TopicDescription("", false, List.of());
            }
            throw e.getCause() instanceof KafkaException refusal ? refusal : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new KafkaException("no response within " + TIMEOUT_SECONDS + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new KafkaException("interrupted", e);
        }
    }
}
