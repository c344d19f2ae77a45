package dev.weir.bench;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;

/**
 * Measures how soon two instances under load apply the change of one of many policies. The results are in
 * {@code topology-docs/explanation/performance.md}. Usage:
 *
 * <pre>
 *   java -cp target/weir-bench.jar dev.weir.bench.PoliciesBench
 * </pre>
 */
public final class PoliciesBench {

    private static final int MANY = 10_000;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final double NANOS_PER_MS = 1e6;

    private PoliciesBench() {}

    public static void main(String[] args) throws Exception {
        change();
        System.exit(0);
    }

    /** Returns policies in two layers, each for two tiers and one endpoint. */
    private static String policies(int count, int limit) {
        StringBuilder yaml = new StringBuilder("policies:\n");
        for (int i = 0; i < count; i++) {
            yaml.append(
                    "- {id: p%d, layer: %s, priority: %d, match: {tier: [free, gold], endpoint: \"/api/%d/**\"}, limits: ["
                            .formatted(i, i % 2 == 0 ? "client" : "endpoint", i % 7, i));
            yaml.append("{algorithm: sliding-window-counter, limit: %d, per: 1m}]}%n".formatted(limit));
        }
        return yaml.toString();
    }

    private static PolicyFile.Contents contents(int count, int limit) throws FaultsException {
        return PolicyFile.read("policies.yaml", policies(count, limit));
    }

    private static void change() throws Exception {
        System.out.println("ms from the end of apply to the first committed decision with the new version, 1 of 10,000"
                + " policies, two instances, 2,000 requests a second");
        try (EmbeddedBroker broker = EmbeddedBroker.start(0)) {
            WeirConfig config = config(broker, Files.createTempDirectory("weir-bench-"));
            PolicyTopic topic = new PolicyTopic(config);
            topic.apply(contents(MANY, 5), PolicyTopic.Options.DEFAULTS, 0);
            WeirConfig second = config.withStateDirectory(Files.createTempDirectory("weir-bench-"));
            AtomicBoolean stop = new AtomicBoolean();
            try (Enforcer one = Enforcer.start(config);
                    Enforcer two = Enforcer.start(second);
                    TopicReader<Decision> decisions = TopicReader.decisions(config, TopicReader.From.END, true)) {
                one.awaitRunning(PATIENCE);
                two.awaitRunning(PATIENCE);
                Thread load = new Thread(() -> load(config, stop));
                load.start();
                List<Double> firstMs = new ArrayList<>();
                List<Double> lastMs = new ArrayList<>();
                for (int change = 0; change < 20; change++) {
                    PolicyFile.Contents next = contents(1, 6 + change);
                    long version = topic.apply(next, PolicyTopic.Options.DEFAULTS, change)
                            .get(0)
                            .version();
                    long begin = System.nanoTime();
                    Double[] seenMs = new Double[config.topics().partitions()];
                    while (Arrays.asList(seenMs).contains(null)) {
                        decisions.poll(Duration.ofMillis(10), decision -> {
                            int partition = decision.source().partition();
                            boolean isNew = "p0".equals(decision.policyId()) && decision.policyVersion() >= version;
                            if (isNew && seenMs[partition] == null) {
                                seenMs[partition] = (System.nanoTime() - begin) / NANOS_PER_MS;
                            }
                        });
                    }
                    Arrays.sort(seenMs);
                    firstMs.add(seenMs[0]);
                    lastMs.add(seenMs[seenMs.length - 1]);
                }
                stop.set(true);
                load.join();
                firstMs.sort(null);
                lastMs.sort(null);
                System.out.printf(
                        "  first partition p50 %.0f max %.0f ms, last of %d partitions p50 %.0f max %.0f ms%n",
                        firstMs.get(10), firstMs.get(19), config.topics().partitions(), lastMs.get(10), lastMs.get(19));
            }
        }
    }

    private static void load(WeirConfig config, AtomicBoolean stop) {
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; !stop.get(); i++) {
                Request request = Request.builder("r" + i, "c" + i % 1_000)
                        .tier("free")
                        .attributes(Map.of("endpoint", "/api/0/x"))
                        .timestampMs(System.currentTimeMillis())
                        .source(0, 0)
                        .build();
                sender.send(request);
                if (i % 20 == 0) {
                    Thread.sleep(10);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static WeirConfig config(EmbeddedBroker broker, Path state) {
        WeirConfig config = WeirConfig.DEFAULTS
                .withKafka("bootstrap.servers", broker.bootstrapServers())
                .withStateDirectory(state);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        return config;
    }
}
