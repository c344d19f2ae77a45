package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.CommandRun;
import dev.weir.testing.NodePackages;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.OutputFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the examples of the guide for other languages that use Kafka, with a real broker. */
@Tag("full")
class OtherLanguagesTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Path GUIDE = Path.of("topology-docs", "how-to", "other-languages.md");
    private static final Pattern FENCED = Pattern.compile("```(python|js|go)\n(.*?)```", Pattern.DOTALL);
    private static final Path GO_SOURCES = Path.of("/usr/share/gocode");
    private static final String PYTHON = "/usr/bin/python3";
    private static final String POLICIES =
            "policies: [{id: two, limits: [{algorithm: sliding-window-log, limit: 2, per: 1h}]}]";

    @TempDir
    static Path directory;

    private static Enforcer json;
    private static Enforcer avro;

    @BeforeAll
    static void start() throws Exception {
        json = enforce("in-json.", OutputFormat.JSON);
        avro = enforce("in-avro.", OutputFormat.AVRO);
    }

    @AfterAll
    static void stop() {
        json.close();
        avro.close();
    }

    private static Enforcer enforce(String prefix, OutputFormat format) throws Exception {
        WeirConfig config = WeirConfig.builder()
                .applicationId(prefix + "app")
                .threads(1)
                .topics(new WeirConfig.Topics(prefix, 2, 2, Optional.empty(), format))
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve(prefix))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
        Enforcer enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
        return enforcer;
    }

    /** Returns an example of the guide, changed to use the topics and the broker of this test. */
    private static Path example(String language, int number, String prefix) throws Exception {
        List<String> examples = FENCED.matcher(Files.readString(GUIDE))
                .results()
                .filter(fence -> fence.group(1).equals(language))
                .map(fence -> fence.group(2))
                .filter(program -> program.contains("weir.decisions"))
                .toList();
        assertThat(examples).hasSize(2);
        String program = examples.get(number)
                .replace("localhost:9092", TestBroker.shared().bootstrapServers())
                .replace("weir.decisions", prefix + "decisions")
                .replace("weir.requests", prefix + "requests");
        return Files.writeString(directory.resolve(prefix + language), program);
    }

    private static void assertTwoAreAllowed(String... command) throws Exception {
        for (String expected :
                List.of("ALLOWED WITHIN_LIMITS 200", "ALLOWED WITHIN_LIMITS 200", "DENIED LIMIT_EXCEEDED 429")) {
            CommandRun run = CommandRun.of(directory, NodePackages.environment(), command);
            assertThat(run.output().strip()).isEqualTo(expected);
            assertThat(run.succeeded()).isTrue();
        }
    }

    private static Path built(Path program) throws Exception {
        Map<String, String> environment = Map.of(
                "GO111MODULE", "off",
                "GOPATH", GO_SOURCES.toString(),
                "GOCACHE", directory.resolve("go-cache").toString());
        String source = Files.readString(program).replace("/v2", "").replace("\"alice\"", "\"carol\"");
        Path file = Files.writeString(directory.resolve("example.go"), source);
        Path built = directory.resolve("example");
        CommandRun build =
                CommandRun.of(directory, environment, "go", "build", "-o", built.toString(), file.toString());
        assertThat(build.succeeded()).as(build.output()).isTrue();
        return built;
    }

    private static void assumeGo() {
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/go"))
                        && Files.isDirectory(GO_SOURCES.resolve("src/github.com/confluentinc/confluent-kafka-go"))
                        && Files.isDirectory(GO_SOURCES.resolve("src/github.com/linkedin/goavro")),
                "Go is not tested: install Debian's golang-go, golang-github-confluentinc-confluent-kafka-go-dev and"
                        + " golang-github-linkedin-goavro-dev");
    }

    private static void copySchemas() throws Exception {
        Path schemas = Files.createDirectories(directory.resolve("schemas"));
        try (Stream<Path> files = Files.list(Path.of("schemas"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.copy(file, schemas.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    private static void assumePython(String modules) throws Exception {
        assumeTrue(
                Files.isExecutable(Path.of(PYTHON))
                        && CommandRun.of(directory, PYTHON, "-c", "import " + modules)
                                .succeeded(),
                "Python is not tested: install Debian's python3-confluent-kafka and python3-avro");
    }

    @Test
    void python_decides_in_json() throws Exception {
        assumePython("confluent_kafka");
        assertTwoAreAllowed(PYTHON, example("python", 0, "in-json.").toString());
    }

    @Test
    void python_decides_in_avro() throws Exception {
        assumePython("avro, confluent_kafka");
        copySchemas();
        assertTwoAreAllowed(PYTHON, example("python", 1, "in-avro.").toString());
    }

    @Test
    void node_decides_in_json() throws Exception {
        NodePackages.assumeInstalled();
        Path program = example("js", 0, "in-json.");
        assertTwoAreAllowed("node", asAnotherClient(program).toString());
    }

    @Test
    void node_decides_in_avro() throws Exception {
        NodePackages.assumeInstalled();
        copySchemas();
        Path program = example("js", 1, "in-avro.");
        assertTwoAreAllowed("node", asAnotherClient(program).toString());
    }

    @Test
    void go_decides_in_json() throws Exception {
        assumeGo();
        assertTwoAreAllowed(built(example("go", 0, "in-json.")).toString());
    }

    @Test
    void go_decides_in_avro() throws Exception {
        assumeGo();
        copySchemas();
        assertTwoAreAllowed(built(example("go", 1, "in-avro.")).toString());
    }

    /** The limit is for each client, and the examples in Python use alice. */
    private static Path asAnotherClient(Path program) throws Exception {
        return Files.writeString(program, Files.readString(program).replace("'alice'", "'bob'"));
    }
}
