package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests a shared limit whose holders and ledger run on machines with different clocks. Requests and lease requests have
 * timestamps of the broker's clock.
 */
@Tag("full")
class SkewedClocksTest {

    private static final long START_MS = Instant.parse("2026-01-01T00:00:00Z").toEpochMilli();
    private static final long STEP_MS = 10;
    private static final Topics TOPICS = Topics.of(WeirConfig.DEFAULTS);

    @TempDir
    private Path directory;

    private final PolicyRegistry live = new PolicyRegistry();
    private final List<Holder> holders = new ArrayList<>();
    private final List<TestRecord<byte[], byte[]>> sentAsks = new ArrayList<>();
    private final Deque<TestRecord<byte[], byte[]>> asksUnderWay = new ArrayDeque<>();
    private final Random random = new Random(1);
    private long lastAskMs;
    private int mostTransitMs = 1;
    private Lender lender;
    private long brokerMs = START_MS;

    /**
     * A deciding task whose clock is ahead of the broker's. A test driver runs partition 0 only, so each holder has its
     * own application id, and the test copies its messages to the topics of the ledger's application.
     */
    private final class Holder {
        private final TopologyTestDriver driver;
        private final TestInputTopic<byte[], byte[]> requests;
        private final TestInputTopic<byte[], byte[]> grants;
        private final TestOutputTopic<byte[], byte[]> asks;
        private final TestOutputTopic<byte[], byte[]> decisions;
        private final String name;
        private int sent;
        private int allowed;
        private long latestMs;

        Holder(String applicationId, long aheadMs) {
            name = applicationId;
            WeirConfig config = config(applicationId);
            driver = new InMemoryDriver(
                    WeirTopology.deciding(config, 1, live, new EnforcerMetrics()),
                    StreamsSettings.deciding(config),
                    Instant.ofEpochMilli(brokerMs + aheadMs));
            requests = in(driver, TOPICS.requests());
            grants = in(driver, Topics.of(config).leaseResponses());
            asks = out(driver, Topics.of(config).leaseRequests());
            decisions = out(driver, TOPICS.decisions());
        }

        void request() {
            String client = name + sent % 7;
            Request request = Request.builder(name + sent++, client)
                    .timestampMs(brokerMs)
                    .source(0, 0)
                    .build();
            requests.pipeInput(new TestRecord<>(
                    client.getBytes(StandardCharsets.UTF_8),
                    new RequestCodec().encode(request),
                    Instant.ofEpochMilli(brokerMs)));
        }

        void count() throws Exception {
            while (!decisions.isEmpty()) {
                Decision decision = new DecisionCodec().decode(decisions.readValue());
                latestMs = Math.max(latestMs, decision.decidedAtMs());
                allowed += decision.outcome() == Outcome.ALLOWED ? 1 : 0;
            }
        }
    }

    /** The ledgers on a machine whose clock is ahead of the broker's. */
    private final class Lender {
        private final TopologyTestDriver driver;
        private final TestInputTopic<byte[], byte[]> asks;
        private final TestOutputTopic<byte[], byte[]> grants;

        Lender(long aheadMs) {
            WeirConfig config = config("weir");
            driver = new InMemoryDriver(
                    WeirTopology.shaping(config, live, new QueueRegistry(), new EnforcerMetrics()),
                    StreamsSettings.shaping(config),
                    Instant.ofEpochMilli(brokerMs + aheadMs));
            asks = in(driver, TOPICS.leaseRequests());
            grants = out(driver, TOPICS.leaseResponses());
        }
    }

    private WeirConfig config(String applicationId) {
        WeirConfig from = WeirConfig.DEFAULTS;
        return from.toBuilder()
                .applicationId(applicationId)
                .stateDirectory(directory.resolve(applicationId))
                .build();
    }

    private static TestInputTopic<byte[], byte[]> in(TopologyTestDriver driver, String topic) {
        return driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static TestOutputTopic<byte[], byte[]> out(TopologyTestDriver driver, String topic) {
        return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @AfterEach
    void stop() {
        holders.forEach(holder -> holder.driver.close());
        lender.driver.close();
    }

    private Holder holder(String applicationId, long aheadMs) {
        Holder holder = new Holder(applicationId, aheadMs);
        holders.add(holder);
        return holder;
    }

    private void apply(String limit) throws Exception {
        String yaml = "policies:\n  - {id: all, key: [], limits: [" + limit + "]}\n";
        TestInputTopic<String, byte[]> policies = holders.get(0)
                .driver
                .createInputTopic(TOPICS.policies(), new StringSerializer(), new ByteArraySerializer());
        for (PolicyFile.Definition definition : PolicyFile.read("test", yaml).policies()) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(definition.kind(), definition.id(), 1, definition.json(), 0);
            policies.pipeInput(applied.key(), new PolicyAvro().encode(applied));
        }
    }

    /** Each holder sends a request every {@code everyMs}. Messages are read one step later. */
    private void run(long forMs, long everyMs) throws Exception {
        for (long ms = 0; ms < forMs; ms += STEP_MS) {
            for (Holder holder : holders) {
                if (ms % everyMs == 0) {
                    holder.request();
                }
                for (TestRecord<byte[], byte[]> ask : holder.asks.readRecordsToList()) {
                    lastAskMs = Math.max(lastAskMs, brokerMs + random.nextInt(mostTransitMs));
                    asksUnderWay.add(new TestRecord<>(ask.key(), ask.value(), Instant.ofEpochMilli(lastAskMs)));
                }
            }
            while (!asksUnderWay.isEmpty() && asksUnderWay.peek().timestamp() <= brokerMs) {
                sentAsks.add(asksUnderWay.remove());
                lender.asks.pipeInput(sentAsks.get(sentAsks.size() - 1));
            }
            for (TestRecord<byte[], byte[]> grant : lender.grants.readRecordsToList()) {
                assertThat(new LeaseResponseAvro()
                                .decode(grant.value(), 0)
                                .response()
                                .appendedAtMs())
                        .as("the time at which the request was appended")
                        .isEqualTo(grant.timestamp());
                holders.forEach(holder -> holder.grants.pipeInput(grant.key(), grant.value()));
            }
            brokerMs += STEP_MS;
            for (Holder holder : holders) {
                holder.driver.advanceWallClockTime(Duration.ofMillis(STEP_MS));
                holder.count();
            }
            lender.driver.advanceWallClockTime(Duration.ofMillis(STEP_MS));
        }
    }

    /** The limit is 10 a second and twice as much is requested, so about 150 requests are allowed in 15 s. */
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "-500, 0",
        "-2000, 0",
        "-30000, 0",
        "-3600000, 0",
        "250, 0",
        "2000, 0",
        "30000, 0",
        "3600000, 0",
        "0, -30000",
        "0, 3600000",
        "-3600000, 3600000"
    })
    void a_holder_gets_its_quota_whatever_its_clock_and_that_of_the_ledger(long holderMs, long ledgerMs)
            throws Exception {
        Holder holder = holder("weir", holderMs);
        lender = new Lender(ledgerMs);
        apply("{algorithm: fixed-window, limit: 10, per: 1s}");
        run(15_000, 50);
        assertThat(holder.allowed).isBetween(140, 160);
    }

    /** The ledger's state depends only on the records it has read, so another instance that reads them continues it. */
    @Test
    void a_ledger_that_moves_to_an_instance_with_another_clock_costs_no_quota() throws Exception {
        Holder slow = holder("weir", -30_000);
        Holder fast = holder("other", 30_000);
        lender = new Lender(3_600_000);
        apply("{algorithm: fixed-window, limit: 10, per: 1s}");
        run(15_000, 100);
        lender.driver.close();
        lender = new Lender(-3_600_000);
        sentAsks.forEach(lender.asks::pipeInput);
        lender.grants.readRecordsToList();
        run(15_000, 100);
        assertThat(slow.allowed + fast.allowed).isBetween(285, 310);
        assertThat(Math.min(slow.allowed, fast.allowed)).isGreaterThanOrEqualTo(130);
    }

    /**
     * The time of a decision is ahead of the broker's by the transit time of the request for its lease, and the
     * ledger's time follows the reported decision times. If responses contained the ledger's time, each slow request
     * would increase the difference.
     */
    @Test
    void decision_times_do_not_drift_ahead_of_the_brokers_clock() throws Exception {
        mostTransitMs = 300;
        Holder holder = holder("weir", 0);
        lender = new Lender(0);
        apply("{algorithm: token-bucket, limit: 100, per: 10s, burst: 10}");
        run(60_000, 20);
        assertThat(holder.allowed).isBetween(450, 620);
        assertThat(holder.latestMs - brokerMs).isLessThanOrEqualTo(mostTransitMs);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{algorithm: sliding-window-log, limit: 100, per: 10s}",
                "{algorithm: sliding-window-counter, limit: 100, per: 10s}",
                "{algorithm: token-bucket, limit: 100, per: 10s}",
                "{algorithm: leaky-bucket, limit: 100, per: 10s}",
                "{algorithm: gcra, limit: 100, per: 10s}",
                "{algorithm: fixed-window, limit: 100, per: 1d}",
            })
    void two_holders_with_clocks_a_minute_apart_both_get_quota(String limit) throws Exception {
        Holder slow = holder("weir", -30_000);
        Holder fast = holder("other", 30_000);
        lender = new Lender(3_600_000);
        apply(limit);
        run(30_000, 100);
        int allowed = slow.allowed + fast.allowed;
        long most = limit.contains("1d") ? 100 : 400; // buckets start full
        assertThat((long) allowed).isBetween(most == 100 ? 95L : 275L, most);
        assertThat(Math.min(slow.allowed, fast.allowed))
                .as("%d and %d", slow.allowed, fast.allowed)
                .isGreaterThanOrEqualTo(allowed * 45 / 100);
    }
}
