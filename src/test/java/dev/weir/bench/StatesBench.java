package dev.weir.bench;

import dev.weir.app.Enforcer;
import dev.weir.app.KafkaSettings;
import dev.weir.app.PolicyTopic;
import dev.weir.app.Sender;
import dev.weir.app.TopicSetup;
import dev.weir.codec.PolicyFile;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.policy.Kind;
import dev.weir.policy.Request;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;

/**
 * Measures what it brings that the states of those who come often are on the heap: requests that wait are decided by one
 * thread, with {@code state.hot-memory} and without by turns; {@code topology-docs/state.md} has the figures. Run it with
 *
 * <pre>
 *   mvn -q test-compile exec:java -Dexec.classpathScope=test -Dmain.class=dev.weir.bench.StatesBench \
 *       -Dexec.args="1.0 100000 4"        (Zipf's exponent, 0 for uniform; how many clients; how many rounds of both)
 * </pre>
 */
public final class StatesBench {

    private static final int REQUESTS = 400_000;
    private static final int WARM_UP = 50_000;
    private static final String RULES = "policies: [{id: p, limits: [{algorithm: %s, limit: 1000, per: 1m}]}]";
    private static final double NANOS_PER_SECOND = 1e9;

    private StatesBench() {}

    public static void main(String[] args) throws Exception {
        double exponent = Double.parseDouble(args[0]);
        int clients = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        String algorithm = args.length > 3 ? args[3] : "sliding-window-counter";
        try (EmbeddedBroker broker = EmbeddedBroker.start(0)) {
            WeirConfig config = config(broker, "0", "requests");
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
                PolicyFile.Contents rules = PolicyFile.read("rules.yaml", RULES.formatted(algorithm));
                new PolicyTopic(config).apply(rules, PolicyTopic.Options.DEFAULTS, 0);
                send(config, cumulated(exponent, clients));
                for (int round = 0; round < rounds; round++) {
                    for (String memory : new String[] {"0", "32MiB"}) {
                        double rate = rate(admin, config(broker, memory, "weir-" + memory + "-" + round));
                        System.out.printf("%d: hot-memory %5s %,8.0f requests/s%n", round, memory, rate);
                    }
                }
            }
        }
        System.exit(0);
    }

    private static WeirConfig config(EmbeddedBroker broker, String memory, String id) throws Exception {
        return ConfigFile.read("bench", "{application-id: %s, state: {hot-memory: %s}}".formatted(id, memory))
                .withKafka("bootstrap.servers", broker.bootstrapServers())
                .withStateDirectory(Files.createTempDirectory("weir-bench-"));
    }

    /** How likely a client's number is at most this. */
    private static double[] cumulated(double exponent, int clients) {
        double[] sums = new double[clients];
        double sum = 0;
        for (int i = 0; i < clients; i++) {
            sum += 1 / Math.pow(i + 1, exponent);
            sums[i] = sum;
        }
        for (int i = 0; i < clients; i++) {
            sums[i] /= sum;
        }
        return sums;
    }

    private static void send(WeirConfig config, double[] cumulated) {
        Random random = new Random(1);
        try (Sender sender = new Sender(config)) {
            for (int i = 0; i < REQUESTS; i++) {
                int drawn = Arrays.binarySearch(cumulated, random.nextDouble());
                String client = "client-" + (drawn < 0 ? -drawn - 1 : drawn);
                sender.send(new Request(
                        "request-" + i,
                        client,
                        Kind.CONSUME,
                        "free",
                        1,
                        null,
                        Map.of("endpoint", "/articles/" + i % 100),
                        null,
                        null,
                        null,
                        System.currentTimeMillis(),
                        new Request.Source(0, 0)));
            }
            sender.flush();
        }
    }

    /** Requests a second, from those that were committed when it had warmed up to the last. */
    private static double rate(Admin admin, WeirConfig config) throws Exception {
        try (Enforcer enforcer = Enforcer.start(config)) {
            long warm = await(admin, config, WARM_UP);
            long begin = System.nanoTime();
            long all = await(admin, config, REQUESTS);
            return (all - warm) * NANOS_PER_SECOND / (System.nanoTime() - begin);
        }
    }

    /** Waits until so many requests are read for good; how many are. */
    private static long await(Admin admin, WeirConfig config, long requests) throws Exception {
        while (true) {
            long read = 0;
            for (var offset : admin.listConsumerGroupOffsets(config.applicationId())
                    .partitionsToOffsetAndMetadata()
                    .get()
                    .entrySet()) {
                OffsetAndMetadata next = offset.getValue();
                read += offset.getKey().topic().endsWith("requests") && next != null ? next.offset() : 0;
            }
            if (read >= requests) {
                return read;
            }
            Thread.sleep(5);
        }
    }
}
