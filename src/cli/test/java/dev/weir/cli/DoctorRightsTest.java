package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.testing.AclTable;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code weir doctor} with missing permissions, and on an unused broker with wrong settings. */
@Tag("full")
@Timeout(240)
class DoctorRightsTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    @Test
    void each_missing_permission_of_an_enforcer_is_reported_with_the_command_that_grants_it() throws Exception {
        List<AclTable.Line> lines = AclTable.read().stream()
                .filter(line -> line.role().equals("enforcer"))
                .toList();
        try (SecuredBroker broker = SecuredBroker.start(directory, "enforcer");
                Admin admin = Admin.create(new HashMap<>(broker.admin()))) {
            TopicSetup.createMissing(admin, WeirConfig.DEFAULTS, TopicSetup.RequestTime.LOG_APPEND);
            createChangelogs(admin);
            Path config = config(broker.client("enforcer", SecuredBroker.password("enforcer")));

            List<JsonNode> without = doctor(1, config);
            assertThat(advice(without, "permissions"))
                    .as("without any permission")
                    .containsExactlyInAnyOrderElementsOf(commands(lines, broker));
            assertThat(without)
                    .filteredOn(one -> one.get("verdict").asText().equals("SKIP"))
                    .isNotEmpty();

            grant(admin, lines, lines.size());
            List<JsonNode> with = doctor(0, config);
            assertThat(advice(with, "permissions")).isEmpty();
            assertThat(with)
                    .as("checks that are skipped for lack of permissions")
                    .filteredOn(one -> one.get("verdict").asText().equals("SKIP"))
                    .extracting(one ->
                            one.get("group").asText() + "/" + one.get("check").asText())
                    .contains("brokers/controller", "brokers/settings", "topics/settings", "topics/transactions");
            assertThat(advice(with, "topics"))
                    .contains(command(
                            "--operation DescribeConfigs --topic weir. --resource-pattern-type prefixed", broker));
            assertThat(with.toString())
                    .doesNotContain(SecuredBroker.password("enforcer"), SecuredBroker.storePassword());

            AclTable.Line one = lines.stream()
                    .filter(line ->
                            line.resource().name().equals("weir.policies") && line.operation() == AclOperation.WRITE)
                    .findFirst()
                    .orElseThrow();
            admin.deleteAcls(List.of(one.binding().toFilter())).all().get();
            awaitAcls(admin, lines.size() - 1);
            assertThat(advice(doctor(1, config), "permissions")).isEqualTo(commands(List.of(one), broker));
        }
    }

    @Test
    void an_unused_broker_is_checked_and_not_changed() throws Exception {
        Map<String, String> settings = Map.of(
                "auto.create.topics.enable", "true",
                "transaction.abort.timed.out.transaction.cleanup.interval.ms", "10000",
                "offsets.retention.minutes", "60",
                "transaction.state.log.replication.factor", "3",
                "offsets.topic.replication.factor", "3");
        try (EmbeddedBroker broker = SetBroker.start(settings);
                Admin admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()))) {
            List<JsonNode> found = doctor(1, config(Map.of("bootstrap.servers", broker.bootstrapServers())));
            assertThat(found)
                    .filteredOn(one -> one.get("group").asText().equals("brokers")
                            && one.get("check").asText().equals("settings"))
                    .extracting(one -> one.get("verdict").asText() + " "
                            + one.get("advice").get(0).asText().replaceFirst(".*: ", ""))
                    .containsExactlyInAnyOrder(
                            "WARN auto.create.topics.enable=false",
                            "WARN transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
                            "WARN offsets.retention.minutes=1440",
                            "FAIL transaction.state.log.replication.factor=1",
                            "FAIL offsets.topic.replication.factor=1");
            assertThat(found)
                    .filteredOn(one -> one.get("check").asText().equals("existence"))
                    .singleElement()
                    .satisfies(one -> assertThat(one.get("found").asText()).startsWith("missing: weir.requests, "));
            assertThat(admin.listTopics(new ListTopicsOptions().listInternal(true))
                            .names()
                            .get())
                    .as("topics that the doctor created")
                    .isEmpty();
        }
    }

    private static void createChangelogs(Admin admin) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        new TopicRequirements(WeirConfig.DEFAULTS)
                .changelogs()
                .forEach((name, source) -> topics.add(
                        new NewTopic(name, Optional.of(source.endsWith("policies") ? 1 : 4), Optional.empty())
                                .configs(Map.of("cleanup.policy", "compact"))));
        admin.createTopics(topics).all().get();
    }

    private Path config(Map<String, String> kafka) throws IOException {
        StringBuilder text = new StringBuilder(
                "service: {enabled: false}\nstate: {directory: " + directory.resolve("state") + "}\nkafka:\n");
        kafka.forEach((key, value) -> text.append("  %s: '%s'\n".formatted(key, value)));
        return Files.writeString(directory.resolve("weir.yaml"), text);
    }

    private static List<JsonNode> doctor(int exit, Path config) throws IOException {
        CapturedRun result = Shell.run("doctor", "-c", config.toString(), "-o", "json");
        assertThat(result.exit()).as(result.out() + result.err()).isEqualTo(exit);
        List<JsonNode> found = new ArrayList<>();
        JSON.readTree(result.out()).get("findings").forEach(found::add);
        return found;
    }

    private static List<String> advice(List<JsonNode> found, String group) {
        List<String> advice = new ArrayList<>();
        found.stream().filter(one -> one.get("group").asText().equals(group)).forEach(one -> one.get("advice")
                .forEach(line -> advice.add(line.asText())));
        return advice;
    }

    /** Returns the commands that grant the permissions. */
    private static List<String> commands(Collection<AclTable.Line> lines, SecuredBroker broker) {
        return lines.stream().map(line -> command(line, broker)).toList();
    }

    private static String command(AclTable.Line line, SecuredBroker broker) {
        ResourcePattern resource = line.resource();
        String type = resource.resourceType().name().toLowerCase(Locale.ROOT).replace('_', '-');
        boolean isPrefixed = resource.patternType() == PatternType.PREFIXED;
        return command(
                "--operation " + AclTable.nameInCommands(line.operation()) + " --" + type + " " + resource.name()
                        + (isPrefixed ? " --resource-pattern-type prefixed" : ""),
                broker);
    }

    private static String command(String grant, SecuredBroker broker) {
        return "kafka-acls.sh --bootstrap-server " + broker.admin().get("bootstrap.servers")
                + " --command-config admin.properties --add --allow-principal User:enforcer " + grant;
    }

    private static void grant(Admin admin, Collection<AclTable.Line> lines, int count) throws Exception {
        Set<AclBinding> bindings = lines.stream().map(AclTable.Line::binding).collect(Collectors.toSet());
        admin.createAcls(bindings).all().get();
        awaitAcls(admin, count);
    }

    private static void awaitAcls(Admin admin, int count) throws Exception {
        await(
                count + " permissions",
                Duration.ofMinutes(2),
                () -> admin.describeAcls(AclBindingFilter.ANY).values().get().size() == count);
    }
}
