package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.weir.config.WeirConfig;
import dev.weir.event.Release;
import dev.weir.kafka.KafkaSettings;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.ReleaseCodec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Commands whose brokers do not respond, and the environment variables with the addresses. Tests that only wait for a
 * timeout run at the same time.
 */
@Tag("full")
class BrokersAwayTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String START =
            "start the brokers, or correct --bootstrap-server, WEIR_BOOTSTRAP or kafka.bootstrap.servers";

    @TempDir
    static Path directory;

    private static ServerSocket silent;

    @BeforeAll
    static void start() throws IOException {
        silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress()); // connects, and is never read
        Files.writeString(directory.resolve("rules.yaml"), "policies: [{id: p, limits: [{unlimited: true}]}]");
    }

    @AfterAll
    static void stop() throws IOException {
        silent.close();
    }

    private static Stream<Arguments> commandsAndBrokers() {
        String rules = directory.resolve("rules.yaml").toString();
        List<List<String>> commands = List.of(
                List.of("run", "--service-port", "0"),
                List.of("run", "--service-port", "0", "--policies", rules),
                List.of("audit"),
                List.of("policies", "apply", rules),
                List.of("policies", "list"),
                List.of("policies", "delete", "p"),
                List.of("policies", "history", "p"),
                List.of("policies", "reset", "alice"),
                List.of("dead-letters", "list"),
                List.of("dead-letters", "replay", "--all"),
                List.of("send", rules),
                List.of("send", "--await", rules),
                List.of("watch", "decisions"),
                List.of("watch", "releases"));
        String accepts = "127.0.0.1:" + silent.getLocalPort();
        Map<String, String> brokers = Map.of(
                "127.0.0.1:1",
                "connection refused",
                accepts,
                "no response within 2s",
                "no-such-host.invalid:9092",
                "unknown host");
        return commands.stream().flatMap(command -> brokers.entrySet().stream()
                .map(one -> Arguments.of(command, one.getKey(), one.getValue())));
    }

    /** Returns a configuration with a limit, so that commands do not wait longer for slow brokers. */
    private static String limited(int limitMs) {
        try {
            Path own = Files.createTempDirectory(directory, "command");
            return Files.writeString(
                            own.resolve("weir.yaml"),
                            "state: {directory: " + own.resolve("state") + "}\n"
                                    + "kafka: {default.api.timeout.ms: %d}\n".formatted(limitMs))
                    .toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @Execution(ExecutionMode.CONCURRENT)
    @MethodSource("commandsAndBrokers")
    void brokers_that_do_not_respond_are_one_line_with_the_address_and_the_reason(
            List<String> command, String broker, String reason) {
        CapturedRun run = Shell.run(Stream.concat(command.stream(), Stream.of("-b", broker, "-c", limited(2_000)))
                .toArray(String[]::new));
        boolean hasSubcommand = Set.of("policies", "dead-letters", "watch").contains(command.get(0));
        String name = "weir " + String.join(" ", command.subList(0, hasSubcommand ? 2 : 1));
        assertThat(run)
                .isEqualTo(new CapturedRun(
                        command.get(0).equals("audit") ? 2 : 1,
                        "",
                        name + ": no broker responds at " + broker + " (" + reason + "); " + START + "\n"));
    }

    @Test
    void a_command_that_waits_for_a_broker_says_so_on_a_terminal() throws Exception {
        assumeThat(Path.of("/usr/bin/script")).isExecutable();
        assumeThat(System.getProperty("os.name")).isEqualTo("Linux");
        String broker = "127.0.0.1:" + silent.getLocalPort();
        List<String> list = JavaProcess.of(List.of(), Main.class, "policies", "list", "-b", broker)
                .command();
        Process terminal =
                new ProcessBuilder("script", "-qec", "'" + String.join("' '", list) + "'", "/dev/null").start();
        try (BufferedReader out = terminal.inputReader()) {
            assertThat(out.readLine()).isEqualTo("weir policies list: connecting to " + broker + " ...");
            assertThat(terminal.isAlive()).isTrue();
        } finally {
            terminal.descendants().forEach(ProcessHandle::destroyForcibly);
            terminal.destroyForcibly();
        }
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void a_command_that_waits_for_a_broker_is_silent_elsewhere() {
        String broker = "127.0.0.1:" + silent.getLocalPort();
        assertThat(Shell.run("policies", "list", "-b", broker, "-c", limited(6_000)))
                .isEqualTo(new CapturedRun(
                        1,
                        "",
                        "weir policies list: no broker responds at " + broker + " (no response within 6s); " + START
                                + "\n"));
    }

    @Test
    void all_addresses_are_named() {
        assertThat(Shell.run("policies", "list", "-b", "127.0.0.1:1,no-such-host.invalid:9092")
                        .err())
                .isEqualTo("weir policies list: no broker responds at 127.0.0.1:1 (connection refused),"
                        + " no-such-host.invalid:9092 (unknown host); " + START + "\n");
    }

    @ParameterizedTest
    @CsvSource({"localhost", "localhost:", "localhost:0", "localhost:65536", "'localhost:1,'", "http://a"})
    void an_invalid_address_is_named_with_its_option(String address) {
        assertThat(Shell.run("policies", "list", "-b", address))
                .isEqualTo(new CapturedRun(
                        2,
                        "",
                        "weir policies list: --bootstrap-server must be HOST:PORT, or several separated by commas, is '"
                                + address + "'\n"));
    }

    @ParameterizedTest
    @Execution(ExecutionMode.CONCURRENT)
    @CsvSource({"false, connection refused", "true, no response within 30s"})
    void watch_reports_once_that_the_broker_is_away_and_once_that_it_is_back(boolean isPaused, String reason)
            throws Exception {
        Path here = Files.createTempDirectory(directory, "watch");
        try (BrokerCluster brokers = BrokerCluster.start(here, 1)) {
            ChildProcess broker = brokers.brokers().get(0);
            String address = brokers.bootstrapServers();
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", address);
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            send(address, Release.builder("r", "c", "q").releaseAtNanos(1_500).build());
            Path out = here.resolve("watch.out");
            Path err = here.resolve("watch.err");
            Process watch = JavaProcess.of(
                            List.of(), Main.class, "watch", "releases", "--from-beginning", "-b", address)
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile())
                    .start();
            try {
                await("a release is printed", PATIENCE, () -> Files.size(out) > 0);
                if (isPaused) {
                    broker.pause();
                } else {
                    broker.kill();
                }
                String away = "weir watch releases: no broker responds at " + address + " (" + reason + "); " + START
                        + "; waiting until one responds\n";
                await("the outage is reported", PATIENCE, () -> Files.readString(err)
                        .endsWith(away));
                if (isPaused) {
                    broker.resume();
                } else {
                    broker.start();
                }
                String back = "weir watch releases: a broker responds again\n";
                await("the end is reported", PATIENCE, () -> Files.readString(err)
                        .endsWith(back));
                assertThat(Files.readString(err)).isEqualTo(away + back);
                assertThat(watch.isAlive()).isTrue();
            } finally {
                watch.destroyForcibly().waitFor();
            }
        }
    }

    private static void send(String brokers, Release release) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", brokers);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>("weir.releases", new ReleaseCodec().encode(release)))
                    .get();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "policies list, no broker responds at 127.0.0.1:2 ",
        "policies list -b 127.0.0.1:3, no broker responds at 127.0.0.1:3 ",
        "queues, no response from http://127.0.0.1:4;",
        "queues --service http://127.0.0.1:5, no response from http://127.0.0.1:5;"
    })
    void an_option_takes_precedence_over_its_variable_and_the_variable_over_the_configuration(
            String command, String error) throws Exception {
        ProcessBuilder weir = JavaProcess.of(List.of(), Main.class, command.split(" "));
        if (command.startsWith("policies")) {
            Path config = Files.writeString(directory.resolve("c.yaml"), "kafka: {bootstrap.servers: '127.0.0.1:1'}");
            weir.command().addAll(List.of("-c", config.toString()));
        }
        weir.environment().put("WEIR_BOOTSTRAP", "127.0.0.1:2");
        weir.environment().put("WEIR_URL", "http://127.0.0.1:4");
        Process process = weir.redirectErrorStream(true).start();
        try {
            assertThat(process.inputReader().lines())
                    .hasSize(1)
                    .first()
                    .asString()
                    .contains(error);
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(1);
        } finally {
            process.destroyForcibly();
        }
    }
}
