package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How much parallel callers use of a budget if the real cost of a call is known when it ends. The guide to LLM traffic has
 * the numbers.
 */
@Tag("full")
class LlmBudgetTest {

    private static final Path GUIDE = Path.of("topology-docs", "how-to", "llm.md");
    private static final int CALLERS = 50;
    private static final long BUDGET = 10_000;
    private static final long ESTIMATE = 1_000;
    private static final long COST = 400;
    private static final String POLICIES = """
            policies:
              - id: budget
                limits: [{algorithm: sliding-window-log, limit: 10000, per: 1d}]
              - id: team-budget
                priority: 1
                match: {team: "*"}
                key: [team]
                max-wait: 1m
                limits: [{algorithm: sliding-window-log, limit: 10000, per: 1d}]
            """;

    @TempDir
    private Path directory;

    /** What a caller sends before and after a call. */
    private interface Method {

        RequestBuilder before(String client);

        Stream<RequestBuilder> after(Request before);
    }

    private static final Method CHECK_THEN_CHARGE = new Method() {
        @Override
        public RequestBuilder before(String client) {
            return RequestBuilder.of(client).kind(RequestKind.PEEK);
        }

        @Override
        public Stream<RequestBuilder> after(Request before) {
            return Stream.of(
                    RequestBuilder.of(before.client()).kind(RequestKind.SETTLE).cost(COST));
        }
    };

    private static final Method ESTIMATE_ONLY = new Method() {
        @Override
        public RequestBuilder before(String client) {
            return RequestBuilder.of(client).cost(ESTIMATE);
        }

        @Override
        public Stream<RequestBuilder> after(Request before) {
            return Stream.empty();
        }
    };

    private static final Method RESERVE = new Method() {
        @Override
        public RequestBuilder before(String client) {
            return RequestBuilder.of(client).cost(ESTIMATE).reserve(Duration.ofHours(1));
        }

        @Override
        public Stream<RequestBuilder> after(Request before) {
            return Stream.of(RequestBuilder.of(before.client())
                    .kind(RequestKind.SETTLE)
                    .settles(before.requestId())
                    .cost(COST));
        }
    };

    /** As {@link #RESERVE}, on a limit that all clients of the team share. */
    private static final Method RESERVE_SHARED = new Method() {
        @Override
        public RequestBuilder before(String client) {
            return RESERVE.before(client).attribute("team", "red");
        }

        @Override
        public Stream<RequestBuilder> after(Request before) {
            return RESERVE.after(before);
        }
    };

    @Test
    void only_reservations_use_most_of_a_budget_and_never_exceed_it() throws Exception {
        LiveWeir weir = LiveWeir.create(TestBroker.shared(), directory, "llm-budget.", POLICIES);
        try (Enforcer ignored = weir.enforce();
                WeirClient client = LiveWeir.ready(weir.client())) {
            assertThat(GUIDE)
                    .content()
                    .contains(
                            row("check, then charge", calls(client, CHECK_THEN_CHARGE, "checking")),
                            row("charge the estimate, settle nothing", calls(client, ESTIMATE_ONLY, "estimating")),
                            row("reserve, then settle", calls(client, RESERVE, "reserving")),
                            row(
                                    "reserve, then settle, with the shared budget of a team",
                                    calls(client, RESERVE_SHARED, "sharing")));
        }
    }

    private static String row(String method, int calls) {
        long used = calls * COST;
        return "| " + method + " | " + calls + " | " + used + " | " + Math.max(0, used - BUDGET) + " |\n";
    }

    /**
     * Returns how many calls are made. In each round, all callers start their calls before any of them ends. Those that
     * are denied stop.
     */
    private static int calls(WeirClient client, Method method, String name) throws Exception {
        int calls = 0;
        int callers = CALLERS;
        while (callers > 0) {
            List<Request> before = Stream.generate(() -> method.before(name).build())
                    .limit(callers)
                    .toList();
            List<ClientDecision> answers = answers(client, before);
            List<Request> after = new ArrayList<>();
            callers = 0;
            for (int i = 0; i < answers.size(); i++) {
                if (answers.get(i).allowed()) {
                    callers++;
                    method.after(before.get(i)).map(RequestBuilder::build).forEach(after::add);
                }
            }
            assertThat(answers(client, after)).allMatch(ClientDecision::allowed);
            calls += callers;
        }
        return calls;
    }

    private static List<ClientDecision> answers(WeirClient client, List<Request> requests) throws Exception {
        List<CompletableFuture<ClientDecision>> futures =
                requests.stream().map(client::decide).toList();
        List<ClientDecision> answers = new ArrayList<>();
        for (CompletableFuture<ClientDecision> future : futures) {
            answers.add(future.get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS));
        }
        return answers;
    }
}
