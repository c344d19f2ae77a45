package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.testing.AclTable;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.provider.FileConfigProvider;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Brokers that require TLS and a password, and grant each role only its permissions in the table of
 * {@code how-to/secure.md}.
 */
final class SecuredCluster implements AutoCloseable {

    static final Duration PATIENCE = Duration.ofMinutes(4);

    /** The token of the service. */
    static final String TOKEN = "token-0f3a9c55e1b7";

    private static final String[] ROLES = {
        "topics", "enforcer", "rules", "requester", "replayer", "reader", "client", "leased", "worker", "auditor"
    };

    private static final String RULES = """
            policies:
              - id: free
                match: {tier: free}
                limits: [{algorithm: sliding-window-log, limit: 2, per: 1m}]
              - id: sms
                layer: sms
                match: {endpoint: /sms}
                queue: sms
              - id: pools
                key: [pool]
                match: {pool: "*"}
                lease: client
                limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]
            queues:
              - id: sms
                limit: 10
                per: 1s
            """;

    private final Path directory;
    private final SecuredBroker broker;
    private final Admin admin;

    private SecuredCluster(Path directory, SecuredBroker broker) {
        this.directory = directory;
        this.broker = broker;
        admin = Admin.create(new HashMap<>(broker.admin()));
    }

    /** Starts a broker, grants the permissions, and writes a configuration for each role: {@code ROLE.yaml}. */
    static SecuredCluster start(Path directory) throws Exception {
        SecuredCluster cluster = new SecuredCluster(directory, SecuredBroker.start(directory, ROLES));
        cluster.admin
                .createAcls(AclTable.read().stream().map(AclTable.Line::binding).toList())
                .all()
                .get();
        cluster.awaitAcls(AclTable.read().size());
        for (String role : ROLES) {
            cluster.write(role + ".yaml", cluster.yaml(cluster.withSecretsInFile(role)));
        }
        cluster.rules(1);
        return cluster;
    }

    @Override
    public void close() {
        admin.close();
        broker.close();
    }

    /** Returns the client of the superuser. */
    Admin admin() {
        return admin;
    }

    /** Returns the directory of the files. */
    Path directory() {
        return directory;
    }

    /** Returns client settings with another password. */
    Map<String, String> client(String role, String password) {
        return broker.client(role, password);
    }

    Map<String, String> client(String role) {
        return broker.client(role, SecuredBroker.password(role));
    }

    String yaml(Map<String, String> kafka) {
        StringBuilder text = new StringBuilder(
                "service: {port: 0}\nstate: {directory: " + directory.resolve("state") + "}\nkafka:\n");
        kafka.forEach((key, value) -> text.append("  %s: '%s'\n".formatted(key, value)));
        return text.toString();
    }

    /** Writes a policy file with a limit. Returns its path. */
    String rules(int limit) throws IOException {
        return write("rules-file.yaml", RULES.replace("limit: 2", "limit: " + limit))
                .toString();
    }

    Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    void createTopics(String role) throws Exception {
        createTopics(role, "weir.");
    }

    void createTopics(String role, String prefix) throws Exception {
        Path file = write("topics-" + role + ".yaml", yaml(client(role)) + "topics: {prefix: " + prefix + "}\n");
        WeirConfig config = ConfigFile.read(file);
        try (Admin own = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(own, config, TopicSetup.RequestTime.LOG_APPEND);
        }
    }

    String command(String role, String... args) {
        CapturedRun result = shell(role, args);
        assertThat(result.exit()).as(result.err()).isZero();
        assertTellsNoSecret(result.out() + result.err());
        return result.out();
    }

    CapturedRun shell(String role, String... args) {
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("-c", directory.resolve(role + ".yaml").toString()));
        return Shell.run(all.toArray(String[]::new));
    }

    /** Returns all committed records of a topic. */
    List<ConsumerRecord<String, byte[]>> read(String role, String topic) {
        Map<String, Object> settings = new HashMap<>(client(role));
        settings.put("isolation.level", "read_committed");
        List<ConsumerRecord<String, byte[]>> records = new ArrayList<>();
        try (KafkaConsumer<String, byte[]> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                consumer.poll(Duration.ofMillis(100)).forEach(records::add);
            }
        }
        return records;
    }

    <T> T without(AclTable.Line line, Supplier<T> action) throws Exception {
        int all = acls();
        admin.deleteAcls(List.of(line.binding().toFilter())).all().get();
        awaitAcls(all - 1);
        try {
            return action.get();
        } finally {
            admin.createAcls(List.of(line.binding())).all().get();
            awaitAcls(all);
        }
    }

    /** Returns client settings that read the secrets from a file, which this method writes. */
    private Map<String, String> withSecretsInFile(String role) throws IOException {
        Map<String, String> client = client(role);
        StringBuilder secrets = new StringBuilder();
        for (String key : List.of("sasl.jaas.config", "ssl.truststore.password")) {
            secrets.append(key + "=" + client.get(key) + "\n");
            client.put(key, "${file:" + directory.resolve(role + ".properties") + ":" + key + "}");
        }
        write(role + ".properties", secrets.toString());
        client.put("config.providers", "file");
        client.put("config.providers.file.class", FileConfigProvider.class.getName());
        return client;
    }

    private void awaitAcls(int count) {
        await(count + " permissions", PATIENCE, () -> acls() == count);
    }

    private int acls() {
        try {
            return admin.describeAcls(AclBindingFilter.ANY).values().get().size();
        } catch (ExecutionException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void assertTellsNoSecret(String text) {
        Stream.concat(Stream.of(ROLES).map(SecuredBroker::password), Stream.of(TOKEN, SecuredBroker.storePassword()))
                .forEach(secret -> assertThat(text.lines().filter(line -> line.contains(secret)))
                        .as(secret)
                        .isEmpty());
    }
}
