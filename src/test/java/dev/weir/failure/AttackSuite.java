package dev.weir.failure;

import dev.weir.app.KafkaSettings;
import dev.weir.app.PolicyTopic;
import dev.weir.app.Sender;
import dev.weir.app.TopicSetup;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.policy.Decision;
import dev.weir.policy.Kind;
import dev.weir.policy.Request;
import dev.weir.topology.Topics;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Attacks the service of an enforcer in all ways at once while it decides: exits 1 if it stops deciding or answering. */
@Command(name = "attacks", description = "Attacks the HTTP service of one enforcer, and measures what it still does.")
public final class AttackSuite implements Callable<Integer> {

    private static final int PARTITIONS = 4;
    private static final int CLIENTS = 100;
    private static final int ATTRIBUTES = 64;
    private static final int DIGITS = 3;
    private static final long HEALTH_EVERY_MS = 100;
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String RULES =
            "policies: [{id: calls, limits: [{algorithm: sliding-window-counter, limit: 100, per: 1m}]}]";

    @Option(names = "--seconds", description = "How long it is attacked, and not before (default: ${DEFAULT-VALUE}).")
    int seconds = 30;

    @Option(names = "--rate", description = "Requests a second (default: ${DEFAULT-VALUE}).")
    int rate = 200;

    @Option(
            names = "--recent",
            description =
                    "Requests of " + ATTRIBUTES + " attributes that a backtest finds (default: ${DEFAULT-VALUE}).")
    int recent = 60_000;

    @Option(names = "--heap", description = "Of the enforcer (default: ${DEFAULT-VALUE}).")
    String heap = "384m";

    @Option(names = "--kinds", split = ",", description = "Only these, such as 'slow headers' (default: all).")
    List<String> kinds = List.of();

    /**
     * What came of it.
     *
     * @param decisions how long decisions took from when their request was due, in nanoseconds
     * @param answered how many of the requests were decided
     * @param slowestHealthMs the slowest answer of {@code /health/ready}
     * @param failedHealth how many of those answers were not 200
     */
    record Phase(Histogram decisions, long sent, long answered, long slowestHealthMs, int failedHealth) {

        double ms(double percentile) {
            return decisions.getValueAtPercentile(percentile) / 1e6;
        }

        @Override
        public String toString() {
            return "%d of %d decided, p50 %.0f ms, p99 %.0f ms; /health/ready within %d ms, %d failed"
                    .formatted(answered, sent, ms(50), ms(99), slowestHealthMs, failedHealth);
        }
    }

    /** @param attacks how often each kind of caller did what it does */
    record Report(Phase quiet, Phase attacked, Map<String, Long> attacks, boolean isAlive) {}

    public static void main(String[] args) {
        System.exit(new CommandLine(new AttackSuite()).execute(args));
    }

    @Override
    public Integer call() throws Exception {
        Path directory = Files.createTempDirectory("weir-attacks-");
        System.out.println("logs and data: " + directory);
        Report report = run(directory);
        System.out.println("undisturbed: " + report.quiet());
        System.out.println("attacked:    " + report.attacked());
        System.out.println("attacks:     " + report.attacks());
        boolean held = report.isAlive()
                && report.attacked().answered() == report.attacked().sent()
                && report.attacked().failedHealth() == 0;
        return held ? 0 : 1;
    }

    Report run(Path directory) throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            Map<String, String> kafka = Map.of("bootstrap.servers", broker.bootstrapServers());
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            new PolicyTopic(config).apply(PolicyFile.read("rules", RULES), PolicyTopic.Options.DEFAULTS, 0);
            Instance.Setup setup = new Instance.Setup(
                    PARTITIONS, List.of(), List.of("-Xmx" + heap, "-XX:+UseSerialGC"), Map.of(), Map.of(), kafka);
            try (Instance instance = new Instance("enforcer", directory, setup);
                    Sender sender = new Sender(config);
                    KafkaConsumer<byte[], byte[]> decisions = decisions(config)) {
                instance.start();
                instance.awaitReady();
                fill(sender, decisions);
                URI health = instance.healthUrl();
                measure(health, sender, decisions, Math.max(2, seconds / 4)); // warms up
                Phase quiet = measure(health, sender, decisions, seconds);
                try (HostileCallers callers =
                        HostileCallers.begin(instance.serviceUrl().getPort(), health.getPort(), kinds)) {
                    Phase attacked = measure(health, sender, decisions, seconds);
                    Map<String, Long> attacks = new TreeMap<>();
                    callers.done().forEach((name, times) -> attacks.put(name, times.get()));
                    return new Report(quiet, attacked, attacks, instance.isAlive());
                }
            }
        }
    }

    private static KafkaConsumer<byte[], byte[]> decisions(WeirConfig config) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = consumer
                .partitionsFor(Topics.of(config).decisions())
                .stream()
                .map(info -> new TopicPartition(info.topic(), info.partition()))
                .toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return consumer;
    }

    private void fill(Sender sender, KafkaConsumer<byte[], byte[]> decisions) throws UnreadableException {
        Map<String, String> attributes = new HashMap<>();
        for (int i = 0; i < ATTRIBUTES; i++) {
            attributes.put("attribute-" + i, "v");
        }
        for (int i = 0; i < recent; i++) {
            sender.send(request("fill", "client-" + i % CLIENTS, attributes));
        }
        sender.flush();
        read(decisions, "fill", recent, new Histogram(DIGITS));
    }

    private Phase measure(URI health, Sender sender, KafkaConsumer<byte[], byte[]> decisions, int forSeconds)
            throws Exception {
        HealthChecks checks = new HealthChecks(health);
        checks.start();
        long count = (long) rate * forSeconds;
        String phase = "p" + System.nanoTime();
        Thread sending = new Thread(() -> send(sender, phase, count), "requests");
        sending.start();
        Histogram histogram = new Histogram(DIGITS);
        long answered = read(decisions, phase, count, histogram);
        sending.join();
        checks.closed = true;
        checks.join();
        return new Phase(histogram, count, answered, checks.slowestMs, checks.failed);
    }

    private void send(Sender sender, String phase, long count) {
        long startNanos = System.nanoTime();
        for (long i = 0; i < count; i++) {
            long dueNanos = startNanos + i * TimeUnit.SECONDS.toNanos(1) / rate;
            while (System.nanoTime() - dueNanos < 0) {
                LockSupport.parkNanos(dueNanos - System.nanoTime());
            }
            sender.send(request(phase + "-" + dueNanos, "client-" + i % CLIENTS, Map.of("any", "a".repeat(200))));
        }
        sender.flush();
    }

    private static Request request(String id, String client, Map<String, String> attributes) {
        return new Request(
                id,
                client,
                Kind.CONSUME,
                null,
                1,
                null,
                attributes,
                null,
                null,
                null,
                System.currentTimeMillis(),
                new Request.Source(0, 0));
    }

    /** Reads the decisions of a phase until there are as many, or none comes for long; how many came. */
    private static long read(KafkaConsumer<byte[], byte[]> consumer, String phase, long count, Histogram histogram)
            throws UnreadableException {
        DecisionAvro avro = new DecisionAvro();
        long answered = 0;
        long lastNanos = System.nanoTime();
        while (answered < count && System.nanoTime() - lastNanos < PATIENCE.toNanos()) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                long nowNanos = System.nanoTime();
                Decision decision = avro.decode(record.value());
                String id = decision.requestId();
                if (id.startsWith(phase)) {
                    answered++;
                    lastNanos = nowNanos;
                    int due = id.lastIndexOf('-');
                    if (due > 0) {
                        histogram.recordValue(nowNanos - Long.parseLong(id.substring(due + 1)));
                    }
                }
            }
        }
        return answered;
    }

    /** Asks again and again whether the enforcer is ready. */
    private static final class HealthChecks extends Thread {

        private final HttpClient http = HttpClient.newHttpClient();
        private final HttpRequest question;
        private volatile boolean closed;
        private volatile long slowestMs;
        private volatile int failed;

        HealthChecks(URI health) {
            super("health checks");
            question = HttpRequest.newBuilder(health).timeout(PATIENCE).build();
        }

        @Override
        public void run() {
            while (!closed) {
                long startNanos = System.nanoTime();
                try {
                    if (http.send(question, BodyHandlers.discarding()).statusCode() != 200) {
                        failed++;
                    }
                    long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
                    slowestMs = Math.max(slowestMs, tookMs);
                    TimeUnit.MILLISECONDS.sleep(HEALTH_EVERY_MS);
                } catch (IOException e) {
                    failed++;
                } catch (InterruptedException e) {
                    return;
                }
            }
        }
    }
}
