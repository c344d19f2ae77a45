package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.failure.check.UnreportedLeases;
import dev.weir.failure.load.GatewayCallers;
import dev.weir.failure.process.GatewayProcess;
import dev.weir.kafka.KafkaSettings;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.Effort;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Shared limits for four gateways, each in its own process, whose callers send as many requests as they can answer. One
 * gateway is killed, and one is paused for longer than its leases last. {@code -Dweir.effort=10} repeats that ten times.
 */
@Tag("full")
class GatewayLoadTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration TERM = Duration.ofSeconds(2);
    private static final int GATEWAYS = 4;

    /** Callers of each gateway for each limit. */
    private static final int CALLERS = 4;

    private static final int ROUNDS = Effort.times(1);

    /** What all gateways together may allow in any hour: callers use it up after the last round. */
    private static final int PER_HOUR = 50_000 * ROUNDS;

    /** What all gateways together may allow in any second: much less than callers request. */
    private static final int PER_SECOND = 200;

    /** How many answers all callers together get between two events, and the least that one gateway gives. */
    private static final int BETWEEN = 4_000;

    private static final int LEAST = 100;

    private static final String POLICIES = """
            policies:
              - {id: hour, match: {path: /hour}, key: [], lease: client,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: 1h}]}
              - {id: second, match: {path: /second}, key: [], lease: client,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: 1s}]}
            """.formatted(PER_HOUR, PER_SECOND);

    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path directory;

    @RegisterExtension
    final OpenResources open = new OpenResources();

    private final List<GatewayProcess> gateways = new ArrayList<>();
    private final List<GatewayCallers> callers = new ArrayList<>();

    @Test
    void gateways_never_exceed_shared_limits_under_full_load_when_one_is_killed_and_one_is_paused() throws Exception {
        WeirConfig config = start();
        awaitAnswers(gateways);
        long killedMs = 0;
        for (int round = 0; round < ROUNDS; round++) {
            GatewayProcess killed = gateways.get(2 * round % GATEWAYS);
            GatewayProcess paused = gateways.get((2 * round + 1) % GATEWAYS);
            List<GatewayProcess> others = gateways.stream()
                    .filter(one -> one != killed && one != paused)
                    .toList();
            killed.kill();
            killedMs = System.currentTimeMillis();
            paused.pause();
            long pausedNanos = System.nanoTime();
            awaitAnswers(others);
            killed.start();
            await(
                    "the leases of the paused gateway have expired",
                    PATIENCE,
                    () -> System.nanoTime() - pausedNanos > TERM.multipliedBy(2).toNanos());
            paused.resume();
            awaitAnswers(gateways);
        }
        long held = UnreportedLeases.read(config, "hour", PATIENCE).ofHoldersSilentSince(killedMs);
        await(
                () -> "all is used but the %d that killed gateways held: %d".formatted(held, authorized()),
                PATIENCE.multipliedBy(2L * ROUNDS),
                () -> {
                    gateways.forEach(GatewayProcess::checkAlive);
                    return authorized() >= PER_HOUR - held - unanswered();
                });
        awaitAnswers(gateways);
        for (GatewayCallers some : callers) {
            some.close();
        }
        assertThat(authorized()).isLessThanOrEqualTo(PER_HOUR);
        List<AdmittedUse> uses = callers.stream()
                .flatMap(some -> some.allowed().stream())
                .sorted(Comparator.comparingLong(AdmittedUse::timeMs))
                .toList();
        assertThat(uses).as("several windows of a second").hasSizeGreaterThan(2 * PER_SECOND);
        assertThat(AdmittedUse.excess(
                        LimitAccount.open(new SlidingWindowLog(PER_SECOND, 1_000, false), 0), PER_SECOND, uses))
                .isEmpty();
    }

    private WeirConfig start() throws Exception {
        EmbeddedBroker broker = open.add(EmbeddedBroker.start());
        WeirConfig config = WeirConfig.builder()
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
        for (int i = 0; i < GATEWAYS; i++) {
            GatewayProcess gateway = open.add(
                    new GatewayProcess("gateway-" + i, directory, broker.bootstrapServers(), TERM, Optional.empty()));
            gateways.add(gateway);
            gateway.start();
        }
        enforcer.awaitRunning(PATIENCE);
        for (GatewayProcess gateway : gateways) {
            callers.add(open.add(new GatewayCallers(gateway.port(), CALLERS, "/hour", "/second")));
        }
        return config;
    }

    /** Waits until all callers, and those of each of these gateways, have further answers. */
    private void awaitAnswers(List<GatewayProcess> of) {
        List<Long> before = callers.stream().map(GatewayCallers::answered).toList();
        await(() -> "answers: %s after %s".formatted(answers(), before), PATIENCE, () -> {
            long sum = 0;
            boolean isLeast = true;
            for (int i = 0; i < callers.size(); i++) {
                long more = callers.get(i).answered() - before.get(i);
                sum += more;
                isLeast &= more >= LEAST || !of.contains(gateways.get(i));
            }
            return isLeast && sum >= BETWEEN;
        });
    }

    private List<Long> answers() {
        return callers.stream().map(GatewayCallers::answered).toList();
    }

    private long authorized() {
        return callers.stream().mapToLong(GatewayCallers::authorized).sum();
    }

    private long unanswered() {
        return callers.stream().mapToLong(GatewayCallers::unanswered).sum();
    }
}
