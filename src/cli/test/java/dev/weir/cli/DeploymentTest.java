package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.gateway.GatewayCommand;
import dev.weir.gateway.GatewayConfig;
import dev.weir.gateway.GatewayFile;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.Yaml;
import picocli.CommandLine;

/** Checks, without running Docker, that the files for Docker Compose are consistent with each other. */
class DeploymentTest {

    private static final Path DEPLOY = Path.of("src/deploy");
    private static final Pattern PINNED = Pattern.compile("[a-z./-]+:v?[0-9]+[0-9._a-z-]*@sha256:[0-9a-f]{64}");
    private static final Pattern VARIABLE = Pattern.compile("\\$\\{([A-Z_]+):-([^}]*)}");
    private static final Pattern MEBIBYTES = Pattern.compile("([0-9]+)m");

    /** The memory of a JVM besides its heap and RocksDB, as {@code weir doctor} computes it. */
    private static final long BESIDE_MIB = 256;

    private static final String BROKERS = "kafka-1:9092,kafka-2:9092,kafka-3:9092";

    private static final Pattern WITH_REGISTRY =
            Pattern.compile("#   WEIR_REGISTRY='([^']+)' docker compose --profile full --profile registry up\n");

    private static JsonNode compose;

    @TempDir
    Path directory;

    /** Reads the Compose file with SnakeYAML, because Jackson does not merge anchors. */
    @BeforeAll
    static void read() throws IOException {
        Object merged = new Yaml().load(Files.readString(Path.of("docker-compose.yml")));
        compose = new ObjectMapper().valueToTree(merged);
    }

    private static Map<String, JsonNode> services() {
        Map<String, JsonNode> services = new TreeMap<>();
        compose.get("services").properties().forEach(each -> services.put(each.getKey(), each.getValue()));
        return services;
    }

    private static JsonNode yaml(String file) throws IOException {
        return new ObjectMapper(new YAMLFactory()).readTree(DEPLOY.resolve(file).toFile());
    }

    private static String content(String config) {
        return content(config, Map.of());
    }

    /** Returns the content of a Compose config with its variables replaced from an environment, or by their defaults. */
    private static String content(String config, Map<String, String> environment) {
        return VARIABLE.matcher(compose.at("/configs/" + config + "/content").asText())
                .replaceAll(variable ->
                        Matcher.quoteReplacement(environment.getOrDefault(variable.group(1), variable.group(2))));
    }

    /** Returns the arguments of each line of the Dockerfile that has an instruction. */
    private static List<String> dockerfile(String instruction) throws IOException {
        return Files.readAllLines(DEPLOY.resolve("Dockerfile")).stream()
                .filter(line -> line.startsWith(instruction + " "))
                .map(line -> line.substring(instruction.length() + 1))
                .toList();
    }

    /** The environment variables that the image sets. */
    private static Map<String, String> imageEnvironment() throws IOException {
        Map<String, String> environment = new TreeMap<>();
        for (String variable : dockerfile("ENV")) {
            String[] parts = variable.split("=", 2);
            environment.put(parts[0], parts[1].replace("\"", ""));
        }
        return environment;
    }

    private static long memoryMib(JsonNode service) {
        Matcher limit = MEBIBYTES.matcher(service.path("mem_limit").asText());
        assertThat(limit.matches()).as("mem_limit: %s", limit).isTrue();
        return Long.parseLong(limit.group(1));
    }

    /** Returns the mounts of a service: the source by the path in the container. */
    private static Map<String, String> mounts(JsonNode service) {
        Map<String, String> mounts = new TreeMap<>();
        service.path("volumes").forEach(volume -> {
            String[] parts = volume.asText().split(":", -1);
            mounts.put(parts[1], parts[0]);
        });
        service.path("configs")
                .forEach(config -> mounts.put(
                        config.get("target").asText(),
                        "config " + config.get("source").asText()));
        return mounts;
    }

    @Test
    void the_profiles_start_one_broker_or_three_with_monitoring() {
        assertThat(started("dev")).containsOnlyKeys("kafka", "weir");
        assertThat(started("full"))
                .containsOnlyKeys("grafana", "kafka-1", "kafka-2", "kafka-3", "prometheus", "weir-1", "weir-2");
        assertThat(started("registry")).containsOnlyKeys("registry");
        assertThat(started("gateway")).containsOnlyKeys("gateway");
        assertThat(services()).hasSize(11);
    }

    @ParameterizedTest
    @ValueSource(strings = {"dev", "full", "full registry", "dev gateway", "full gateway"})
    void services_wait_for_services_that_are_started_and_checked(String profiles) {
        Map<String, JsonNode> started = started(profiles.split(" ", -1));
        started.forEach(
                (name, service) -> service.path("depends_on").properties().forEach(dependency -> {
                    JsonNode condition = dependency.getValue();
                    assertThat(condition.get("condition").asText()).isEqualTo("service_healthy");
                    if (condition.path("required").asBoolean(true)) {
                        assertThat(started).as(name).containsKey(dependency.getKey());
                    }
                    assertThat(services().get(dependency.getKey()).has("healthcheck"))
                            .isTrue();
                }));
    }

    /** Otherwise two services of a profile would need the same port of this machine. */
    @ParameterizedTest
    @ValueSource(strings = {"dev", "full", "full registry", "dev gateway", "full gateway"})
    void services_publish_different_ports_on_loopback_only(String profiles) {
        List<String> published = new ArrayList<>();
        started(profiles.split(" ", -1)).values().forEach(service -> service.path("ports")
                .forEach(port -> published.add(port.asText().replaceFirst(":[0-9]+$", ""))));
        assertThat(published).doesNotHaveDuplicates().allMatch(port -> port.startsWith("127.0.0.1:"));
    }

    private static Map<String, JsonNode> started(String... profiles) {
        Map<String, JsonNode> started = new TreeMap<>(services());
        started.values().removeIf(service -> Stream.of(profiles)
                .noneMatch(profile -> service.get("profiles").get(0).asText().equals(profile)));
        return started;
    }

    @Test
    void every_image_is_pinned_and_every_service_checked() throws IOException {
        services().forEach((name, service) -> {
            if (!service.has("build")) {
                assertThat(service.get("image").asText()).matches(PINNED);
            }
            assertThat(service.at("/healthcheck/test").size()).as(name).isGreaterThan(1);
        });
        assertThat(dockerfile("FROM"))
                .map(stage -> stage.split(" ", -1)[0])
                .filteredOn(image -> !image.equals("base"))
                .hasSize(2)
                .allSatisfy(image -> assertThat(image).matches(PINNED));
        assertThat(dockerfile("FROM").get(1)).matches("eclipse-temurin:(17|21)\\.[0-9._]+-jre-.*");
    }

    @Test
    void every_service_has_a_memory_limit_that_its_processes_fit_in() throws IOException {
        services()
                .forEach((name, service) ->
                        assertThat(memoryMib(service)).as(name).isPositive());
        Matcher heap = Pattern.compile("-XX:MaxRAMPercentage=([0-9]+)")
                .matcher(imageEnvironment().get("WEIR_JAVA_OPTS"));
        assertThat(heap.find()).isTrue();
        for (String name : List.of("weir", "weir-1", "weir-2")) {
            long limit = memoryMib(services().get(name));
            long state = (WeirConfig.DEFAULTS.state().memoryBytes() >> 20);
            assertThat(limit * Integer.parseInt(heap.group(1)) / 100 + state + BESIDE_MIB)
                    .isLessThan(limit);
        }
        Matcher broker = Pattern.compile("-Xmx([0-9]+)m")
                .matcher(services()
                        .get("kafka-1")
                        .at("/environment/KAFKA_HEAP_OPTS")
                        .asText());
        assertThat(broker.matches()).isTrue();
        assertThat(Long.parseLong(broker.group(1)) + 2 * BESIDE_MIB) // the health check is a JVM too
                .isLessThanOrEqualTo(memoryMib(services().get("kafka-1")));
    }

    @Test
    void the_state_is_on_the_volume_of_the_image_unless_a_file_says_otherwise() throws IOException {
        Path directory = ConfigFile.defaults(imageEnvironment()).state().directory();
        assertThat(dockerfile("VOLUME")).containsExactly(directory.toString());
        assertThat(dockerfile("RUN").get(1))
                .contains(" --uid 10001 ")
                .contains("install -d -o weir -g weir -m 750 " + directory);
        assertThat(mounts(services().get("weir-1"))).containsEntry(directory.toString(), "weir-1");
    }

    @Test
    void the_build_context_contains_only_what_the_dockerfile_copies() throws IOException {
        List<String> sources = new ArrayList<>();
        for (String copied : dockerfile("COPY")) {
            if (!copied.startsWith("--from")) {
                sources.add(copied.split(" ", -1)[0]);
            }
        }
        List<String> expected = new ArrayList<>(List.of("*"));
        sources.stream().sorted().forEach(source -> expected.add("!" + source));
        expected.add("src/*/test");
        assertThat(Files.readAllLines(Path.of(".dockerignore"))).isEqualTo(expected);
    }

    @Test
    void mounted_files_exist() {
        List<String> missing = new ArrayList<>();
        services().forEach((name, service) -> mounts(service).forEach((target, source) -> {
            boolean isThere = source.startsWith("./")
                    ? Files.exists(Path.of(source))
                    : source.startsWith("config ")
                            ? compose.get("configs").has(source.substring("config ".length()))
                            : compose.get("volumes").has(source);
            if (!isThere) {
                missing.add(name + ": " + source);
            }
        }));
        assertThat(missing).isEmpty();
    }

    @Test
    void instances_have_valid_configurations() throws Exception {
        for (String name : List.of("weir", "weir-1", "weir-2")) {
            JsonNode service = services().get(name);
            List<String> command = new ArrayList<>();
            service.get("command").forEach(word -> command.add(word.asText()));
            CommandLine.ParseResult parsed = new CommandLine(new Main())
                    .setCaseInsensitiveEnumValuesAllowed(true)
                    .parseArgs(command.toArray(String[]::new));
            assertThat(parsed.subcommand().commandSpec().userObject())
                    .isInstanceOfSatisfying(
                            RunCommand.class, run -> assertThat(run.logsJson()).isTrue());
            assertThat(mounts(service)).containsEntry(command.get(command.indexOf("--config") + 1), "config " + name);

            Path file = Files.writeString(directory.resolve(name), content(name));
            WeirConfig config = ConfigFile.read(file.toString(), Files.readString(file), imageEnvironment());
            assertThat(config.service().listener().advertise()).contains(name + ":" + WeirConfig.Service.DEFAULT_PORT);
            assertThat(mounts(service)).containsEntry(config.state().directory().toString(), name);
            assertThat(config.kafka().get("bootstrap.servers").split(",", -1))
                    .hasSize(service.get("depends_on").has("kafka") ? 1 : 3)
                    .allSatisfy(broker -> {
                        String host = broker.substring(0, broker.indexOf(':'));
                        assertThat(service.get("depends_on").has(host)).isTrue();
                        assertThat(services()
                                        .get(host)
                                        .at("/environment/KAFKA_LISTENERS")
                                        .asText())
                                .contains("INSIDE://:" + broker.substring(broker.indexOf(':') + 1));
                    });
            assertThat(service.at("/environment/WEIR_TOKEN").asText()).isEqualTo(content("token"));
        }
    }

    @Test
    void the_gateway_has_a_valid_configuration() throws Exception {
        JsonNode service = services().get("gateway");
        List<String> command = new ArrayList<>();
        service.get("command").forEach(word -> command.add(word.asText()));
        assertThat(new CommandLine(new Main())
                        .setCaseInsensitiveEnumValuesAllowed(true)
                        .parseArgs(command.toArray(String[]::new))
                        .subcommand()
                        .commandSpec()
                        .userObject())
                .isInstanceOfSatisfying(
                        GatewayCommand.class, run -> assertThat(run.logsJson()).isTrue());
        assertThat(mounts(service)).containsEntry(command.get(command.indexOf("--config") + 1), "config gateway");
        GatewayFile.Contents contents = GatewayFile.read("gateway.yaml", content("gateway"));
        assertThat(service.at("/ports/0").asText())
                .endsWith(":" + contents.gateway().httpPort());
        assertThat(contents.weir().kafka().get("bootstrap.servers").split(",", -1))
                .allSatisfy(broker -> assertThat(services()).containsKey(broker.replaceFirst(":9092$", "")));
    }

    @Test
    void no_secret_has_a_default_value() {
        assertThat(content("token")).startsWith("${WEIR_TOKEN:?");
        JsonNode grafana = services().get("grafana").get("environment");
        assertThat(grafana.get("GF_SECURITY_ADMIN_PASSWORD").asText()).startsWith("${GRAFANA_PASSWORD:-${WEIR_TOKEN:?");
        assertThat(grafana.has("GF_AUTH_ANONYMOUS_ENABLED")).isFalse();
    }

    @Test
    void instances_use_the_registry_that_is_started_as_the_file_says() throws Exception {
        Matcher command = WITH_REGISTRY.matcher(Files.readString(Path.of("docker-compose.yml")));
        assertThat(command.find()).isTrue();
        JsonNode registry = services().get("registry");
        for (String name : List.of("weir-1", "weir-2")) {
            assertThat(ConfigFile.read(name, content(name)).registry()).isEmpty();
            WeirConfig config = ConfigFile.read(name, content(name, Map.of("WEIR_REGISTRY", command.group(1))));
            URI url = URI.create(config.registry().get("url"));
            assertThat(services().get(url.getHost())).isEqualTo(registry);
            assertThat(registry.at("/ports/0").asText()).endsWith(":" + url.getPort());
            JsonNode after = services().get(name).at("/depends_on/registry");
            assertThat(after.get("condition").asText()).isEqualTo("service_healthy");
            assertThat(after.get("required").asBoolean()).isFalse(); // without the profile there is none
        }
    }

    /** In memory, a registry gives the ids of its schemas to others after a restart. */
    @Test
    void the_registry_keeps_its_ids_on_the_brokers() {
        JsonNode registry = services().get("registry");
        assertThat(registry.at("/environment/APICURIO_STORAGE_KIND").asText()).isEqualTo("kafkasql");
        assertThat(registry.at("/environment/APICURIO_KAFKASQL_BOOTSTRAP_SERVERS")
                        .asText())
                .isEqualTo(BROKERS);
        assertThat(registry.get("depends_on").size()).isEqualTo(3);
    }

    @Test
    void brokers_abort_abandoned_transactions_within_a_second() {
        for (int id = 1; id <= 3; id++) {
            JsonNode environment = services().get("kafka-" + id).get("environment");
            assertThat(environment
                            .path("KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS")
                            .asInt())
                    .isEqualTo(1000);
        }
    }

    @Test
    void brokers_have_unique_ids_and_addresses() {
        for (int id = 1; id <= 3; id++) {
            JsonNode environment = services().get("kafka-" + id).get("environment");
            assertThat(environment.get("KAFKA_NODE_ID").asInt()).isEqualTo(id);
            assertThat(environment.get("KAFKA_ADVERTISED_LISTENERS").asText())
                    .startsWith("INSIDE://kafka-" + id + ":9092");
            assertThat(environment.get("KAFKA_CONTROLLER_QUORUM_VOTERS").asText())
                    .contains(id + "@kafka-" + id + ":9093");
        }
    }

    @Test
    void prometheus_is_configured_with_instances_token_and_alerts() throws IOException {
        JsonNode prometheus = yaml("prometheus.yaml");
        Map<String, String> mounts = mounts(services().get("prometheus"));
        List<String> targets = new ArrayList<>();
        prometheus.findValue("targets").forEach(target -> targets.add(target.asText()));
        assertThat(targets)
                .containsExactly(
                        "weir-1:" + WeirConfig.Service.DEFAULT_PORT, "weir-2:" + WeirConfig.Service.DEFAULT_PORT);
        JsonNode gateways = prometheus.at("/scrape_configs/1");
        assertThat(gateways.get("job_name").asText()).isEqualTo("weir-gateway"); // as alerts.yaml says
        assertThat(gateways.get("authorization")).isEqualTo(prometheus.at("/scrape_configs/0/authorization"));
        assertThat(services())
                .containsKey(gateways.at("/dns_sd_configs/0/names/0").asText());
        assertThat(gateways.at("/dns_sd_configs/0/port").asInt()).isEqualTo(GatewayConfig.DEFAULT_HTTP_PORT);
        assertThat(mounts)
                .containsEntry(prometheus.findValue("credentials_file").asText(), "config token")
                .containsEntry(prometheus.get("rule_files").get(0).asText(), "./src/deploy/alerts.yaml")
                .containsEntry("/etc/prometheus/prometheus.yaml", "./src/deploy/prometheus.yaml");
    }

    @Test
    void grafana_is_provisioned_with_prometheus_and_the_dashboard() throws IOException {
        String source = yaml("grafana/provisioning/datasources/prometheus.yaml")
                .findValue("url")
                .asText();
        assertThat(source).isEqualTo("http://prometheus:9090");
        String path = yaml("grafana/provisioning/dashboards/weir.yaml")
                .findValue("path")
                .asText();
        assertThat(mounts(services().get("grafana")))
                .containsEntry(path + "/weir.json", "./src/deploy/grafana/weir.json")
                .containsEntry("/etc/grafana/provisioning", "./src/deploy/grafana/provisioning");
    }

    @Test
    void the_image_starts_the_launcher_beside_the_jar_and_its_class_archive() throws IOException {
        assertThat(dockerfile("ENTRYPOINT")).containsExactly("[\"/opt/weir/bin/weir\"]");
        assertThat(dockerfile("COPY"))
                .contains(
                        "--from=build /weir/src/deploy/bin/weir /opt/weir/bin/weir",
                        "--from=build /weir/target/weir.jar /weir/target/bom.json /opt/weir/lib/");
        assertThat(dockerfile("RUN").get(3))
                .startsWith("java ")
                .contains("-XX:ArchiveClassesAtExit=/opt/weir/lib/weir.jsa -jar /opt/weir/lib/weir.jar");
        assertThat(Files.readString(DEPLOY.resolve("bin/weir"))).contains("beside=${jar%.jar}.jsa\n");
    }

    @Test
    void the_image_copies_existing_files_and_does_not_run_as_root() throws IOException {
        List<String> lines = Files.readAllLines(DEPLOY.resolve("Dockerfile"));
        assertThat(lines)
                .contains(
                        "USER 10001",
                        "EXPOSE " + WeirConfig.Service.DEFAULT_PORT + " " + WeirConfig.Service.DEFAULT_HEALTH_PORT,
                        "EXPOSE " + GatewayConfig.DEFAULT_HTTP_PORT + " " + GatewayConfig.DEFAULT_GRPC_PORT);
        lines.stream()
                .filter(line -> line.startsWith("COPY ") && !line.contains("--from"))
                .forEach(line -> assertThat(Path.of(line.split(" ", -1)[1])).exists());
        assertThat(services().get("weir-1").at("/build/dockerfile").asText()).isEqualTo("src/deploy/Dockerfile");
    }

    @Test
    void the_example_configuration_has_the_defaults_except_for_directory_and_broker() throws Exception {
        WeirConfig config = ConfigFile.read(DEPLOY.resolve("config/weir.yaml"));
        assertThat(config)
                .isEqualTo(WeirConfig.DEFAULTS
                        .withStateDirectory(Path.of("/var/lib/weir"))
                        .withKafka("bootstrap.servers", "localhost:9092"));
    }

    @Test
    void the_example_policies_are_valid() {
        CapturedRun run = Shell.run(
                "policies", "validate", DEPLOY.resolve("config/policies.yaml").toString());
        assertThat(run.err()).isEmpty();
        assertThat(run.exit()).isZero();
    }

    @Test
    void the_page_lists_every_alert_and_marks_those_that_page() throws IOException {
        List<String> lines = Files.readAllLines(Path.of("topology-docs/how-to/operate.md"));
        for (JsonNode alert : yaml("alerts.yaml").findParents("alert")) {
            String name = "- `" + alert.get("alert").asText() + "`";
            boolean pages = alert.at("/labels/severity").asText().equals("page");
            assertThat(lines).anyMatch(line -> line.startsWith(name + (pages ? " \\*: " : ": ")));
        }
    }
}
