package dev.weir.failure;

import static dev.weir.testing.Await.await;

import dev.weir.cli.option.DurationConverter;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.failure.check.TopicRecords;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.RequestSender;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.ChildProcess;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.json.RequestJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Pauses the only broker of a cluster repeatedly under load. When it continues, its controller fences it, so partitions
 * have no leader for a moment; markers of transactions can be lost then (KAFKA-20734). After each pause the instance
 * must be ready again, and at the end each request must have one decision.
 */
@Command(name = "pauses", description = "Pauses the only broker repeatedly under load.")
public final class BrokerPauses implements Callable<Integer> {

    private static final Duration READY_WITHIN = Duration.ofMinutes(3);
    private static final int PARTITIONS = 4;
    private static final long PERIOD_MS = 10;
    private static final int CLIENTS = 200;

    private static final String POLICIES = """
            policies:
              - {id: own, layer: own, match: {tier: own}, limits: [{algorithm: gcra, limit: 50, per: 1s}]}
              - {id: shared, layer: shared, key: [tier], limits: [{algorithm: gcra, limit: 1000, per: 1s}]}
            """;

    /**
     * The result.
     *
     * @param decided the requests with a decision
     * @param decisions the committed decisions
     * @param repaired the transactions whose missing marker the instance wrote
     * @param maxRecoveryMs the longest time from the end of a pause until the instance was ready
     */
    record Report(int sent, int decided, int decisions, long repaired, long maxRecoveryMs) {
        boolean isOk() {
            return sent == decided && sent == decisions;
        }
    }

    @Option(names = "--pauses", description = "Number of pauses (default: ${DEFAULT-VALUE}).")
    private int pauses = 25;

    @Option(
            names = "--pause",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "15s",
            description = "Length of a pause (default: ${DEFAULT-VALUE}).")
    private Duration pause;

    public static void main(String[] args) {
        System.exit(new CommandLine(new BrokerPauses()).execute(args));
    }

    @Override
    public Integer call() throws Exception {
        Configurator.setLevel("org.apache.kafka.clients", Level.ERROR); // hides warnings about the paused broker
        Path directory = Files.createTempDirectory("weir-pauses-");
        System.out.println("logs and data: " + directory);
        Report report = run(pauses, pause, directory, System.out::println);
        System.out.println(report);
        return report.isOk() ? 0 : 1;
    }

    /** @param out receives one line for each pause */
    static Report run(int pauses, Duration pause, Path directory, Consumer<String> out) throws Exception {
        try (BrokerCluster cluster = BrokerCluster.start(directory, 1)) {
            Map<String, String> kafka = Map.of("bootstrap.servers", cluster.bootstrapServers());
            WeirConfig config = WeirConfig.builder()
                    .topics("weir.", PARTITIONS)
                    .kafka(kafka)
                    .build();
            TopicSetup.createMissing(cluster.admin(), config, TopicSetup.RequestTime.LOG_APPEND);
            new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
            try (InstanceProcess instance = new InstanceProcess("enforcer-1", directory, PARTITIONS, kafka);
                    Load load = new Load(config)) {
                instance.start();
                instance.awaitReady();
                load.start();
                long maxRecoveryMs = 0;
                for (int i = 0; i < pauses; i++) {
                    long tookMs = pause(cluster.brokers().get(0), pause, instance);
                    maxRecoveryMs = Math.max(maxRecoveryMs, tookMs);
                    out.accept("pause " + (i + 1) + ": ready after " + tookMs + " ms");
                }
                int sent = load.stop();
                return report(decided(config, sent), sent, instance, maxRecoveryMs);
            }
        }
    }

    private static long pause(ChildProcess broker, Duration pause, InstanceProcess instance) throws Exception {
        broker.pause();
        Thread.sleep(pause.toMillis());
        broker.resume();
        long startNanos = System.nanoTime();
        Thread.sleep(PERIOD_MS * 100); // it is ready until it finds out that it has been expelled
        await("the instance is ready again", READY_WITHIN, instance::isReady);
        return Duration.ofNanos(System.nanoTime() - startNanos).toMillis();
    }

    /** Returns the ids in all decisions as soon as each request has one, or after {@link #READY_WITHIN}. */
    private static List<String> decided(WeirConfig config, int sent) {
        DecisionCodec codec = new DecisionCodec();
        long deadlineNanos = System.nanoTime() + READY_WITHIN.toNanos();
        while (true) {
            List<String> ids = TopicRecords.read(
                            config,
                            Topics.of(config).decisions(),
                            record -> requestId(codec, record.value()),
                            READY_WITHIN)
                    .committed();
            if (new HashSet<>(ids).size() >= sent || System.nanoTime() - deadlineNanos > 0) {
                return ids;
            }
        }
    }

    private static Report report(List<String> ids, int sent, InstanceProcess instance, long maxRecoveryMs)
            throws IOException {
        long repaired = instance.saidSinceStart()
                .lines()
                .filter(line -> line.contains("A transaction did not end"))
                .count();
        return new Report(sent, new HashSet<>(ids).size(), ids.size(), repaired, maxRecoveryMs);
    }

    private static String requestId(DecisionCodec codec, byte[] decision) {
        try {
            return codec.decode(decision).requestId();
        } catch (UnreadableException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A thread that sends requests until it is stopped. */
    private static final class Load implements AutoCloseable {
        private final RequestSender sender;
        private final AtomicBoolean isStopped = new AtomicBoolean();
        private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
        private final Thread thread = new Thread(this::run, "load");
        private int sent;

        Load(WeirConfig config) {
            sender = new RequestSender(config);
        }

        void start() {
            thread.start();
        }

        private void run() {
            try {
                while (!isStopped.get()) {
                    String json = "{\"requestId\":\"r%d\",\"client\":\"c%d\",\"tier\":\"%s\"}"
                            .formatted(sent, sent % CLIENTS, sent % 2 == 0 ? "own" : "t" + sent % 8);
                    sender.send(RequestJson.read(json, System.currentTimeMillis(), new Request.Source(0, 0)));
                    sent++;
                    Thread.sleep(PERIOD_MS);
                }
                sender.flush();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                failure.set(e);
            }
        }

        /** Stops the thread and returns the number of requests that were written. */
        int stop() throws InterruptedException {
            isStopped.set(true);
            thread.join();
            if (failure.get() != null) {
                throw failure.get();
            }
            return sent;
        }

        @Override
        public void close() throws InterruptedException {
            isStopped.set(true);
            thread.join();
            sender.close();
        }
    }
}
