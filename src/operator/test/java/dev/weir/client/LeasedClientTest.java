package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.LeaseUsage;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.kafka.Topics;
import dev.weir.lease.LeaseTerms;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.JavaProcess;
import dev.weir.testing.TestBroker;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseUsageAvro;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests clients with leases of shared limits, with a real broker and enforcer. */
@Tag("full")
@SuppressWarnings("try") // enforcers are not referenced
class LeasedClientTest {

    private static final String HOUR = "{algorithm: sliding-window-log, limit: %d, per: 1h}";

    /** Leases longer than any of these tests, so that tokens are free again only if the holder returns them. */
    private static final WeirConfig.Leases LONG = new WeirConfig.Leases(Duration.ofHours(1), Duration.ofMillis(300));

    private static final WeirConfig.Leases SHORT = new WeirConfig.Leases(Duration.ofSeconds(2), Duration.ofMillis(300));

    /** Leases short enough to wait for their end, but long enough that demand from their start is seconds old then. */
    private static final WeirConfig.Leases SECONDS =
            new WeirConfig.Leases(Duration.ofSeconds(6), Duration.ofMillis(300));

    @TempDir
    static Path directory;

    private static EmbeddedBroker broker;

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
    }

    private static LiveWeir weir(String prefix, WeirConfig.Leases leases, String policies) throws Exception {
        return LiveWeir.create(broker, directory, prefix, "policies:\n" + policies)
                .leases(leases);
    }

    private static WeirClient leased(LiveWeir weir) throws InterruptedException {
        return LiveWeir.ready(weir.client().leased(true).leases(terms(weir)));
    }

    private static LeaseTerms terms(LiveWeir weir) {
        return weir.config().leases().terms();
    }

    private static Request request(String client) {
        return RequestBuilder.of(client).build();
    }

    private static Decision decided(CompletableFuture<ClientDecision> future) throws Exception {
        return get(future).decision().orElseThrow();
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Sends requests until {@code denials} are denied. Returns the number of allowed ones. */
    private static int drain(WeirClient weir, String client, int denials) throws Exception {
        int allowed = 0;
        int denied = 0;
        while (denied < denials) {
            Decision decision = decided(weir.decide(request(client)));
            allowed += decision.outcome() == Outcome.ALLOWED ? 1 : 0;
            denied += decision.outcome() == Outcome.DENIED ? 1 : 0;
        }
        return allowed;
    }

    /** Sends requests until {@code allowed} are allowed. */
    private static void drainTo(WeirClient weir, String client, int allowed) throws Exception {
        int[] so = {0};
        await(allowed + " are allowed", LiveWeir.PATIENCE, () -> {
            while (so[0] < allowed && decided(weir.decide(request(client))).outcome() == Outcome.ALLOWED) {
                so[0]++;
            }
            return so[0] == allowed;
        });
    }

    private static List<LeaseUsage> usage(LiveWeir weir, String policy) throws Exception {
        List<LeaseUsage> all = new ArrayList<>();
        Map<String, Object> kafka = new HashMap<>(weir.config().kafka());
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(kafka, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            String topic = weir.config().topics().prefix() + "lease-usage";
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            LeaseUsageAvro avro = new LeaseUsageAvro(Optional.empty());
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    LeaseUsage usage = avro.decode(record.value());
                    assertThat(KeyCodec.decode(record.key()).policyId())
                            .isEqualTo(usage.policy().id());
                    if (usage.policy().id().equals(policy)) {
                        all.add(usage);
                    }
                }
            }
        }
        return all;
    }

    private static long cost(List<LeaseUsage> usage) {
        return usage.stream().mapToLong(one -> one.amount().cost()).sum();
    }

    @Test
    void a_policy_that_observes_changes_no_decision_and_is_named() throws Exception {
        LiveWeir weir = weir("observed.", LONG, """
                  - {id: hard, match: {endpoint: /both}, key: [], lease: client, max-wait: 1m, limits: [%s]}
                  - {id: soft, layer: trial, key: [], lease: client, max-wait: 1m, on-exceed: observe, limits: [%s]}
                """.formatted(HOUR.formatted(4), HOUR.formatted(1)));
        Request both = RequestBuilder.of("any").attribute("endpoint", "/both").build();
        try (Enforcer enforcer = weir.enforce();
                WeirClient client = leased(weir)) {
            for (int i = 0; i < 4; i++) {
                assertThat(decided(client.decide(both)))
                        .returns(Outcome.ALLOWED, Decision::outcome)
                        .returns("hard", Decision::policyId)
                        .returns(0L, Decision::retryAfterMs);
            }
            assertThat(decided(client.decide(both)))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns("hard", Decision::policyId)
                    .returns(List.of(), Decision::observedBy);
            await("the lease of soft is used up", LiveWeir.PATIENCE, () -> isObserved(client, request("other")));
        }
    }

    private static boolean isObserved(WeirClient client, Request request) {
        try {
            Decision decision = decided(client.decide(request));
            assertThat(decision.reason()).isEqualTo(Reason.NO_POLICY);
            return decision.observedBy().equals(List.of("soft"));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * While a callback blocks the thread that does maintenance, the time passes at which a refused request may be
     * repeated. A thread that went on with the time from before would neither repeat it nor end its wait.
     */
    @Test
    void a_lease_is_requested_again_although_a_callback_has_blocked_the_maintenance() throws Exception {
        LiveWeir weir = weir("blocked.", SHORT, """
                  - {id: free, match: {endpoint: /free}, key: [], lease: client, max-wait: 1m, limits: [%s]}
                  - {id: tight, match: {endpoint: /tight}, key: [], lease: client, max-wait: 1m, limits: [%s]}
                """.formatted(HOUR.formatted(1_000), HOUR.formatted(1)));
        Request free = RequestBuilder.of("any").attribute("endpoint", "/free").build();
        Request tight = RequestBuilder.of("any").attribute("endpoint", "/tight").build();
        CountDownLatch isBlocked = new CountDownLatch(1);
        CountDownLatch isFree = new CountDownLatch(1);
        try (Enforcer enforcer = weir.enforce();
                WeirClient client = LiveWeir.ready(
                        weir.client().leased(true).leases(terms(weir)).executor(Runnable::run))) {
            assertThat(decided(client.decide(tight)).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decided(client.decide(tight)).outcome()).isEqualTo(Outcome.DENIED);
            var unused = client.decide(free).thenAccept(decision -> {
                isBlocked.countDown();
                awaitUninterruptibly(isFree);
            });
            assertThat(isBlocked.await(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            long blockedNanos = System.nanoTime();
            await(
                    "the refusal is over",
                    LiveWeir.PATIENCE,
                    () -> System.nanoTime() - blockedNanos > SHORT.term().toNanos());
            CompletableFuture<ClientDecision> waiting =
                    client.decide(tight, Duration.ofSeconds(15), Fallback.FAIL_CLOSED);
            isFree.countDown();
            assertThat(decided(waiting).outcome()).isEqualTo(Outcome.DENIED);
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Otherwise the first request would wait for connections, and for code that runs for the first time. */
    @Test
    void a_ledger_has_responded_before_the_first_request() throws Exception {
        LiveWeir live =
                weir("warm.", LONG, "  - {id: all, key: [], lease: client, limits: [" + HOUR.formatted(1) + "]}\n");
        try (Enforcer enforcer = live.enforce();
                WeirClient weir = leased(live)) {
            await("a ledger has responded", LiveWeir.PATIENCE, () -> leaseResponses(live) > 0);
            assertThat(weir.stats().now().keysHeld()).isZero();
        }
    }

    private static long leaseResponses(LiveWeir weir) {
        String topic = Topics.of(weir.config()).leaseResponses();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                new HashMap<String, Object>(weir.config().kafka()),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            return consumer.endOffsets(partitions).values().stream()
                    .mapToLong(Long::longValue)
                    .sum();
        }
    }

    @Test
    void a_request_waits_for_the_first_lease_and_later_ones_are_decided_at_once() throws Exception {
        LiveWeir live = weir(
                "once.",
                LONG,
                "  - {id: all, key: [], lease: client, max-wait: 1m, limits: [" + HOUR.formatted(1000) + "]}\n");
        try (Enforcer enforcer = live.enforce();
                WeirClient weir = leased(live)) {
            assertThat(weir.tryDecide(request("alice"))).isEmpty();
            Decision first = decided(weir.decide(request("alice")));
            assertThat(first.outcome()).isEqualTo(Outcome.ALLOWED);
            for (int i = 0; i < 100; i++) {
                decided(weir.decide(request("client" + i)));
            }
            await("a lease is available", LiveWeir.PATIENCE, () -> weir.tryDecide(request("bob"))
                    .isPresent());
            Decision decision = weir.tryDecide(
                            RequestBuilder.of("bob").requestId("r1").build())
                    .orElseGet(() -> weir.decide(
                                    RequestBuilder.of("bob").requestId("r1").build())
                            .join()
                            .decision()
                            .orElseThrow());
            assertThat(decision.requestId()).isEqualTo("r1");
            assertThat(decision.client()).isEqualTo("bob");
            assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decision.reason()).isEqualTo(Reason.WITHIN_LIMITS);
            assertThat(decision.limitedBy()).isEqualTo("sliding-window-log 1000/1h");
            assertThat(decision.limit()).isEqualTo(1_000);
            assertThat(decision.windowMs()).isEqualTo(3_600_000);
            assertThat(decision.remaining()).isBetween(0L, 1_000L);
            assertThat(decision.httpStatus()).isEqualTo(200);
            assertThat(decision.source()).isEqualTo(Request.Source.NONE);
            assertThat(weir.stats().sent()).isZero();
            assertThat(weir.stats().decided().here()).isGreaterThan(100);
            assertThat(weir.stats().decided().waitedHere()).isBetween(1L, 10L);
        }
    }

    @Test
    void requests_with_limits_of_their_own_are_decided_by_the_enforcer() throws Exception {
        LiveWeir live = weir(
                "own-limit.",
                LONG,
                "  - {id: all, key: [], lease: client, max-wait: 1m, limits: [" + HOUR.formatted(1000) + "]}\n"
                        + "  - {id: own, layer: own, match: {endpoint: /own}, allow-override: true,\n"
                        + "     limits: [{algorithm: fixed-window, limit: 1, per: 30d}]}\n");
        try (Enforcer enforcer = live.enforce();
                WeirClient weir = leased(live)) {
            decided(weir.decide(request("alice")));
            Request raised = RequestBuilder.of("alice")
                    .attribute("endpoint", "/own")
                    .limitOverride(2, Duration.ofDays(30))
                    .build();
            assertThat(weir.tryDecide(raised)).isEmpty();
            Decision decision = decided(weir.decide(raised));
            assertThat(decision.limitedBy()).isEqualTo("fixed-window 2/30d");
            assertThat(decision.remaining()).isEqualTo(1);
            assertThat(decision.source()).isNotEqualTo(Request.Source.NONE);
            assertThat(weir.stats().sent()).isEqualTo(1);
            Request without =
                    RequestBuilder.of("alice").attribute("endpoint", "/own").build();
            assertThat(decided(weir.decide(without)).outcome()).isEqualTo(Outcome.DENIED);
        }
    }

    @Test
    void leased_clients_and_the_topic_together_get_exactly_the_limit() throws Exception {
        int limit = 5_000;
        LiveWeir live = weir(
                "leased-sum.",
                SHORT,
                "  - {id: all, key: [], lease: client, max-wait: 1m, limits: [" + HOUR.formatted(limit) + "]}\n");
        ExecutorService pool = Executors.newCachedThreadPool();
        try (Enforcer enforcer = live.enforce();
                WeirClient one = leased(live);
                WeirClient two = leased(live);
                WeirClient topic = live.client().start()) {
            List<Callable<Integer>> callers = new ArrayList<>();
            for (WeirClient weir : List.of(one, one, two, two, topic)) {
                callers.add(() -> drain(weir, "alice", 20));
            }
            int allowed = 0;
            for (Future<Integer> caller : pool.invokeAll(callers)) {
                allowed += caller.get();
            }
            assertThat(allowed).isLessThanOrEqualTo(limit);
            assertThat(one.stats().decided().here()).isPositive();
            assertThat(two.stats().decided().here()).isPositive();
            assertThat(topic.stats().decided().here()).isZero();
            drainTo(topic, "alice", limit - allowed);
            assertThat(drain(one, "alice", 10) + drain(two, "alice", 10) + drain(topic, "alice", 10))
                    .isZero();
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void quota_of_a_closed_client_is_returned_and_its_usage_is_complete() throws Exception {
        int limit = 400;
        LiveWeir live = weir(
                "close.",
                LONG,
                "  - {id: all, key: [], lease: client, max-wait: 1m, limits: [" + HOUR.formatted(limit) + "]}\n");
        try (Enforcer enforcer = live.enforce()) {
            int used = 50;
            try (WeirClient first = leased(live)) {
                for (int i = 0; i < used; i++) {
                    assertThat(decided(first.decide(request("alice"))).outcome())
                            .isEqualTo(Outcome.ALLOWED);
                }
                await("the client has a lease", LiveWeir.PATIENCE, () -> first.tryDecide(RequestBuilder.of("alice")
                                .kind(RequestKind.PEEK)
                                .build())
                        .filter(decision -> decision.remaining() > 0)
                        .isPresent());
                Thread.currentThread().interrupt(); // like the thread of a worker that is being stopped
            }
            assertThat(Thread.interrupted()).isTrue();
            List<LeaseUsage> usage = usage(live, "all");
            assertThat(cost(usage)).isEqualTo(used);
            assertThat(usage.stream().mapToLong(one -> one.amount().requests()).sum())
                    .isEqualTo(used);
            assertThat(usage)
                    .allSatisfy(use -> assertThat(use.origin().holder()).startsWith("c-"));
            try (WeirClient second = leased(live)) {
                drainTo(second, "bob", limit - used);
                assertThat(drain(second, "bob", 5)).isZero();
            }
            assertThat(cost(usage(live, "all"))).isEqualTo(limit);
            assertThat(usage(live, "all").stream()
                            .mapToLong(one -> one.amount().denied())
                            .sum())
                    .isGreaterThanOrEqualTo(5);
        }
    }

    @Test
    void an_idle_client_holds_no_lease() throws Exception {
        int limit = 300;
        LiveWeir live = weir(
                "idle.",
                SECONDS,
                "  - {id: all, key: [endpoint], lease: client, max-wait: 1m, limits: [" + HOUR.formatted(limit)
                        + "]}\n");
        try (Enforcer enforcer = live.enforce();
                WeirClient idle = leased(live);
                WeirClient other = leased(live)) {
            for (int i = 0; i < 100; i++) {
                get(idle.decide(request("alice")));
            }
            assertThat(idle.stats().now().keysHeld()).isEqualTo(1);
            await(
                    "the client has no lease",
                    LiveWeir.PATIENCE,
                    () -> idle.stats().now().keysHeld() == 0);
            drainTo(other, "bob", limit - 100);
            assertThat(drain(other, "bob", 5)).isZero();
        }
    }

    @Test
    void a_killed_client_loses_only_its_leases() throws Exception {
        int limit = 100;
        LiveWeir live = weir(
                "kill.",
                SHORT,
                "  - {id: all, key: [], lease: client, max-wait: 1m, limits: ["
                        + "{algorithm: fixed-window, limit: %d, per: 10s}]}\n".formatted(limit));
        Map<Long, Integer> byWindow = new HashMap<>();
        try (Enforcer enforcer = live.enforce()) {
            Process process = JavaProcess.of(
                            List.of(),
                            LeasedMain.class,
                            broker.bootstrapServers(),
                            "kill.",
                            live.config().applicationId())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try (BufferedReader out =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (int i = 0; i < 30; i++) {
                    byWindow.merge(Long.parseLong(out.readLine()) / 10_000, 1, Integer::sum);
                }
            } finally {
                process.destroyForcibly().waitFor();
            }
            try (WeirClient weir = leased(live)) {
                await("the whole limit is used in one window", LiveWeir.PATIENCE, () -> {
                    Decision decision = decided(weir.decide(request("bob")));
                    if (decision.outcome() == Outcome.ALLOWED) {
                        byWindow.merge(decision.decidedAtMs() / 10_000, 1, Integer::sum);
                    }
                    return byWindow.containsValue(limit);
                });
            }
            assertThat(byWindow.values()).allMatch(count -> count <= limit);
        }
    }

    @Test
    void without_a_lease_the_fallback_decides() throws Exception {
        LiveWeir live = weir("leased-down.", LONG, """
                  - {id: waits, key: [], match: {endpoint: /a}, lease: client, max-wait: 50ms, limits: [{algorithm: gcra, limit: 5, per: 1s}]}
                  - {id: waits-not, key: [], match: {endpoint: /b}, lease: client, when-empty: deny, limits: [{algorithm: gcra, limit: 5, per: 1s}]}
                """);
        Request waits = RequestBuilder.of("alice").attribute("endpoint", "/a").build();
        Request waitsNot =
                RequestBuilder.of("alice").attribute("endpoint", "/b").build();
        try (WeirClient open = LiveWeir.ready(
                        live.client().leased(true).fallback(Fallback.FAIL_OPEN).timeout(Duration.ofMillis(500)));
                WeirClient closed = live.client()
                        .leased(true)
                        .fallback(Fallback.FAIL_CLOSED)
                        .start();
                WeirClient fail = live.client().leased(true).start()) {
            assertThat(get(open.decide(waits))).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.NO_LEASE));
            assertThat(get(closed.decide(waits))).isEqualTo(ClientDecision.fallback(false, NoDecisionReason.NO_LEASE));
            assertThat(fail.decide(waits))
                    .failsWithin(LiveWeir.PATIENCE)
                    .withThrowableOfType(ExecutionException.class)
                    .havingCause()
                    .asInstanceOf(type(NoDecisionException.class))
                    .extracting(NoDecisionException::reason)
                    .isEqualTo(NoDecisionReason.NO_LEASE);
            assertThat(open.tryDecide(waits)).isEmpty();
            assertThat(get(open.decide(waitsNot)).decision())
                    .hasValueSatisfying(
                            decision -> assertThat(decision.outcome()).isEqualTo(Outcome.DENIED));
            await("the fallback instead of a denial", LiveWeir.PATIENCE, () -> open.decide(waitsNot)
                    .join()
                    .equals(ClientDecision.fallback(true, NoDecisionReason.NO_LEASE)));
            assertThat(open.stats().sent()).isZero();
            assertThat(open.stats().undecided(NoDecisionReason.NO_LEASE)).isGreaterThanOrEqualTo(2);
            assertThat(open.stats().now().inFlight()).isZero();
        }
    }

    @Test
    void requests_that_other_policies_match_go_over_the_topic() throws Exception {
        LiveWeir live = weir("leased-mixed.", LONG, """
                  - {id: all, key: [], lease: client, limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}
                  - {id: own, layer: own, match: {endpoint: /own}, limits: [{algorithm: gcra, limit: 5, per: 1s}]}
                  - {id: kept, layer: kept, key: [], match: {endpoint: /kept}, limits: [{algorithm: gcra, limit: 5, per: 1s}]}
                  - {id: again, layer: again, key: [], lease: client, idempotency: 1m, match: {endpoint: /again}, limits: [{algorithm: gcra, limit: 5, per: 1s}]}
                """);
        try (Enforcer enforcer = live.enforce();
                WeirClient weir = leased(live)) {
            for (String endpoint : List.of("/own", "/kept", "/again")) {
                Request request = RequestBuilder.of("alice")
                        .attribute("endpoint", endpoint)
                        .build();
                assertThat(weir.tryDecide(request)).isEmpty();
                assertThat(decided(weir.decide(request)).source().partition()).isNotNegative();
            }
            assertThat(decided(weir.decide(RequestBuilder.of("alice")
                                    .kind(RequestKind.SETTLE)
                                    .cost(2)
                                    .build()))
                            .reason())
                    .isEqualTo(Reason.SETTLED);
            assertThat(weir.stats().sent()).isEqualTo(4);
            assertThat(weir.stats().decided().here()).isZero();
        }
    }

    @Test
    void several_policies_are_charged_together_or_not_at_all() throws Exception {
        LiveWeir live = weir("layers.", LONG, """
                  - {id: all, layer: all, key: [], lease: client, max-wait: 1m, limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]}
                  - {id: each, layer: each, key: [client, endpoint], lease: client, max-wait: 1m, limits: [{algorithm: fixed-window, limit: 5, per: 1h}]}
                """);
        try (Enforcer enforcer = live.enforce()) {
            try (WeirClient weir = leased(live)) {
                for (String client : List.of("alice", "bob")) {
                    assertThat(drain(weir, client, 3)).isEqualTo(5);
                }
                Decision denied = decided(weir.decide(request("alice")));
                assertThat(denied.policyId()).isEqualTo("each");
                assertThat(denied.retryAfterMs()).isPositive();
                Decision never =
                        decided(weir.decide(RequestBuilder.of("carol").cost(6).build()));
                assertThat(never.reason()).isEqualTo(Reason.COST_NEVER_FITS);
                assertThat(weir.stats().sent()).isZero();
            }
            assertThat(cost(usage(live, "all"))).isEqualTo(10);
            assertThat(cost(usage(live, "each"))).isEqualTo(10);
            assertThat(usage(live, "each").stream()
                            .filter(use -> use.amount().cost() > 0)
                            .map(LeaseUsage::key))
                    .contains(Map.of("client", "alice", "endpoint", ""), Map.of("client", "bob", "endpoint", ""));
        }
    }

    @Test
    void a_changed_policy_is_applied() throws Exception {
        LiveWeir live = weir(
                "change.",
                SHORT,
                "  - {id: all, key: [], lease: client, max-wait: 1m, limits: [" + HOUR.formatted(10) + "]}\n");
        try (Enforcer enforcer = live.enforce();
                WeirClient weir = leased(live)) {
            assertThat(decided(weir.decide(request("alice"))).policyVersion()).isEqualTo(1);
            String changed = "policies:\n  - {id: all, key: [], lease: client, max-wait: 1m, limits: ["
                    + HOUR.formatted(1000) + "]}\n";
            new PolicyTopic(live.config())
                    .apply(PolicyFile.read("policies.yaml", changed), PolicyTopic.Options.DEFAULTS, 0);
            await("the client decides by the second version", LiveWeir.PATIENCE, () -> {
                Decision decision = decided(weir.decide(request("alice")));
                return decision.outcome() == Outcome.ALLOWED && decision.policyVersion() == 2;
            });
        }
    }

    /** The main class of a leased client that prints the decision times of allowed requests until it is killed. */
    static final class LeasedMain {

        private LeasedMain() {}

        public static void main(String[] args) {
            WeirClient weir = WeirClient.builder(Map.of("bootstrap.servers", args[0]))
                    .prefix(args[1])
                    .applicationId(args[2])
                    .timeout(LiveWeir.PATIENCE)
                    .leased(true)
                    .leases(SHORT.terms())
                    .start();
            while (true) {
                ClientDecision answer = weir.decide(request("alice")).join();
                if (answer.allowed()) {
                    System.out.println(answer.decision().orElseThrow().decidedAtMs());
                }
            }
        }
    }
}
