package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.failure.check.UnreportedLeases;
import dev.weir.failure.process.GatewayProcess;
import dev.weir.failure.process.GatewayProcess.Decided;
import dev.weir.failure.process.ProcessClock;
import dev.weir.kafka.KafkaSettings;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Shared limits for four gateways in their own processes with wrong clocks. One is killed, one is paused, and the clock
 * of one is stepped.
 */
@Tag("full")
class GatewayFailureTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration HOUR = Duration.ofHours(1);

    /** By how much the clock of each gateway is ahead at its start. Without a C compiler, no clock is wrong. */
    private static final List<Duration> AHEAD =
            List.of(Duration.ofSeconds(-2), Duration.ofSeconds(2), HOUR, Duration.ZERO);

    /** What all gateways together may allow in any hour, in any second, and in any 4 s. */
    private static final int PER_HOUR = 4_000;

    private static final int PER_SECOND = 20;
    private static final int BURST = 100;
    private static final int BURST_PER_MS = 4_000;

    /** The interval of requests to each gateway for the limit per hour, and how many of these make one per second. */
    private static final long INTERVAL_MS = 20;

    private static final int TICKS_PER_REQUEST = 5;

    /** How many requests to a gateway may be unanswered. */
    private static final int MAX_WAITING = 100;

    /** How many allowed requests are counted to compare shares, how often at most, and half of an even share. */
    private static final int COUNTED = 120;

    private static final int MOST_ROUNDS = 10;
    private static final int LEAST_SHARE = COUNTED / AHEAD.size() / 2;

    private static final int RESUMED = 3;

    /** How often a clock is set back while this many requests are sent over the topics. */
    private static final int STEPS_BACK = 10;

    private static final int SENT_AT_STEP = 20;
    private static final Duration TERM = Duration.ofSeconds(6);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private static final String POLICIES = """
            policies:
              - {id: hour, match: {path: /hour}, key: [], lease: client,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: 1h}]}
              - {id: second, match: {path: /second}, key: [], lease: client,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: 1s}]}
              - {id: burst, match: {path: /burst}, key: [], lease: client, max-wait: 10s,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: %dms}]}
              - {id: own, match: {path: /own}, limits: [{algorithm: sliding-window-log, limit: 1000000, per: 1h}]}
            """.formatted(PER_HOUR, PER_SECOND, BURST, BURST_PER_MS);

    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path directory;

    @RegisterExtension
    final OpenResources open = new OpenResources();

    private final List<GatewayProcess> gateways = new ArrayList<>();
    private final Map<GatewayProcess, Queue<Decided>> perSecond = new HashMap<>();
    private boolean hasWrongClocks;
    private WeirConfig config;
    private int ticks;

    @BeforeEach
    void start() throws Exception {
        EmbeddedBroker broker = open.add(EmbeddedBroker.start());
        config = WeirConfig.builder()
                .threads(1)
                .leases(new WeirConfig.Leases(TERM, Duration.ofMillis(300)))
                .kafka(Map.of("bootstrap.servers", broker.bootstrapServers()))
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        Enforcer enforcer = open.add(Enforcer.start(config));
        hasWrongClocks = ProcessClock.Library.isPossible();
        Optional<ProcessClock.Library> library =
                hasWrongClocks ? Optional.of(ProcessClock.Library.compile(directory)) : Optional.empty();
        for (int i = 0; i < AHEAD.size(); i++) {
            String name = "gateway-" + i;
            Duration ahead = AHEAD.get(i);
            GatewayProcess gateway = open.add(new GatewayProcess(
                    name,
                    directory,
                    broker.bootstrapServers(),
                    TERM,
                    library.map(one -> one.clock(name, () -> ahead))));
            gateways.add(gateway);
            perSecond.put(gateway, new ConcurrentLinkedQueue<>());
            gateway.start();
        }
        enforcer.awaitRunning(PATIENCE);
        ScheduledExecutorService load = Executors.newSingleThreadScheduledExecutor();
        open.add(load::shutdownNow);
        var unused = load.scheduleWithFixedDelay(this::ask, 0, INTERVAL_MS, TimeUnit.MILLISECONDS);
        gateways.forEach(GatewayProcess::awaitDecisions);
    }

    private void ask() {
        ticks++;
        for (GatewayProcess gateway : gateways) {
            if (gateway.waiting() >= MAX_WAITING) {
                continue; // a slow machine, or the paused gateway
            }
            gateway.authorize("/hour");
            if (ticks % TICKS_PER_REQUEST == 0) {
                var unused = gateway.decide("/second", TIMEOUT).thenAccept(perSecond.get(gateway)::add);
            }
        }
    }

    @Test
    void gateways_with_wrong_clocks_share_limits_and_never_exceed_them_when_one_is_killed_and_one_is_paused()
            throws Exception {
        GatewayProcess killed = gateways.get(0);
        GatewayProcess paused = gateways.get(1);
        GatewayProcess heir = gateways.get(2);
        GatewayProcess stepped = gateways.get(3);
        assertClocks();
        assertShares();

        List<Decided> burst = new ArrayList<>(joined(decided(killed, "/burst", BURST / 2)));
        killed.kill();
        long killedMs = System.currentTimeMillis();
        paused.pause();
        long pausedNanos = System.nanoTime();
        setBackWhileSending(stepped);
        for (Duration ahead : List.of(HOUR.negated(), Duration.ZERO, Duration.ofSeconds(2), Duration.ofSeconds(-2))) {
            stepped.setClock(ahead); // while it holds leases
            awaitAllowed(stepped);
        }
        killed.start();
        killed.awaitDecisions();
        await(
                "the lease of the paused gateway has expired",
                PATIENCE,
                () -> System.nanoTime() - pausedNanos > TERM.multipliedBy(2).toNanos());
        List<Decided> again = burstAfterWindow(heir);
        burst.addAll(again);
        paused.resume();
        gateways.forEach(this::awaitAllowed);
        awaitUsedUp();

        assertThat(again)
                .as("the quota of the killed gateway is available again")
                .allMatch(one -> one.isAllowed() || !one.isByWeir());
        assertKept(burst, BURST, BURST_PER_MS);
        List<Decided> all =
                perSecond.values().stream().flatMap(Collection::stream).toList();
        assertKept(all, PER_SECOND, 1_000);
        assertThat(all.stream().filter(one -> one.isByWeir() && !one.isAllowed()))
                .allSatisfy(denied -> assertThat(denied.retryAfterMs()).isBetween(1L, PATIENCE.toMillis()));
        assertThat(gateways.stream().flatMap(gateway -> gateway.denials().stream()))
                .allSatisfy(retryAfter -> assertThat(retryAfter)
                        .hasValueSatisfying(
                                seconds -> assertThat(Long.parseLong(seconds)).isBetween(1L, HOUR.toSeconds())));
        long held = UnreportedLeases.read(config, "hour", PATIENCE).ofHoldersSilentSince(killedMs);
        await(
                () -> "all is used but the %d that the killed gateway held and the %d without a decision: %d"
                        .formatted(held, undecided(), allowed()),
                PATIENCE,
                () -> allowed() + undecided() >= PER_HOUR - held);
        assertThat(allowed()).isLessThanOrEqualTo(PER_HOUR);
    }

    private void assertClocks() throws Exception {
        for (int i = 0; i < AHEAD.size() && hasWrongClocks; i++) {
            ZonedDateTime before = ZonedDateTime.now();
            ZonedDateTime itsTime = gateways.get(i).wallClock().minus(AHEAD.get(i));
            assertThat(itsTime)
                    .isBetween(before.minusSeconds(30), ZonedDateTime.now().plusSeconds(30));
        }
    }

    /**
     * Checks that each gateway allows at least half of an even share of the limit per second. If the first requests are
     * not enough, more are counted, because the machine may have stalled.
     */
    private void assertShares() {
        Map<String, Integer> before = perSecondAllowed();
        for (int i = 1; i <= MOST_ROUNDS; i++) {
            int round = i;
            await("counted requests", PATIENCE, () -> sum(perSecondAllowed()) - sum(before) >= round * COUNTED);
            Map<String, Integer> now = perSecondAllowed();
            if (now.entrySet().stream()
                    .allMatch(one -> one.getValue() - before.get(one.getKey()) >= round * LEAST_SHARE)) {
                return;
            }
        }
        fail("the shares are %s after %s", perSecondAllowed(), before);
    }

    private Map<String, Integer> perSecondAllowed() {
        Map<String, Integer> allowed = new TreeMap<>();
        perSecond.forEach((gateway, decided) -> allowed.put(gateway.name(), (int)
                decided.stream().filter(Decided::isAllowed).count()));
        return allowed;
    }

    private static int sum(Map<String, Integer> counts) {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Waits until the gateway allows further requests. */
    private void awaitAllowed(GatewayProcess gateway) {
        int before = perSecondAllowed().get(gateway.name());
        await(
                gateway.name() + " allows requests",
                PATIENCE,
                () -> perSecondAllowed().get(gateway.name()) >= before + RESUMED);
    }

    /** Waits until the limit per hour is used up. */
    private void awaitUsedUp() {
        await("the limit is used up", PATIENCE, () -> {
            int before = allowed();
            int deniedBefore = denied();
            await("more decisions", PATIENCE, () -> denied() - deniedBefore > gateways.size() * 100);
            return allowed() == before;
        });
    }

    private int allowed() {
        return gateways.stream().mapToInt(GatewayProcess::allowed).sum();
    }

    private int undecided() {
        return gateways.stream().mapToInt(GatewayProcess::undecided).sum();
    }

    private int denied() {
        return gateways.stream().mapToInt(gateway -> gateway.denials().size()).sum();
    }

    /** Sets the clock back while batches of requests wait in the producer of the gateway. */
    private static void setBackWhileSending(GatewayProcess gateway) throws Exception {
        for (int i = 1; i <= STEPS_BACK; i++) {
            List<CompletableFuture<Decided>> sent = decided(gateway, "/own", SENT_AT_STEP);
            gateway.setClock(Duration.ofMinutes(-i));
            if (!areByWeir(sent)) { // a loaded machine may have been too slow for the timeout
                await("decisions after a step back", PATIENCE, () -> areByWeir(decided(gateway, "/own", SENT_AT_STEP)));
            }
        }
    }

    private static boolean areByWeir(List<CompletableFuture<Decided>> sent) {
        return joined(sent).stream().allMatch(Decided::isByWeir);
    }

    /**
     * Sends a burst after the window of the lease of the killed gateway. A loaded machine may have been too slow for some
     * of it: then another one is sent after its window.
     */
    private static List<Decided> burstAfterWindow(GatewayProcess gateway) {
        for (int i = 1; i <= MOST_ROUNDS; i++) {
            List<Decided> burst = joined(decided(gateway, "/burst", BURST));
            if (burst.stream().filter(Decided::isByWeir).count() >= BURST / 2) {
                return burst;
            }
            long sentNanos = System.nanoTime();
            await(
                    "the window of the burst is over",
                    PATIENCE,
                    () -> System.nanoTime() - sentNanos
                            > TERM.plusMillis(BURST_PER_MS).toNanos());
        }
        return fail("no burst of %s was decided", gateway.name());
    }

    private static List<CompletableFuture<Decided>> decided(GatewayProcess gateway, String path, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> gateway.decide(path, TIMEOUT))
                .toList();
    }

    private static List<Decided> joined(List<CompletableFuture<Decided>> decided) {
        return decided.stream().map(CompletableFuture::join).toList();
    }

    /** Checks that no window has more than the limit, and that no time of a decision is by a wrong clock. */
    private static void assertKept(List<Decided> decided, int limit, int perMs) {
        List<AdmittedUse> uses = decided.stream()
                .filter(one -> one.isByWeir() && one.isAllowed())
                .map(one -> new AdmittedUse(one.decidedAtMs(), 1))
                .sorted((a, b) -> Long.compare(a.timeMs(), b.timeMs()))
                .toList();
        assertThat(AdmittedUse.excess(LimitAccount.open(new SlidingWindowLog(limit, perMs, false), 0), limit, uses))
                .isEmpty();
        assertThat(decided.stream().filter(Decided::isByWeir))
                .allSatisfy(one -> assertThat(one.receivedAtMs() - one.decidedAtMs())
                        .isBetween(-PATIENCE.toMillis(), PATIENCE.toMillis()));
    }
}
