package dev.weir.bench;

import dev.weir.client.release.ReleaseConsumer;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.ReleaseCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Measures queues with an embedded broker. The results are in {@code topology-docs/explanation/performance.md}. Usage:
 *
 * <pre>
 *   java -cp target/weir-bench.jar dev.weir.bench.ShapingBench smoothness        (or "restore")
 * </pre>
 */
public final class ShapingBench {

    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final String STOPPED = "limit: 1, per: 30d";

    private ShapingBench() {}

    public static void main(String[] args) throws Exception {
        switch (args.length == 0 ? "" : args[0]) {
            case "smoothness" -> smoothness();
            case "restore" -> restore();
            default -> throw new IllegalArgumentException("an argument is missing: smoothness or restore");
        }
        System.exit(0);
    }

    /** Measures the gaps between releases at 100 a second, ideally 10 ms, as consumers receive them. */
    private static void smoothness() throws Exception {
        System.out.println("100 releases a second, 15 s each; gaps in ms of a read_committed consumer (read), and of"
                + " ReleaseConsumer (returned)");
        for (int load : new int[] {0, 4_000}) {
            for (int[] settings : new int[][] {{20, 0}, {20, 100}, {50, 100}, {50, 200}}) {
                smoothness(load, settings[0], settings[1]);
            }
        }
    }

    private static void smoothness(int load, int commitMs, int lookAheadMs) throws Exception {
        int skipped = 300;
        int counted = 1_500;
        try (Rig rig = new Rig(commitMs)) {
            rig.apply("limit: 100, per: 1s, look-ahead: " + lookAheadMs + "ms");
            rig.load(load);
            rig.fill(skipped + counted + 500, 50);
            List<Long> stampedNanos = new ArrayList<>();
            List<Long> handedOutNanos = new ArrayList<>();
            Thread worker = new Thread(() -> {
                Map<String, Object> kafka =
                        Map.of("bootstrap.servers", rig.broker.bootstrapServers(), "group.id", "workers");
                try (ReleaseConsumer consumer = new ReleaseConsumer(kafka)) {
                    while (handedOutNanos.size() < counted) {
                        Optional<Release> release = consumer.next(Duration.ofSeconds(1));
                        if (release.isPresent() && release.get().sequence() > skipped) {
                            handedOutNanos.add(System.nanoTime());
                        }
                    }
                }
            });
            worker.start();
            List<Long> seenNanos = new ArrayList<>();
            rig.releases(skipped + counted, (release, nowNanos) -> {
                if (release.sequence() > skipped) {
                    seenNanos.add(nowNanos);
                    stampedNanos.add(release.releaseAtNanos());
                }
            });
            worker.join();
            stampedNanos.sort(Comparator.naturalOrder());
            double rate = (counted - 1) * 1e9 / (stampedNanos.get(counted - 1) - stampedNanos.get(0));
            System.out.printf(
                    "load %,6d/s  commit %3d ms  look-ahead %3d ms   read %s   returned %s   rate %5.1f/s%n",
                    load, commitMs, lookAheadMs, gaps(seenNanos), gaps(handedOutNanos), rate);
        }
    }

    /** Measures the start of an instance with up to a million waiting requests, with and without local state. */
    private static void restore() throws Exception {
        for (int waiting : new int[] {100_000, 1_000_000}) {
            try (Rig rig = new Rig(50)) {
                rig.apply(STOPPED);
                rig.fill(waiting, 10_000);
                rig.awaitQueued(waiting);
                for (boolean keepState : new boolean[] {true, false}) {
                    rig.enforcer.close();
                    if (!keepState) {
                        delete(rig.directory.resolve("state"));
                    }
                    long start = System.nanoTime();
                    rig.enforcer = Enforcer.start(rig.config);
                    rig.enforcer.awaitRunning(PATIENCE);
                    System.out.printf(
                            "%,9d waiting, state %s: running after %.1f s%n",
                            waiting, keepState ? "on disk" : "lost", (System.nanoTime() - start) / 1e9);
                }
            }
        }
    }

    private static String gaps(List<Long> nanos) {
        double[] gaps = new double[nanos.size() - 1];
        for (int i = 0; i < gaps.length; i++) {
            gaps[i] = (nanos.get(i + 1) - nanos.get(i)) / 1e6;
        }
        Arrays.sort(gaps);
        return "p50 %6.2f p99 %6.2f max %6.2f"
                .formatted(gaps[gaps.length / 2], gaps[gaps.length * 99 / 100], gaps[gaps.length - 1]);
    }

    private static void delete(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Seen {
        void release(Release release, long nowNanos);
    }

    /** An embedded broker and an enforcer with one queue. */
    private static final class Rig implements AutoCloseable {
        final EmbeddedBroker broker = EmbeddedBroker.start();
        final Path directory = Files.createTempDirectory("weir-bench-");
        final WeirConfig config;
        final Topics topics = new Topics("weir.", "weir");
        final KafkaConsumer<byte[], byte[]> releases;
        final AdmissionAvro avro = new AdmissionAvro();
        Enforcer enforcer;
        private volatile boolean isClosing;

        Rig(int commitMs) throws IOException {
            config = WeirConfig.builder()
                    .applicationId("weir")
                    .threads(1)
                    .commits(new WeirConfig.Commits(Duration.ofMillis(commitMs), Duration.ofMillis(commitMs)))
                    .kafka("bootstrap.servers", broker.bootstrapServers())
                    .stateDirectory(directory.resolve("state"))
                    .build();
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            enforcer = Enforcer.start(config);
            enforcer.awaitRunning(PATIENCE);
            releases = consumer(topics.releases());
        }

        void apply(String terms) throws Exception {
            String yaml = "queues: [{id: q, capacity: 10000000, " + terms + "}]";
            new PolicyTopic(config).apply(PolicyFile.read("bench", yaml), PolicyTopic.Options.DEFAULTS, 0);
        }

        void fill(int count, int clients) {
            Properties settings = KafkaSettings.producer(config);
            settings.put("linger.ms", 5);
            settings.put("batch.size", 1 << 17);
            byte[] payload = new byte[100];
            try (KafkaProducer<byte[], byte[]> producer =
                    new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
                for (int i = 0; i < count; i++) {
                    Request request = Request.builder("r" + i, "c" + i % clients)
                            .attributes(Map.of("endpoint", "/sms"))
                            .payload(payload)
                            .source(0, i)
                            .build();
                    Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null);
                    var unused = producer.send(new ProducerRecord<>(
                            topics.admissions(), "q".getBytes(StandardCharsets.UTF_8), avro.encode(admission)));
                }
            }
        }

        /** Sends requests that no policy matches, at a rate, until the rig is closed. */
        void load(int perSecond) {
            if (perSecond == 0) {
                return;
            }
            Thread loader = new Thread(() -> {
                try (RequestSender sender = new RequestSender(config)) {
                    long start = System.nanoTime();
                    for (long sent = 0; !isClosing; ) {
                        long due = (System.nanoTime() - start) * perSecond / 1_000_000_000L;
                        for (; sent < due; sent++) {
                            sender.send(Request.builder("l" + sent, "l" + sent % 1_000)
                                    .timestampMs(System.currentTimeMillis())
                                    .source(0, 0)
                                    .build());
                        }
                        LockSupport.parkNanos(1_000_000);
                    }
                }
            });
            loader.setDaemon(true);
            loader.start();
        }

        void awaitQueued(int count) throws Exception {
            try (KafkaConsumer<byte[], byte[]> decisions = consumer(topics.decisions())) {
                int seen = 0;
                while (seen < count) {
                    seen += decisions.poll(Duration.ofMillis(100)).count();
                }
            }
        }

        void releases(int count, Seen seen) throws Exception {
            ReleaseCodec releaseCodec = new ReleaseCodec();
            for (int read = 0; read < count; ) {
                for (ConsumerRecord<byte[], byte[]> record : releases.poll(Duration.ofMillis(100))) {
                    Instant now = Instant.now();
                    long nowNanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
                    seen.release(releaseCodec.decode(record.value()), nowNanos);
                    read++;
                }
            }
        }

        private KafkaConsumer<byte[], byte[]> consumer(String topic) {
            Properties settings = KafkaSettings.consumer(config);
            settings.put("isolation.level", "read_committed");
            settings.put("fetch.max.wait.ms", 100);
            KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            return consumer;
        }

        @Override
        public void close() {
            isClosing = true;
            releases.close();
            enforcer.close();
            broker.close();
            delete(directory);
        }
    }
}
