package dev.weir.bench.jmh;

import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.policy.Glob;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestMatcher;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** A complete decision, from a request to a decision record, with states in a map on the heap. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
public class DeciderBenchmark {

    /** The policies, and the number of clients that send requests in turn. */
    @SuppressWarnings("ImmutableEnumChecker") // its list is never changed
    public enum Scenario {
        ONE_LIMIT(1_000, List.of(policy("all", "client", RequestMatcher.ALL, "token-bucket"))),
        TWO_LAYERS_OF_TWO_LIMITS(
                1_000,
                List.of(
                        policy("all", "client", RequestMatcher.ALL, "token-bucket", "sliding-window-counter"),
                        policy("each", "endpoint", RequestMatcher.ALL, "gcra", "fixed-window"))),
        LIMITS_1(1_000, limits(1)),
        LIMITS_2(1_000, limits(2)),
        LIMITS_3(1_000, limits(3)),
        LIMITS_4(1_000, limits(4)),
        LIMITS_5(1_000, limits(5)),
        LAYERS_1(1_000, layers(1)),
        LAYERS_2(1_000, layers(2)),
        LAYERS_3(1_000, layers(3)),
        POLICIES_10(1_000, many(10)),
        POLICIES_100(1_000, many(100)),
        POLICIES_1_000(1_000, many(1_000)),
        POLICIES_10_000(1_000, many(10_000)),
        LOG_OF_10(1, log(10)),
        LOG_OF_100(1, log(100)),
        LOG_OF_1_000(1, log(1_000)),
        LOG_OF_10_000(1, log(10_000)),
        LOG_OF_100_000(1, log(100_000));

        private final int clients;
        private final List<Policy> policies;

        Scenario(int clients, List<Policy> policies) {
            this.clients = clients;
            this.policies = policies;
        }

        private static List<Policy> limits(int count) {
            String[] algorithms = Collections.nCopies(count, "token-bucket").toArray(String[]::new);
            return List.of(policy("all", "client", RequestMatcher.ALL, algorithms));
        }

        private static List<Policy> layers(int count) {
            List<Policy> policies = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                policies.add(policy("all-" + i, "layer-" + i, RequestMatcher.ALL, "token-bucket"));
            }
            return policies;
        }

        /** Returns policies in two layers, each for two tiers and one endpoint. One of them applies to a request. */
        private static List<Policy> many(int count) {
            List<Policy> policies = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                List<Glob> tiers = List.of(new Glob("free"), new Glob("gold"));
                RequestMatcher match =
                        new RequestMatcher(Map.of("tier", tiers, "endpoint", List.of(new Glob("/api/" + i + "/**"))));
                policies.add(policy("p" + i, i % 2 == 0 ? "client" : "endpoint", match, "sliding-window-counter"));
            }
            return policies;
        }

        /** Returns a policy whose log is always full: in each millisecond one entry expires and one is added. */
        private static List<Policy> log(int entries) {
            return List.of(policy("log", "client", RequestMatcher.ALL, entries, entries, "sliding-window-log"));
        }

        private static Policy policy(String id, String layer, RequestMatcher match, String... algorithms) {
            return policy(id, layer, match, 100, 60_000, algorithms);
        }

        private static Policy policy(
                String id, String layer, RequestMatcher match, long tokens, long perMs, String... algorithms) {
            List<Policy.Term> terms = new ArrayList<>();
            for (String algorithm : algorithms) {
                terms.add(new Policy.Term(algorithm, LimitTerms.of(algorithm, tokens, perMs)));
            }
            return Policy.builder(id).layer(layer).match(match).terms(terms).build();
        }
    }

    private static final int ENDPOINTS = 10;
    private static final Request.Source SOURCE = new Request.Source(0, 0);

    @Param({"ONE_LIMIT", "TWO_LAYERS_OF_TWO_LIMITS", "POLICIES_10", "POLICIES_10_000", "LOG_OF_10", "LOG_OF_100_000"})
    Scenario scenario;

    private final Decider decider = Decider.local(new HeapStates(WeirConfig.DEFAULTS.state()));
    private PolicyTable table;
    private String[] clients;
    private final List<Map<String, String>> attributes = new ArrayList<>();
    private int next;
    private long nowMs;

    @Setup
    public void fill() {
        table = PolicyTable.of(scenario.policies);
        clients = new String[scenario.clients];
        for (int i = 0; i < clients.length; i++) {
            clients[i] = "client-" + i;
        }
        for (int i = 0; i < ENDPOINTS; i++) {
            attributes.add(Map.of("endpoint", "/api/" + i + "/articles/" + i, "method", "GET"));
        }
        for (int i = 0; i < 200_000; i++) {
            decide();
        }
    }

    @Benchmark
    public DecisionResult decide() {
        next = next + 1 == clients.length ? 0 : next + 1;
        nowMs++;
        Request request = Request.builder("r", clients[next])
                .tier("free")
                .attributes(attributes.get(next % ENDPOINTS))
                .timestampMs(nowMs)
                .source(SOURCE)
                .build();
        return decider.decide(request, table);
    }
}
