package dev.weir.failure;

import dev.weir.cli.option.DurationConverter;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.failure.load.HostileCallers;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
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

/**
 * A command that attacks the HTTP service of an enforcer in all ways at once. It exits with 1 if a request is not
 * decided or a regular HTTP request fails.
 */
@Command(name = "attacks", description = "Attacks the HTTP service of one enforcer, and measures how it still works.")
public final class AttackSuite implements Callable<Integer> {

    private static final int PARTITIONS = 4;
    private static final int CLIENTS = 100;
    private static final int ATTRIBUTES = 64;
    private static final int DIGITS = 3;
    private static final long PAUSE_MS = 100;
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String RULES =
            "policies: [{id: calls, limits: [{algorithm: sliding-window-counter, limit: 100, per: 1m}]}]";

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            description = "The duration of each phase (default: 30s).")
    Duration turn = Duration.ofSeconds(30);

    @Option(names = "--rate", description = "Requests a second (default: ${DEFAULT-VALUE}).")
    int rate = 200;

    @Option(
            names = "--recent",
            description =
                    "Requests with " + ATTRIBUTES + " attributes for backtests to read (default: ${DEFAULT-VALUE}).")
    int recent = 60_000;

    @Option(names = "--heap", description = "Heap of the enforcer (default: ${DEFAULT-VALUE}).")
    String heap = "384m";

    @Option(names = "--kinds", split = ",", description = "Only these attacks, such as 'slow headers' (default: all).")
    List<String> kinds = List.of();

    /**
     * The results of one phase, without or with attacks.
     *
     * @param decisions the latencies of the decisions, from the time at which a request was due, ns
     * @param answered the number of requests that were decided
     * @param health the requests to {@code /health/ready}
     * @param reads the requests to {@code /v1/policies}
     */
    record Phase(Histogram decisions, long sent, long answered, Answered health, Answered reads) {

        double ms(double percentile) {
            return decisions.getValueAtPercentile(percentile) / 1e6;
        }

        @Override
        public String toString() {
            return "%d of %d decided, p50 %.0f ms, p99 %.0f ms; /health/ready %s; /v1/policies %s"
                    .formatted(answered, sent, ms(50), ms(99), health, reads);
        }
    }

    /** The responses of one path: the number with status 200, the number of others, and the time of the slowest. */
    record Answered(int good, int failed, long slowestMs) {

        @Override
        public String toString() {
            return "%d succeeded within %d ms, %d failed".formatted(good, slowestMs, failed);
        }
    }

    /** @param attacks the number of calls or connections, by kind of attack */
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
                && report.attacked().health().failed() == 0
                && report.attacked().reads().failed() == 0;
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
            InstanceProcess.Setup setup = new InstanceProcess.Setup(
                    PARTITIONS, List.of(), List.of("-Xmx" + heap, "-XX:+UseSerialGC"), Map.of(), kafka);
            try (InstanceProcess instance = new InstanceProcess("enforcer", directory, setup);
                    RequestSender sender = new RequestSender(config);
                    KafkaConsumer<byte[], byte[]> decisions = decisions(config)) {
                instance.start();
                instance.awaitReady();
                fill(sender, decisions);
                URI health = instance.healthUrl();
                measure(instance, sender, decisions, Math.max(2, (int) turn.toSeconds() / 4)); // warms up
                Phase quiet = measure(instance, sender, decisions, (int) turn.toSeconds());
                try (HostileCallers callers =
                        HostileCallers.begin(instance.serviceUrl().getPort(), health.getPort(), kinds)) {
                    Phase attacked = measure(instance, sender, decisions, (int) turn.toSeconds());
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

    private void fill(RequestSender sender, KafkaConsumer<byte[], byte[]> decisions) throws UnreadableException {
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

    private Phase measure(
            InstanceProcess instance, RequestSender sender, KafkaConsumer<byte[], byte[]> decisions, int forSeconds)
            throws Exception {
        GoodCaller health = new GoodCaller(instance.healthUrl());
        GoodCaller reader = new GoodCaller(instance.serviceUrl().resolve("/v1/policies"));
        health.start();
        reader.start();
        long count = (long) rate * forSeconds;
        String phase = "p" + System.nanoTime();
        Thread sending = new Thread(() -> send(sender, phase, count), "requests");
        sending.start();
        Histogram histogram = new Histogram(DIGITS);
        long answered = read(decisions, phase, count, histogram);
        sending.join();
        return new Phase(histogram, count, answered, health.end(), reader.end());
    }

    private void send(RequestSender sender, String phase, long count) {
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
        return Request.builder(id, client)
                .attributes(attributes)
                .timestampMs(System.currentTimeMillis())
                .source(0, 0)
                .build();
    }

    /**
     * Reads the decisions of a phase until there are {@code count}, or none has arrived for {@link #PATIENCE}. Returns
     * their number.
     */
    private static long read(KafkaConsumer<byte[], byte[]> consumer, String phase, long count, Histogram histogram)
            throws UnreadableException {
        DecisionCodec avro = new DecisionCodec();
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

    /** A thread that requests one path repeatedly, each time after the response. */
    private static final class GoodCaller extends Thread {

        private final HttpClient http = HttpClient.newHttpClient();
        private final HttpRequest question;
        private volatile boolean closed;
        private int good;
        private int failed;
        private long slowestMs;

        GoodCaller(URI uri) {
            super("calls " + uri);
            question = HttpRequest.newBuilder(uri).timeout(PATIENCE).build();
        }

        @Override
        public void run() {
            while (!closed) {
                long startNanos = System.nanoTime();
                boolean isGood = isAnswered();
                if (!isGood) {
                    isGood = isAnswered(); // again, as browsers do if a connection is closed under attack
                }
                if (closed) {
                    return; // not counted: the attack may have been over by then
                }
                good += isGood ? 1 : 0;
                failed += isGood ? 0 : 1;
                slowestMs = Math.max(slowestMs, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(PAUSE_MS));
            }
        }

        private boolean isAnswered() {
            try {
                return http.send(question, BodyHandlers.discarding()).statusCode() == 200;
            } catch (IOException e) {
                return false;
            } catch (InterruptedException e) {
                closed = true;
                return false;
            }
        }

        Answered end() throws InterruptedException {
            closed = true;
            interrupt();
            join();
            return new Answered(good, failed, slowestMs);
        }
    }
}
