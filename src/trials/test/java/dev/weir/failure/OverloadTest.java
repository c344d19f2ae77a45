package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.failure.load.LoadGenerators;
import dev.weir.failure.process.InstanceGauge;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.Health;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that overload, a full disk and damaged state cost time, but lose nothing. */
@Tag("full")
class OverloadTest {

    private static final Duration PATIENCE = Duration.ofMinutes(10);
    /** How often brokers are asked for the lag. */
    private static final Duration LAG_INTERVAL = Duration.ofMillis(200);

    private static final Duration STANDSTILL = Duration.ofSeconds(5);
    /** Each application reports and deletes its own damaged stores. */
    private static final int APPLICATIONS = 2;

    private static final int FLOOD = 100_000;
    private static final int LARGE_FLOOD = 40_000;
    private static final int PAYLOAD = 4_000;
    private static final int CLIENTS = 50;
    private static final int EACH = 500;

    /** Limits per hour, so that every decision depends on the stored state. */
    private static final String RULES = """
            policies:
              - {id: an-hour, limits: [{algorithm: sliding-window-log, limit: 15, per: 1h}], idempotency: 1h}
            """;

    /**
     * Runs a command on a small disk, and restarts it when it exits. Fills the disk once the instance is ready, and
     * frees the space when a certain file exists.
     */
    private static final String ON_A_SMALL_DISK = """
            mount -t tmpfs -o size=192m tmpfs "$0" || exit 99
            log=$1; free_space=$2; shift 2
            (until grep -q 'weir is ready' "$log"; do sleep 0.1; done
             cat /dev/zero > "$0/ballast" 2> /dev/null
             echo "the disk is full"
             until test -e "$free_space"; do sleep 0.1; done
             rm "$0/ballast") &
            while true; do "$@"; echo "exit code $?"; done
            """;

    private static EmbeddedBroker broker;
    private static Admin admin;

    @TempDir
    Path directory;

    /** A kind of damage to the files of a state directory. */
    enum Damage {
        TABLES_OVERWRITTEN {
            @Override
            void to(Path state) throws IOException {
                for (Path table : files(state, ".sst")) {
                    Files.write(table, new byte[(int) Files.size(table)]);
                }
            }
        },
        TABLES_MISSING {
            @Override
            void to(Path state) throws IOException {
                for (Path table : files(state, ".sst")) {
                    Files.delete(table);
                }
            }
        },
        FILES_OF_NO_SENSE {
            @Override
            void to(Path state) throws IOException {
                for (String name : List.of("CURRENT", ".checkpoint")) {
                    for (Path file : files(state, name)) {
                        Files.writeString(file, "no sense\n");
                    }
                }
            }
        };

        abstract void to(Path state) throws IOException;

        static List<Path> files(Path state, String suffix) throws IOException {
            try (Stream<Path> files = Files.walk(state)) {
                return files.filter(Files::isRegularFile)
                        .filter(file -> file.toString().endsWith(suffix))
                        .toList();
            }
        }
    }

    @BeforeAll
    static void start() {
        broker = EmbeddedBroker.start();
        admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()));
    }

    @AfterAll
    static void stop() {
        admin.close();
        broker.close();
    }

    /** The heap is too small for the backlog. */
    @Test
    void a_flood_loses_no_decision() throws Exception {
        WeirConfig config = config("weir", 2);
        InstanceProcess.Setup setup = new InstanceProcess.Setup(
                2,
                List.of(),
                List.of("-Xmx96m", "-XX:+UseSerialGC"),
                Map.of("state", Map.of("memory", "16MiB")),
                Map.of("bootstrap.servers", broker.bootstrapServers()));
        try (InstanceProcess instance = new InstanceProcess("enforcer", directory, setup);
                LoadGenerators load = crush(config)) {
            load.send(LARGE_FLOOD);
            instance.start();
            instance.awaitReady();
            await("the backlog is processed", PATIENCE, LAG_INTERVAL, () -> {
                instance.checkAlive();
                return InstanceGauge.lag(admin, config) == 0;
            });
        }
        assertAnswered(LARGE_FLOOD, config);
    }

    private static LoadGenerators crush(WeirConfig config) {
        return new LoadGenerators(
                config,
                2,
                number -> LoadGenerators.request(
                        number, "client-" + number % CLIENTS, "/calls", new byte[PAYLOAD], Map.of()));
    }

    private static void assertAnswered(long requests, WeirConfig config) throws Exception {
        List<Mismatch> differences = new ArrayList<>();
        AuditSummary totals = Audit.run(config, new AuditRange(null, null, Duration.ofSeconds(30)), differences::add);
        assertThat(differences).isEmpty();
        assertThat(totals.requests()).isEqualTo(requests);
        assertThat(totals.equal()).isEqualTo(requests);
    }

    /** Run by {@code mvn test -Dtest=OverloadTest -Dweir.overload=disk}, because RocksDB fills a disk slowly. */
    @Test
    @EnabledIfSystemProperty(named = "weir.overload", matches = "disk")
    void a_flood_on_a_full_disk_loses_no_decision() throws Exception {
        assumeTrue(canMount(), "cannot mount a small disk on this machine");
        WeirConfig config = config("weir", 1);
        Path state = Files.createDirectory(directory.resolve("enforcer"));
        Path freeSpace = directory.resolve("free-space");
        List<String> shell = List.of(
                "unshare",
                "-Urmpf",
                "--kill-child",
                "sh",
                "-c",
                ON_A_SMALL_DISK,
                state.toString(),
                directory.resolve("enforcer.log").toString(),
                freeSpace.toString());
        InstanceProcess.Setup setup = new InstanceProcess.Setup(
                1,
                shell,
                List.of("-Xmx128m", "-XX:+UseSerialGC"),
                Map.of("state", Map.of("memory", "4MiB")),
                Map.of("bootstrap.servers", broker.bootstrapServers()));
        try (InstanceProcess instance = new InstanceProcess("enforcer", directory, setup);
                LoadGenerators load = crush(config)) {
            instance.start();
            instance.awaitReady();
            await("the disk is full", PATIENCE, () -> instance.saidSinceStart().contains("the disk is full"));
            load.send(FLOOD);
            awaitStandstill(config);
            await("the instance is not ready", PATIENCE, () -> !instance.isReady());
            assertThat(InstanceGauge.lag(admin, config)).isPositive();
            Files.createFile(freeSpace);
            await("the backlog is processed", PATIENCE, LAG_INTERVAL, () -> InstanceGauge.lag(admin, config) == 0);
            await("the instance is ready", PATIENCE, instance::isReady);
        }
        assertAnswered(FLOOD, config);
    }

    @ParameterizedTest
    @EnumSource
    void a_damaged_state_directory_is_restored_from_the_changelogs(Damage damage) throws Exception {
        WeirConfig config = config(damage.name().toLowerCase(Locale.ROOT), 2);
        try (LoadGenerators load = crush(config)) {
            load.send(EACH);
            assertThat(work(config)).isEmpty();
            assertThat(Damage.files(config.state().directory(), ".sst")).isNotEmpty();
            damage.to(config.state().directory());
            load.send(EACH);
            Optional<String> failure = work(config);
            for (int start = 0; start < APPLICATIONS && failure.isPresent(); start++) {
                assertThat(failure.get())
                        .contains("is damaged", config.state().directory().toString());
                failure = work(config);
            }
            assertThat(failure).isEmpty();
        }
        assertAnswered(2L * EACH, config);
    }

    @Test
    void an_unusable_state_directory_is_named() throws Exception {
        WeirConfig config = config("named", 1);
        Path state = config.state().directory();
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            assertThat(failureOf(config)).contains("cannot use the state directory " + state);
        }
        Path file = Files.createFile(directory.resolve("file"));
        assertThat(failureOf(config.withStateDirectory(file))).contains(file.toString());
    }

    private static String failureOf(WeirConfig config) {
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            return "the enforcer is running";
        } catch (UnreachableException e) {
            return e.getMessage();
        }
    }

    /** Runs an enforcer until the backlog is processed or it fails. Returns the failure. */
    private static Optional<String> work(WeirConfig config) {
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            await(
                    "the backlog is processed, or the enforcer has failed",
                    PATIENCE,
                    LAG_INTERVAL,
                    () -> enforcer.health() == Health.FAILED || InstanceGauge.lag(admin, config) == 0);
            return enforcer.health() == Health.FAILED
                    ? enforcer.awaitEnd().map(Throwable::getMessage)
                    : Optional.empty();
        } catch (UnreachableException e) {
            return Optional.of(e.getMessage());
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private WeirConfig config(String name, int partitions) throws Exception {
        WeirConfig config = WeirConfig.builder()
                .applicationId(name)
                .threads(1)
                .topics(name + ".", partitions)
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin client = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(client, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("rules", RULES), PolicyTopic.Options.DEFAULTS, 0);
        return config;
    }

    /** Waits until the lag has not changed for longer than a commit interval. */
    private static void awaitStandstill(WeirConfig config) throws Exception {
        long[] seen = {-1, System.nanoTime()};
        await("nothing is decided", PATIENCE, () -> {
            long lag = InstanceGauge.lag(admin, config);
            if (lag != seen[0]) {
                seen[0] = lag;
                seen[1] = System.nanoTime();
            }
            return System.nanoTime() - seen[1] > STANDSTILL.toNanos();
        });
    }

    private static boolean canMount() throws Exception {
        List<String> command =
                new ArrayList<>(List.of("unshare", "-Urmpf", "--kill-child", "mount", "-t", "tmpfs", "tmpfs", "/mnt"));
        try {
            return new ProcessBuilder(command).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
