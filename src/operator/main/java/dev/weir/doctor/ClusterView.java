package dev.weir.doctor;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.BootstrapCheck;
import dev.weir.kafka.BrokerFailure;
import dev.weir.kafka.KafkaCommands;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Access to the cluster for the checks. Results that several checks need are cached. */
final class ClusterView implements AutoCloseable {

    static final String TRANSACTION_LOG = "__transaction_state";
    static final String OFFSETS = "__consumer_offsets";

    static final int TIMEOUT_MS = 10_000;

    private static final Pattern USER = Pattern.compile("username=\"([^\"]*)\"");

    private final WeirConfig config;
    private final List<URI> services;
    private final boolean areServicesNamed;
    private final HttpClient http;
    private final Topics topics;
    private final KafkaCommands tools;
    private final Map<String, TopicDescription> descriptions = new TreeMap<>();
    private final Set<String> unauthorizedTopics = new TreeSet<>();
    private final Supplier<Map<String, Optional<BrokerFailure>>> bootstrapServers;
    private boolean isDescribed;
    private Admin admin;

    ClusterView(WeirConfig config, List<URI> services, boolean areServicesNamed, HttpClient http) {
        this.areServicesNamed = areServicesNamed;
        bootstrapServers = () -> BootstrapCheck.results(config);
        this.config = config.withKafka("admin.request.timeout.ms", String.valueOf(TIMEOUT_MS / 2))
                .withKafka("admin.default.api.timeout.ms", String.valueOf(TIMEOUT_MS));
        this.services = services;
        this.http = http;
        topics = Topics.of(config);
        tools = new KafkaCommands(config);
    }

    WeirConfig config() {
        return config;
    }

    List<URI> services() {
        return services;
    }

    /** Returns whether the user has named the services, so that each of them must respond. */
    boolean areServicesNamed() {
        return areServicesNamed;
    }

    HttpClient http() {
        return http;
    }

    Topics topics() {
        return topics;
    }

    KafkaCommands tools() {
        return tools;
    }

    Admin admin() {
        admin = admin == null ? Admin.create(KafkaSettings.admin(config)) : admin;
        return admin;
    }

    /** Returns the bootstrap servers, with the reason why they do not respond; empty for those that do. */
    Map<String, Optional<BrokerFailure>> bootstrapServers() {
        return bootstrapServers.get();
    }

    /** Returns the required topics, and then the changelogs. */
    List<String> names() {
        List<String> names = new ArrayList<>(TopicSetup.names(config));
        names.addAll(new TopicRequirements(config).changelogs().keySet());
        return names;
    }

    /**
     * Returns the descriptions of Weir's topics and of the two internal topics that it needs, as far as they exist and
     * this user may describe them.
     */
    Map<String, TopicDescription> descriptions() {
        if (!isDescribed) {
            describe();
            isDescribed = true;
        }
        return descriptions;
    }

    /** Returns the topics that this user may not describe. They may not exist. */
    Set<String> unauthorizedTopics() {
        descriptions();
        return unauthorizedTopics;
    }

    private void describe() {
        List<String> all = new ArrayList<>(names());
        all.addAll(List.of(TRANSACTION_LOG, OFFSETS));
        Map<String, KafkaFuture<TopicDescription>> answers = admin().describeTopics(
                        all, new DescribeTopicsOptions().includeAuthorizedOperations(true))
                .topicNameValues();
        answers.forEach((name, answer) -> {
            try {
                descriptions.put(name, await(answer));
            } catch (TopicAuthorizationException e) {
                unauthorizedTopics.add(name);
            } catch (UnknownTopicOrPartitionException e) {
                // reported by the checks that need the topic
            }
        });
    }

    /**
     * Returns whether an internal topic may exist. If it does not, a request about a group or a transaction would
     * create it.
     */
    boolean mayExist(String internal) {
        return descriptions().containsKey(internal) || unauthorizedTopics().contains(internal);
    }

    /** Returns the settings of topics, as far as they exist and this user may read them. */
    Map<String, Map<String, String>> settings(Iterable<String> names) {
        List<ConfigResource> resources = new ArrayList<>();
        names.forEach(name -> {
            if (descriptions().containsKey(name)) {
                resources.add(new ConfigResource(ConfigResource.Type.TOPIC, name));
            }
        });
        Map<String, Map<String, String>> settings = new TreeMap<>();
        admin().describeConfigs(resources).values().forEach((resource, answer) -> {
            try {
                Map<String, String> values = new HashMap<>();
                for (ConfigEntry entry : await(answer).entries()) {
                    values.put(entry.name(), entry.value());
                }
                settings.put(resource.name(), values);
            } catch (TopicAuthorizationException e) {
                // reported by the check of the topic settings
            }
        });
        return settings;
    }

    /** Returns the command that grants a permission to this user. */
    String grantCommand(String operation, String resource) {
        return tools.grant(user().map(user -> "User:" + user).orElse("User:<this user>"), operation, resource);
    }

    /** Returns the user name of the SASL configuration; empty if there is none. */
    private Optional<String> user() {
        Password login = new AdminClientConfig(KafkaSettings.admin(config)).getPassword("sasl.jaas.config");
        Matcher user = USER.matcher(login == null ? "" : login.value());
        return user.find() ? Optional.of(user.group(1)) : Optional.empty();
    }

    /**
     * Waits for a response of the brokers.
     *
     * @throws KafkaException if the brokers reject the request
     * @throws UnreachableException if they do not respond
     */
    <T> T await(KafkaFuture<T> answer) {
        try {
            return answer.get(2L * TIMEOUT_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof KafkaException refusal ? refusal : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new UnreachableException("no response within " + DurationsAndSizes.duration(2L * TIMEOUT_MS), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted", e);
        }
    }

    @Override
    public void close() {
        if (admin != null) {
            admin.close(Duration.ZERO);
        }
    }
}
