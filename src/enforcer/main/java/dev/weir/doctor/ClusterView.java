package dev.weir.doctor;

import dev.weir.config.WeirConfig;
import dev.weir.topics.KafkaCommands;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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

/** What the checks ask; what several of them need is asked once. */
final class ClusterView implements AutoCloseable {

    static final String TRANSACTION_LOG = "__transaction_state";
    static final String OFFSETS = "__consumer_offsets";

    static final int TIMEOUT_MS = 10_000;

    private static final Pattern USER = Pattern.compile("username=\"([^\"]*)\"");

    private final WeirConfig config;
    private final List<URI> services;
    private final HttpClient http;
    private final Topics topics;
    private final KafkaCommands tools;
    private final Map<String, TopicDescription> descriptions = new TreeMap<>();
    private final Set<String> unauthorizedTopics = new TreeSet<>();
    private boolean isDescribed;
    private Admin admin;

    ClusterView(WeirConfig config, List<URI> services, HttpClient http) {
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

    /** A client that knows one address alone. */
    Admin adminOf(String address) {
        Properties settings = KafkaSettings.admin(config);
        settings.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, address);
        return Admin.create(settings);
    }

    /** Topics that there must be, then the changelogs. */
    List<String> names() {
        List<String> names = new ArrayList<>(TopicSetup.names(config));
        names.addAll(new TopicRequirements(config).changelogs().keySet());
        return names;
    }

    /** Weir's topics, and the two of the brokers' own that it needs, as far as they are there and may be seen. */
    Map<String, TopicDescription> descriptions() {
        if (!isDescribed) {
            describe();
            isDescribed = true;
        }
        return descriptions;
    }

    /** Those that this user may not see, be they there or not. */
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
                // not there: each check tells what that means to it
            }
        });
    }

    /**
     * Whether one of the brokers' own topics may be there. To ask about a group, or a transaction, makes the topic that
     * has them, if it is not.
     */
    boolean mayExist(String internal) {
        return descriptions().containsKey(internal) || unauthorizedTopics().contains(internal);
    }

    /** As far as they are there and their settings may be read. */
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
                // the check of settings tells
            }
        });
        return settings;
    }

    /** What an operator types to let this user do more. */
    String grantCommand(String operation, String resource) {
        return tools.grant(user().map(user -> "User:" + user).orElse("User:<this user>"), operation, resource);
    }

    /** As whom this configuration logs in, if it is by a name. */
    private Optional<String> user() {
        Password login = new AdminClientConfig(KafkaSettings.admin(config)).getPassword("sasl.jaas.config");
        Matcher user = USER.matcher(login == null ? "" : login.value());
        return user.find() ? Optional.of(user.group(1)) : Optional.empty();
    }

    /**
     * What brokers answer.
     *
     * @throws KafkaException as they refuse
     * @throws UnreachableException if they do not answer
     */
    <T> T await(KafkaFuture<T> answer) {
        try {
            return answer.get(2L * TIMEOUT_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof KafkaException refusal ? refusal : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new UnreachableException("no answer within " + 2 * TIMEOUT_MS / 1_000 + " s", e);
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
