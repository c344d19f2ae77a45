package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseResponse;
import dev.weir.query.InstanceQueries;
import dev.weir.query.InstanceQueries.LedgerQuestion;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests peeks, what remains and resets of shared limits, over topics, by leases and by queries, with a real broker. */
@Tag("full")
class SharedPeekTest {

    private static EmbeddedBroker broker;

    @TempDir
    private Path directory;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
    }

    private static Decision decide(WeirClient client, Request request) throws Exception {
        return client.decide(request)
                .get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .decision()
                .orElseThrow();
    }

    private static Request request(RequestKind kind, String field, long cost) {
        return RequestBuilder.of("alice")
                .attribute(field, "t1")
                .kind(kind)
                .cost(cost)
                .build();
    }

    /** Returns how a request would be decided, as {@code POST /v1/peek} does. */
    private static Decision check(InstanceQueries queries, Request request) {
        Map<LedgerQuestion, LeaseResponse.Checked> answers = new HashMap<>();
        Result<Decision> result = queries.check(request, answers);
        assertThat(result).isInstanceOf(Result.Dependent.class);
        for (LedgerQuestion question : ((Result.Dependent<Decision>) result).questions()) {
            answers.put(question, local(queries.shared(question)).check());
        }
        return local(queries.check(request, answers));
    }

    private static <T> T local(Result<T> result) {
        assertThat(result).isInstanceOf(Result.Local.class);
        return ((Result.Local<T>) result).value();
    }

    private static boolean isAllowed(WeirClient client, String field, long cost) {
        try {
            return decide(client, request(RequestKind.PEEK, field, cost)).outcome() == Outcome.ALLOWED;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void peeks_are_answered_truly_on_all_ways_and_a_reset_frees_what_was_used() throws Exception {
        LiveWeir weir = LiveWeir.create(broker, directory, "peeked.", """
                policies:
                  - {id: team, layer: team, match: {team: "*"}, key: [team], max-wait: 30s,
                     limits: [{algorithm: fixed-window, limit: 1000, per: 1d}]}
                  - {id: model, layer: model, match: {model: "*"}, key: [model], lease: client, max-wait: 30s,
                     limits: [{algorithm: fixed-window, limit: 1000, per: 1d}]}
                """);
        try (Enforcer enforcer = weir.enforce();
                WeirClient overTopic = LiveWeir.ready(weir.client());
                WeirClient leased = LiveWeir.ready(
                        weir.client().leased(true).leases(weir.config().leases().terms()))) {
            for (String field : new String[] {"team", "model"}) {
                WeirClient client = field.equals("team") ? overTopic : leased;
                for (int i = 0; i < 3; i++) {
                    Decision peeked = decide(client, request(RequestKind.PEEK, field, 1));
                    assertThat(peeked.outcome()).as(field).isEqualTo(Outcome.ALLOWED);
                    assertThat(peeked.remaining()).as(field).isEqualTo(1_000);
                }
                Decision checked = check(enforcer.queries(), request(RequestKind.PEEK, field, 1_000));
                assertThat(checked.outcome()).as(field).isEqualTo(Outcome.ALLOWED);
                assertThat(checked.remaining()).as(field).isEqualTo(1_000);
                assertThat(decide(client, request(RequestKind.CONSUME, field, 600))
                                .remaining())
                        .as(field)
                        .isEqualTo(400);
                assertThat(decide(client, request(RequestKind.PEEK, field, 401)).reason())
                        .as(field)
                        .isEqualTo(Reason.LIMIT_EXCEEDED);
                assertThat(decide(overTopic, request(RequestKind.RESET, field, 0))
                                .reason())
                        .as(field)
                        .isEqualTo(Reason.USAGE_RESET);
                await(field + " is freed", LiveWeir.PATIENCE, () -> isAllowed(client, field, 601));
            }
            assertThat(decide(overTopic, request(RequestKind.CONSUME, "team", 400))
                            .remaining())
                    .isEqualTo(600);
            await("the ledger has written what it lent", LiveWeir.PATIENCE, () -> {
                Decision atMost = check(enforcer.queries(), request(RequestKind.CONSUME, "team", 600));
                Decision above = check(enforcer.queries(), request(RequestKind.CONSUME, "team", 601));
                return atMost.outcome() == Outcome.ALLOWED
                        && atMost.remaining() == 0
                        && above.reason() == Reason.LIMIT_EXCEEDED;
            });
        }
    }
}
