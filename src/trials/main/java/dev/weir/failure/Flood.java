package dev.weir.failure;

import static dev.weir.testing.Await.await;

import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.cli.option.DurationConverter;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.failure.check.Breach;
import dev.weir.failure.check.Evidence;
import dev.weir.failure.check.Oracle;
import dev.weir.failure.load.LoadGenerators;
import dev.weir.failure.process.InstanceGauge;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.ChildProcess;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * A command that floods one enforcer with a small heap, and prints a line each second. It exits with 1 if a request is
 * lost or an invariant does not hold.
 */
@Command(name = "flood", description = "Sends one enforcer more than it can handle, and checks what it wrote.")
public final class Flood implements Callable<Integer> {

    private static final Duration PATIENCE = Duration.ofMinutes(30);
    private static final int PARTITIONS = 4;
    private static final int PRODUCERS = 3;
    private static final int CLIENTS = 20_000;
    private static final int LARGE_BYTES = 1 << 20;

    private static final int OUTAGE_RATE = 500;
    private static final int BETWEEN_SECONDS = 15;

    /** The number of late clients, enough for the deleted state to be compacted. */
    private static final int LATECOMERS = 5_000;

    private static final String RULES = """
            policies:
              - {id: calls, match: {endpoint: /calls}, limits: [{algorithm: token-bucket, limit: 20, per: 1m}]}
              - {id: pages, layer: pages, match: {endpoint: /calls}, limits: [{algorithm: sliding-window-log, limit: 9, per: 10s}]}
              - {id: once, match: {endpoint: /once}, limits: [{algorithm: sliding-window-counter, limit: 5, per: 2s}]}
              - {id: mail, match: {endpoint: /mail}, queue: mail}
              - {id: bulk, match: {endpoint: /bulk}, queue: bulk}
            queues:
              - {id: mail, limit: 500, per: 1s, capacity: 10000, max-wait: 30s}
              - {id: bulk, limit: 200, per: 1s, capacity: 1000}
            """;

    enum Scenario {
        /** Requests by limits. */
        REQUESTS,
        /** Requests to a queue. */
        QUEUE,
        /** Requests of some 2 MiB to a queue. */
        LARGE,
        /** Requests of some 2 MiB that become dead letters, because only 64 KiB are permitted. */
        TOO_LARGE,
        /** Clients that send one request each. */
        CLIENTS,
        /** The broker is paused, and later killed, each for the duration of the flood. */
        OUTAGE
    }

    @Parameters(description = "One of ${COMPLETION-CANDIDATES}.")
    private Scenario scenario;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "60s",
            description = "The duration of the flood (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(names = "--factor", description = "Rate as a multiple of the capacity (default: ${DEFAULT-VALUE}).")
    private int factor = 10;

    @Option(names = "--count", description = "Requests, in scenarios without a rate (default: ${DEFAULT-VALUE}).")
    private long count = 2_000;

    @Option(names = "--heap", description = "Heap of the enforcer (default: ${DEFAULT-VALUE}).")
    private String heap = "256m";

    @Option(names = "--kafka", description = "A setting of the enforcer's Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    private Path directory;
    private WeirConfig config;
    private BrokerCluster brokers;
    private InstanceProcess instance;
    private long startNanos;
    private long mostRssMiB;
    private long mostLag;

    public static void main(String[] args) {
        System.exit(new CommandLine(new Flood())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(args));
    }

    @Override
    public Integer call() throws Exception {
        Configurator.setLevel(NetworkClient.class.getName(), Level.ERROR);
        Configurator.setLevel("org.apache.kafka.clients.producer.internals.Sender", Level.ERROR);
        directory = Files.createTempDirectory("weir-flood-");
        System.out.println("logs and data: " + directory);
        brokers = BrokerCluster.start(directory, 1);
        try {
            setUp();
            boolean held = run();
            System.out.printf(
                    "maximum: lag %,d, heap after garbage collection %d MiB, resident %d MiB%n",
                    mostLag, InstanceGauge.heapMiB(directory.resolve("gc.log")), mostRssMiB);
            return held ? 0 : 1;
        } finally {
            if (instance != null) {
                instance.close();
            }
            brokers.close();
        }
    }

    private void setUp() throws Exception {
        boolean large = scenario == Scenario.LARGE;
        config = config(brokers.bootstrapServers(), large);
        TopicSetup.createMissing(brokers.admin(), config, TopicSetup.RequestTime.LOG_APPEND);
        if (large || scenario == Scenario.TOO_LARGE) {
            takeLarge(Topics.of(config).requests());
        }
        new PolicyTopic(config).apply(PolicyFile.read("rules", RULES), PolicyTopic.Options.DEFAULTS, 0);
        Map<String, String> settings = new LinkedHashMap<>(kafka);
        settings.put("bootstrap.servers", brokers.bootstrapServers());
        instance = new InstanceProcess(
                "enforcer",
                directory,
                new InstanceProcess.Setup(
                        PARTITIONS,
                        List.of(),
                        List.of("-Xmx" + heap, "-XX:+UseSerialGC", "-Xlog:gc:file=" + directory.resolve("gc.log")),
                        Map.of(
                                "requests",
                                large
                                        ? Map.of("max-payload", "1MiB", "max-attribute-length", "1000000")
                                        : Map.<String, String>of(),
                                "state",
                                scenario == Scenario.CLIENTS
                                        ? Map.of("retention", "5s", "cleanup-interval", "100ms")
                                        : Map.<String, String>of()),
                        settings));
    }

    private void takeLarge(String topic) throws Exception {
        ConfigEntry most = new ConfigEntry(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, String.valueOf(3 << 20));
        brokers.admin()
                .incrementalAlterConfigs(Map.of(
                        new ConfigResource(ConfigResource.Type.TOPIC, topic),
                        List.of(new AlterConfigOp(most, AlterConfigOp.OpType.SET))))
                .all()
                .get();
    }

    private static WeirConfig config(String bootstrapServers, boolean large) {
        WeirConfig defaults = WeirConfig.DEFAULTS;
        WeirConfig.Requests requests = defaults.requests();
        return WeirConfig.builder()
                .threads(1)
                .topics("weir.", PARTITIONS)
                .requests(
                        large
                                ? new WeirConfig.Requests(
                                        1 << 20,
                                        requests.maxAttributes(),
                                        1_000_000,
                                        requests.maxCost(),
                                        requests.misplaced(),
                                        requests.maxAhead())
                                : requests)
                .kafka("bootstrap.servers", bootstrapServers)
                .build();
    }

    private boolean run() throws Exception {
        LongFunction<Request> requests = requests();
        try (LoadGenerators load = new LoadGenerators(config, PRODUCERS, requests)) {
            switch (scenario) {
                case REQUESTS -> {
                    long perSecond = rate(load, 400_000);
                    under(() -> flood(load, perSecond), load);
                }
                case QUEUE -> {
                    long perSecond = rate(load, 100_000);
                    under(() -> flood(load, perSecond), load);
                }
                case LARGE, TOO_LARGE -> {
                    load.send(count / 2);
                    begin();
                    under(() -> load.send(count - count / 2), load);
                }
                case CLIENTS -> {
                    begin();
                    under(() -> load.send(count), load);
                    shrink();
                }
                case OUTAGE -> {
                    begin();
                    outages(load);
                }
            }
        }
        return check();
    }

    private void flood(LoadGenerators load, long perSecond) throws InterruptedException {
        load.send(Long.MAX_VALUE, factor * perSecond, turn);
        System.out.printf("rate: %,d requests a second%n", factor * perSecond);
    }

    private interface Flow {
        void run() throws InterruptedException;
    }

    private LongFunction<Request> requests() {
        Random random = new Random(1);
        byte[] payload = new byte[LARGE_BYTES];
        random.nextBytes(payload);
        Map<String, String> more = Map.of("text", "x".repeat(900_000));
        return switch (scenario) {
            case REQUESTS, OUTAGE -> number -> of(number, "client-" + mixed(number) % CLIENTS, "/calls");
            case QUEUE -> number -> of(number, "client-" + mixed(number) % CLIENTS, "/mail");
            case CLIENTS -> number -> of(number, "once-" + number, "/once");
            case LARGE, TOO_LARGE ->
                number -> LoadGenerators.request(number, "client-" + mixed(number) % 100, "/bulk", payload, more);
        };
    }

    private static Request of(long number, String client, String endpoint) {
        return LoadGenerators.request(number, client, endpoint, null, Map.of());
    }

    private static long mixed(long number) {
        return (number * 0x9E3779B97F4A7C15L) >>> 33;
    }

    private void begin() throws Exception {
        instance.start();
        instance.awaitReady();
        startNanos = System.nanoTime();
    }

    /** Measures the capacity in requests a second, over the second half of a backlog. */
    private long rate(LoadGenerators load, long backlog) throws Exception {
        load.send(backlog);
        begin();
        awaitLag(backlog / 2, load);
        long halfNanos = System.nanoTime();
        long half = InstanceGauge.lag(brokers.admin(), config);
        awaitLag(0, load);
        long perSecond = half * TimeUnit.SECONDS.toNanos(1) / (System.nanoTime() - halfNanos);
        System.out.printf("capacity: %,d requests a second%n", perSecond);
        return perSecond;
    }

    private void under(Flow flow, LoadGenerators load) throws Exception {
        CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
            try {
                flow.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        while (!sending.isDone()) {
            report(load);
            Thread.sleep(1_000);
        }
        sending.join();
        System.out.println("the flood is over");
        awaitLag(0, load);
        System.out.println("the enforcer has caught up");
    }

    private void awaitLag(long most, LoadGenerators load) throws Exception {
        long[] toldNanos = {0};
        await("a lag of at most " + most, PATIENCE, () -> {
            boolean isDone = InstanceGauge.lag(brokers.admin(), config) <= most;
            if (!isDone && System.nanoTime() - toldNanos[0] > TimeUnit.SECONDS.toNanos(1)) {
                report(load);
                toldNanos[0] = System.nanoTime();
            }
            return isDone;
        });
    }

    private void report(LoadGenerators load) throws Exception {
        instance.checkAlive();
        long lag = InstanceGauge.lag(brokers.admin(), config);
        long rssMiB = InstanceGauge.rssMiB(instance.pid());
        mostLag = Math.max(mostLag, lag);
        mostRssMiB = Math.max(mostRssMiB, rssMiB);
        System.out.printf(
                "%4d s  sent %,12d  lag %,12d  resident %,5d MiB  state %,5d MiB%n",
                TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNanos),
                load.sent(),
                lag,
                rssMiB,
                InstanceGauge.bytes(instance.state()) >> 20);
    }

    /**
     * Waits until the state on disk has shrunk by half. Clients send requests meanwhile, because cleanup follows
     * their time.
     */
    private void shrink() throws Exception {
        long most = InstanceGauge.bytes(instance.state());
        long now = most;
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (now > most / 2 && System.nanoTime() < deadline) {
            try (LoadGenerators load = new LoadGenerators(config, 1, this::latecomer)) {
                load.send(LATECOMERS);
                report(load);
            }
            Thread.sleep(1_000);
            now = InstanceGauge.bytes(instance.state());
            most = Math.max(most, now);
        }
        System.out.printf("on disk: %,d MiB at most, %,d MiB now%n", most >> 20, now >> 20);
    }

    private Request latecomer(long number) {
        return of(number, "late-" + number, "/once");
    }

    private void outages(LoadGenerators load) throws Exception {
        ChildProcess broker = brokers.brokers().get(0);
        CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
            try {
                load.send(Long.MAX_VALUE, OUTAGE_RATE, turn.multipliedBy(2).plusSeconds(3 * BETWEEN_SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        watch("broker running", BETWEEN_SECONDS);
        broker.pause();
        watch("broker paused", (int) turn.toSeconds());
        broker.resume();
        watch("broker resumed", BETWEEN_SECONDS);
        broker.kill();
        watch("broker killed", (int) turn.toSeconds());
        broker.start();
        watch("broker restarted", BETWEEN_SECONDS);
        sending.join();
        awaitLag(0, load);
        System.out.printf("the log has %d lines%n", logLines());
    }

    private void watch(String what, int forSeconds) throws Exception {
        long before = logLines();
        String ready = "";
        for (int i = 0; i < forSeconds; i++) {
            instance.checkAlive();
            ready += instance.isReady() ? "+" : "-";
            Thread.sleep(1_000);
        }
        System.out.printf("%-24s ready %s, %d lines logged%n", what, ready, logLines() - before);
    }

    private long logLines() throws IOException {
        return instance.saidSinceStart().lines().count();
    }

    private boolean check() throws Exception {
        if (scenario == Scenario.REQUESTS || scenario == Scenario.CLIENTS || scenario == Scenario.OUTAGE) {
            AuditRange all = new AuditRange(null, null, Duration.ofSeconds(30));
            AuditSummary totals = Audit.run(config, all, System.out::println);
            System.out.printf(
                    "%,d requests, %,d decisions equal to the recomputed ones, %,d mismatches%n",
                    totals.requests(), totals.equal(), totals.mismatchCount());
            return totals.equal() == totals.requests();
        }
        List<Breach> findings = Oracle.check(Evidence.readSettled(config, PATIENCE));
        findings.forEach(System.out::println);
        return findings.stream().allMatch(Breach::isOk);
    }
}
