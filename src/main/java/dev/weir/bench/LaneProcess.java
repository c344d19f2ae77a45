package dev.weir.bench;

import dev.weir.app.KafkaSettings;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.processor.LivePolicies;
import dev.weir.topology.Topics;
import dev.weir.topology.WeirTopology;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;

/** What runs in the process of a {@link Lane}: reads orders, a line each, and answers each with a line. */
final class LaneProcess {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private LaneProcess() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        WeirConfig config = ConfigFile.read(Path.of(args[1]));
        Topology topology =
                switch (Lane.Kind.valueOf(args[0])) {
                    case DECIDE -> WeirTopology.deciding(config, new LivePolicies());
                    case PASS -> passThrough(config);
                };
        KafkaStreams streams = new KafkaStreams(topology, KafkaSettings.deciding(config));
        CountDownLatch running = new CountDownLatch(1);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                running.countDown();
            }
        });
        streams.start();
        running.await(); // one that is paused does not restore
        streams.pause();
        answers.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            answers.println(answer(order, streams));
        }
        Runtime.getRuntime().halt(0); // the broker may be gone, and nothing is to be kept
    }

    private static String answer(String order, KafkaStreams streams) throws IOException {
        switch (order) {
            case "resume" -> streams.resume();
            case "pause" -> streams.pause();
            case "count" -> {
                return System.nanoTime() + " " + processed(streams);
            }
            case "resident" -> {
                return String.valueOf(residentBytes());
            }
            case "leave" -> // what it has done is committed, and nobody waits for it
                streams.close(CloseOptions.timeout(PATIENCE)
                        .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            case "stores" -> {
                System.gc(); // what is on the heap for longer
                Runtime heap = Runtime.getRuntime();
                return (heap.totalMemory() - heap.freeMemory()) + " " + rocksBytes(streams);
            }
            default -> throw new IllegalArgumentException(order);
        }
        return "ok";
    }

    private static long processed(KafkaStreams streams) {
        return (long) streams.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("process-total")
                        && metric.metricName().group().equals("stream-thread-metrics"))
                .mapToDouble(metric -> (double) metric.metricValue())
                .sum();
    }

    /** All stores share one cache, which has their write buffers, indexes and filters too. */
    private static long rocksBytes(KafkaStreams streams) {
        return streams.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("block-cache-usage"))
                .mapToLong(metric -> ((Number) metric.metricValue()).longValue())
                .max()
                .orElse(0);
    }

    private static long residentBytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findAny()
                .orElse(0);
    }

    /** The topic that takes what passes through. */
    static String passed(WeirConfig config) {
        return config.topics().prefix() + "passed";
    }

    private static Topology passThrough(WeirConfig config) {
        Topics topics = Topics.of(config.topics().prefix());
        return new Topology()
                .addSource(
                        AutoOffsetReset.earliest(),
                        "requests",
                        new ByteArrayDeserializer(),
                        new ByteArrayDeserializer(),
                        topics.requests())
                .addSink("passed", passed(config), new ByteArraySerializer(), new ByteArraySerializer(), "requests");
    }
}
