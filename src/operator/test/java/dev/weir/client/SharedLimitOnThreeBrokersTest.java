package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.PeakOfUses;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.BusyThreads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests a shared limit with three broker processes (replication factor 3, acks=all) on a machine under load. {@code
 * weir-bench leases --of QUARTER --brokers 3 --busy 2} measures which share of the requests is denied if they do not
 * wait, which depends on the machine.
 */
@Tag("full")
class SharedLimitOnThreeBrokersTest {

    private static final long LIMIT = 20;
    private static final int SLOTS = 5;

    /** Longer than any request waits on a slow machine: a request that fails by it is lost. */
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private static final int BURST = 100;

    /** The window of the burst's limit: longer than a slow machine takes to decide the burst. */
    private static final long BURST_PER_MS = 60_000;

    private static final int KEYS = 10;
    private static final int WARM_UP = 30;
    private static final long GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** The number of requests, 5 a second, of the test that uses a quarter of the limit. */
    private static final int QUARTER = Integer.getInteger("weir.quarter.requests", 30);

    private static final String POLICIES = """
            policies:
              - {id: quarter, match: {tier: quarter}, key: [], max-wait: 1m,
                 limits: [{algorithm: sliding-window-counter, limit: 20, per: 1s}]}
              - {id: burst, match: {tier: burst}, key: [], max-wait: 30s,
                 limits: [{algorithm: sliding-window-counter, limit: 20, per: 1m}]}
              - {id: slots, match: {tier: slots}, key: [], max-wait: 20s,
                 limits: [{algorithm: concurrency, limit: 5, ttl: 10m}]}
              - {id: each, match: {tier: each}, key: [endpoint], max-wait: 1m,
                 limits: [{algorithm: sliding-window-counter, limit: 20, per: 1s}]}
            """;

    @TempDir
    private static Path directory;

    private static BrokerCluster brokers;
    private static Enforcer enforcer;
    private static WeirClient client;
    private static BusyThreads busy;

    @BeforeAll
    static void start() throws Exception {
        brokers = BrokerCluster.start(directory, BrokerCluster.FAULT_TOLERANT_SIZE);
        LiveWeir weir = LiveWeir.create(brokers.bootstrapServers(), directory, "three.", POLICIES);
        enforcer = weir.enforce();
        client = weir.client().timeout(TIMEOUT).start();
        busy = new BusyThreads(Runtime.getRuntime().availableProcessors()); // the load under test
        for (int i = 0; i < WARM_UP; i++) { // the first transactions of a process are slow
            decide("each", i, "/warm-up").join();
        }
    }

    @AfterAll
    static void stop() {
        busy.close();
        client.close();
        enforcer.close();
        brokers.close();
    }

    @Test
    void a_limit_used_to_a_quarter_denies_nothing_that_waits_even_with_slow_brokers() {
        List<CompletableFuture<Decision>> decisions = new ArrayList<>();
        long startNanos = System.nanoTime();
        for (int i = 0; i < QUARTER; i++) {
            for (long early = 1; early > 0; early = startNanos + i * GAP_NANOS - System.nanoTime()) {
                LockSupport.parkNanos(early);
            }
            decisions.add(decide("quarter", i, "/"));
        }
        List<String> denied = inOrder(decisions).stream()
                .filter(one -> one.outcome() != Outcome.ALLOWED)
                .map(one -> one.reason() + " at " + one.decidedAtMs())
                .toList();
        assertThat(denied).as("denied requests of " + QUARTER).isEmpty();
    }

    @Test
    void a_burst_after_idle_time_is_allowed_up_to_the_limit() {
        List<CompletableFuture<Decision>> decisions = new ArrayList<>();
        for (int i = 0; i < BURST; i++) {
            decisions.add(decide("burst", i, "/"));
        }
        List<Decision> all = inOrder(decisions);
        List<AdmittedUse> uses = all.stream()
                .filter(one -> one.outcome() == Outcome.ALLOWED)
                .map(one -> new AdmittedUse(one.decidedAtMs(), 1))
                .toList();
        assertThat(uses).as("allowed requests of a burst of " + BURST).hasSizeBetween((int) LIMIT, BURST);
        SlidingWindowCounter limit = new SlidingWindowCounter(LIMIT, BURST_PER_MS, false, false);
        LimitAccount<?> account = LimitAccount.open(limit, all.get(0).decidedAtMs());
        assertThat(AdmittedUse.excess(account, LIMIT, uses)).isEmpty();
    }

    @Test
    void the_first_request_of_a_key_waits_for_its_lease() {
        List<CompletableFuture<Decision>> decisions = new ArrayList<>();
        for (int i = 0; i < KEYS; i++) {
            CompletableFuture<Decision> decision = decide("each", i, "/" + i);
            decision.join();
            decisions.add(decision);
        }
        assertThat(inOrder(decisions)).allMatch(one -> one.outcome() == Outcome.ALLOWED);
    }

    /** Clients on all partitions take, prolong and free slots, each one after the other. */
    @Test
    void slots_in_use_are_at_most_the_limit_and_each_request_is_answered() throws Exception {
        PeakOfUses inUse = new PeakOfUses();
        AtomicInteger allowed = new AtomicInteger();
        List<CompletableFuture<Void>> callers = new ArrayList<>();
        for (int i = 0; i < 3 * SLOTS; i++) {
            callers.add(work("worker-" + i, 4, inUse, allowed));
        }
        for (CompletableFuture<Void> caller : callers) {
            caller.join();
        }
        assertThat(inUse.most()).isBetween(1L, (long) SLOTS);
        assertThat(allowed.get()).isGreaterThanOrEqualTo(SLOTS);
    }

    private static CompletableFuture<Void> work(String name, int rounds, PeakOfUses inUse, AtomicInteger allowed) {
        if (rounds == 0) {
            return CompletableFuture.completedFuture(null);
        }
        String id = "round-" + rounds;
        return slots(name, RequestKind.CONSUME, id)
                .thenCompose(taken -> {
                    if (taken.outcome() != Outcome.ALLOWED) {
                        return CompletableFuture.completedFuture(null);
                    }
                    allowed.incrementAndGet();
                    return slots(name, RequestKind.RENEW, id)
                            .thenCompose(renewed -> slots(name, RequestKind.RELEASE, id))
                            .thenAccept(freed -> {
                                assertThat(freed.reason()).isEqualTo(Reason.RELEASED);
                                synchronized (inUse) {
                                    inUse.add(1, taken.decidedAtMs(), freed.decidedAtMs());
                                }
                            });
                })
                .thenCompose(done -> work(name, rounds - 1, inUse, allowed));
    }

    private static CompletableFuture<Decision> slots(String name, RequestKind kind, String id) {
        Request request = Request.builder(id, name).kind(kind).tier("slots").build();
        return client.decide(request).thenApply(answer -> answer.decision().orElseThrow());
    }

    private static CompletableFuture<Decision> decide(String tier, int number, String endpoint) {
        Request request = RequestBuilder.of(tier + number)
                .tier(tier)
                .attribute("endpoint", endpoint)
                .build();
        return client.decide(request).thenApply(answer -> answer.decision().orElseThrow());
    }

    private static List<Decision> inOrder(List<CompletableFuture<Decision>> decisions) {
        return decisions.stream()
                .map(CompletableFuture::join)
                .sorted(Comparator.comparingLong(Decision::decidedAtMs))
                .toList();
    }
}
