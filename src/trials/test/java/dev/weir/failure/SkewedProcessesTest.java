package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.client.RequestBuilder;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.failure.load.LeasedLoad;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.failure.process.ProcessClock;
import dev.weir.kafka.KafkaSettings;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** A shared limit for instances and leased clients in their own processes, some of them with wrong clocks. */
@Tag("full")
class SkewedProcessesTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration BEHIND = Duration.ofSeconds(-30);
    private static final Duration AHEAD = Duration.ofSeconds(30);
    private static final Duration HOUR = Duration.ofHours(1);
    /** The number of requests that the limit allows in 15 s. */
    private static final int COUNTED = 300;

    private static final int PARTITIONS = 4;
    private static final int LIMIT = 20;
    private static final int WANTED = 40;
    /** One client per partition, one leased client in its own process, and one in this process. */
    private static final int CLIENTS = PARTITIONS + 2;

    /** Half of an even share. */
    private static final int LEAST = COUNTED / CLIENTS / 2;

    private static final int MOST_ROUNDS = 3;
    private static final long INTERVAL_MS = CLIENTS * 1_000 / WANTED;
    private static final int RESUMED = 5;
    private static final String PREFIX = "weir.";
    private static final String SKEWED_INSTANCE = "skewed";
    private static final String SKEWED_CLIENT = "leased-skewed";
    private static final String LOCAL_CLIENT = "leased-local";

    private static final String POLICIES = """
            policies:
              - {id: all, key: [], lease: client, limits: [{algorithm: sliding-window-log, limit: 20, per: 1s}]}
            """;

    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path directory;

    private final long createdNanos = System.nanoTime();
    private final List<String> ofPartitions = IntStream.range(0, PARTITIONS)
            .mapToObj(SkewedProcessesTest::clientOf)
            .toList();
    private final List<Decision> overTopic = new ArrayList<>();
    private final Queue<Long> locally = new ConcurrentLinkedQueue<>();

    @RegisterExtension
    final OpenResources open = new OpenResources();

    private WeirConfig config;
    private Admin admin;
    private TopicReader<Decision> decisions;
    private InstanceProcess instance;
    private ProcessClock instanceClock;
    private LeasedLoad.InProcess client;
    private ProcessClock clientClock;

    @BeforeEach
    void start() throws Exception {
        assumeTrue(ProcessClock.Library.isPossible(), ProcessClock.NEEDS);
        EmbeddedBroker broker = open.add(EmbeddedBroker.start());
        Map<String, String> kafka = Map.of("bootstrap.servers", broker.bootstrapServers());
        config = WeirConfig.builder()
                .threads(1)
                .topics(PREFIX, PARTITIONS)
                .kafka(kafka)
                .build();
        admin = open.add(Admin.create(KafkaSettings.admin(config)));
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        decisions = open.add(TopicReader.decisions(config, TopicReader.From.BEGINNING, true));

        ProcessClock.Library library = ProcessClock.Library.compile(directory);
        instanceClock = library.clock(SKEWED_INSTANCE, () -> BEHIND);
        clientClock = library.clock(SKEWED_CLIENT, () -> AHEAD);
        instance = open.add(new InstanceProcess(SKEWED_INSTANCE, directory, PARTITIONS, kafka));
        instance.runBy(instanceClock);
        InstanceProcess other = open.add(new InstanceProcess("other", directory, PARTITIONS, kafka));
        client = open.add(new LeasedLoad.InProcess(
                directory, clientClock, broker.bootstrapServers(), PREFIX, SKEWED_CLIENT, INTERVAL_MS));
        instance.start();
        other.start();
        client.start();
        open.add(new LeasedLoad(
                broker.bootstrapServers(),
                PREFIX,
                LOCAL_CLIENT,
                INTERVAL_MS,
                decision -> locally.add(decision.decidedAtMs())));
        instance.awaitReady();
        other.awaitReady();
        RequestSender sender = open.add(new RequestSender(config));
        ScheduledExecutorService load = Executors.newSingleThreadScheduledExecutor();
        open.add(load::shutdownNow);
        var unused = load.scheduleAtFixedRate(
                () -> ofPartitions.forEach(
                        one -> sender.send(RequestBuilder.of(one).build())),
                0,
                INTERVAL_MS,
                TimeUnit.MILLISECONDS);
    }

    @Test
    void all_clients_get_their_share_and_the_limit_holds_with_wrong_and_stepping_clocks() throws Exception {
        awaitReading("partition of the skewed instance", () -> !partitionsOf(SKEWED_INSTANCE)
                .isEmpty());
        awaitAllowed("first requests", 1);
        assertThat(Duration.between(Instant.now(), instance.wallClock()))
                .as("by how much the clock of the instance is ahead")
                .isLessThan(BEHIND.dividedBy(2));

        assertShares();
        assertThat(client.allowed()).allSatisfy(each -> assertThat(each.wallMs() - each.decidedAtMs())
                .as("by how much the clock of the client is ahead")
                .isGreaterThan(AHEAD.toMillis() / 2));

        instanceClock.set(BEHIND.minus(HOUR));
        clientClock.set(AHEAD.minus(HOUR));
        awaitReading("restart of the instance", () -> instance.saidSinceStart()
                .contains("The enforcer restarts: the wall clock"));
        awaitReading("ready instance after its restart", instance::isReady);
        awaitAllowed("requests after a step back", RESUMED);
        instanceClock.set(BEHIND);
        clientClock.set(AHEAD);
        awaitAllowed("requests after a step forward", RESUMED);

        List<AdmittedUse> all = allowed().values().stream()
                .flatMap(List::stream)
                .sorted()
                .map(atMs -> new AdmittedUse(atMs, 1))
                .toList();
        SlidingWindowLog limit = new SlidingWindowLog(LIMIT, 1_000, false);
        assertThat(AdmittedUse.excess(LimitAccount.open(limit, 0), LIMIT, all)).isEmpty();
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - createdNanos) + 1;
        assertThat(all).as("in %d s of real time", seconds).hasSizeLessThanOrEqualTo((int) (LIMIT * (seconds + 1)));
    }

    /**
     * Checks that each client gets at least half of an even share. If the first requests are not enough, more are
     * counted, because the machine may have stalled.
     */
    private void assertShares() throws Exception {
        Map<String, Integer> before = counts();
        Map<String, Integer> counted = new TreeMap<>();
        for (int i = 1; i <= MOST_ROUNDS; i++) {
            int round = i;
            awaitReading("counted requests", () -> sum(counts()) - sum(before) >= round * COUNTED);
            counts().forEach((who, count) -> counted.put(who, count - before.get(who)));
            if (counted.values().stream().allMatch(count -> count >= round * LEAST)) {
                return;
            }
        }
        assertThat(counted.values()).as("of %s", counted).allMatch(count -> count >= MOST_ROUNDS * LEAST);
    }

    /** Waits until this many further requests of each client are allowed. */
    private void awaitAllowed(String what, int more) throws Exception {
        Map<String, Integer> before = counts();
        awaitReading(what, () -> counts().entrySet().stream()
                .allMatch(each -> each.getValue() - before.get(each.getKey()) >= more));
    }

    private Map<String, Integer> counts() throws Exception {
        Map<String, Integer> counts = new TreeMap<>();
        allowed().forEach((who, times) -> counts.put(who, times.size()));
        return counts;
    }

    private static int sum(Map<String, Integer> counts) {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Returns the times at which requests of each client were allowed. */
    private Map<String, List<Long>> allowed() throws Exception {
        decisions.poll(Duration.ofMillis(20), overTopic::add);
        Map<String, List<Long>> allowed = new TreeMap<>();
        ofPartitions.forEach(one -> allowed.put(one, new ArrayList<>()));
        overTopic.stream()
                .filter(decision -> decision.outcome() == Outcome.ALLOWED)
                .forEach(decision -> allowed.get(decision.client()).add(decision.decidedAtMs()));
        allowed.put(
                SKEWED_CLIENT,
                client.allowed().stream().map(LeasedLoad.Allowed::decidedAtMs).toList());
        allowed.put(LOCAL_CLIENT, List.copyOf(locally));
        return allowed;
    }

    private Set<TopicPartition> partitionsOf(String who) throws Exception {
        String group = config.applicationId();
        return admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().stream()
                .filter(member -> member.clientId().startsWith(who + "-"))
                .flatMap(member -> member.assignment().topicPartitions().stream())
                .collect(Collectors.toSet());
    }

    private static String clientOf(int partition) {
        return IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "topic-" + partition + "-" + i)
                .filter(one -> BuiltInPartitioner.partitionForKey(one.getBytes(StandardCharsets.UTF_8), PARTITIONS)
                        == partition)
                .findFirst()
                .orElseThrow();
    }

    /** Reads decisions while it waits. */
    private void awaitReading(String what, Callable<Boolean> condition) {
        await(() -> "%s: allowed %s; see %s".formatted(what, allowedSoFar(), directory), PATIENCE, () -> {
            decisions.poll(Duration.ofMillis(20), overTopic::add);
            return condition.call();
        });
    }

    private Map<String, Integer> allowedSoFar() {
        try {
            return counts();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
