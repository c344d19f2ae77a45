package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.UnreachableException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Checks whether the existing topics meet Weir's requirements, before any of them is read. */
public final class TopicCheck {

    private static final Logger LOG = LoggerFactory.getLogger(TopicCheck.class);
    private static final int TIMEOUT_SECONDS = 30;
    private static final int POLL_MS = 50;

    private TopicCheck() {}

    /**
     * The result of a check.
     *
     * @param faults the problems that prevent Weir from working
     * @param warnings the problems that an operator should know about
     * @param notAllowed the topics whose settings were not checked because the user has no permission to read them
     */
    public record Findings(
            List<TopicRequirements.Fault> faults, List<TopicRequirements.Warning> warnings, Set<String> notAllowed) {}

    /**
     * Checks the existing topics and logs warnings.
     *
     * @throws WrongTopicsException if Weir cannot work with them
     * @throws UnreachableException if no broker responds, or it rejects a request
     */
    public static void require(Admin admin, WeirConfig config) {
        Findings found = judge(admin, config);
        if (!found.notAllowed().isEmpty()) {
            LOG.warn(
                    "The settings of {} are not checked, because the user has no DescribeConfigs permission",
                    String.join(", ", found.notAllowed()));
        }
        found.warnings().forEach(warning -> LOG.warn(warning.what()));
        if (!found.faults().isEmpty()) {
            throw new WrongTopicsException(found.faults());
        }
    }

    /**
     * Checks the existing topics without changing anything.
     *
     * @throws UnreachableException if no broker responds, or it rejects a request
     */
    public static Findings judge(Admin admin, WeirConfig config) {
        TopicRequirements rules = new TopicRequirements(config);
        try {
            Set<String> names = new HashSet<>(rules.changelogs().keySet());
            names.addAll(TopicSetup.names(config));
            names.retainAll(await(admin.listTopics().names()));
            boolean isAlone = await(admin.describeCluster().nodes()).size() == 1;
            List<TopicRequirements.Existing> existing = look(admin, names);
            rules.judge(existing, isAlone);
            return new Findings(rules.faults(), rules.warnings(), notAllowed(existing));
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "cannot describe the topics: " + UnreachableException.causeMessage(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the brokers did not describe the topics in time", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while describing the topics", e);
        }
    }

    private static Set<String> notAllowed(List<TopicRequirements.Existing> existing) {
        Set<String> names = new TreeSet<>();
        existing.stream().filter(topic -> topic.settings().isEmpty()).forEach(topic -> names.add(topic.name()));
        return names;
    }

    /** Retries for some time, because brokers learn of a new topic at different times. */
    private static List<TopicRequirements.Existing> look(Admin admin, Set<String> names)
            throws ExecutionException, InterruptedException, TimeoutException {
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        while (true) {
            try {
                return existing(admin, names);
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof UnknownTopicOrPartitionException)
                        || System.nanoTime() - deadlineNanos > 0) {
                    throw e;
                }
                Thread.sleep(POLL_MS);
            }
        }
    }

    private static List<TopicRequirements.Existing> existing(Admin admin, Set<String> names)
            throws ExecutionException, InterruptedException, TimeoutException {
        Map<String, TopicDescription> descriptions =
                await(admin.describeTopics(names).allTopicNames());
        Map<String, Map<String, String>> settings = settings(admin, names);
        List<TopicRequirements.Existing> existing = new ArrayList<>();
        descriptions.forEach((name, topic) -> existing.add(new TopicRequirements.Existing(
                name, topic.partitions().size(), replicas(topic), settings.getOrDefault(name, Map.of()))));
        return existing;
    }

    private static Map<String, Map<String, String>> settings(Admin admin, Collection<String> names)
            throws ExecutionException, InterruptedException, TimeoutException {
        List<ConfigResource> resources = names.stream()
                .map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name))
                .toList();
        Map<String, Map<String, String>> settings = new HashMap<>();
        for (var topic : admin.describeConfigs(resources).values().entrySet()) {
            try {
                Map<String, String> values = new HashMap<>();
                for (ConfigEntry entry : await(topic.getValue()).entries()) {
                    values.put(entry.name(), entry.value());
                }
                settings.put(topic.getKey().name(), values);
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof AuthorizationException)) {
                    throw e;
                }
            }
        }
        return settings;
    }

    private static int replicas(TopicDescription topic) {
        return topic.partitions().stream()
                .mapToInt(partition -> partition.replicas().size())
                .min()
                .orElse(0);
    }

    private static <T> T await(KafkaFuture<T> answer)
            throws ExecutionException, InterruptedException, TimeoutException {
        return answer.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }
}
