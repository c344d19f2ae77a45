package dev.weir.client.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.client.lease.LeaseReply;
import dev.weir.event.Request;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests of a leased client that has no policies, and records what goes on over the topic. */
class LeaseStageTest {

    private static final Request REQUEST = RequestBuilder.of("alice").build();

    private final PipelineSettings settings = SettingsWithoutBrokers.leased();
    private final CircuitBreaker breaker = CircuitBreaker.ofDefaults("weir");
    private final RequestMetrics metrics = new RequestMetrics();
    private final PendingRequests pending = new PendingRequests(1, Duration.ZERO);
    private final RequestCompleter completer =
            new RequestCompleter(settings, breaker, pending, metrics, new AnswerClock(), why -> Optional.empty());
    private final ClientConnection unconnected =
            new ClientConnection(settings, Optional.empty(), new RequestCorrelation(UUID.randomUUID()), completer);
    private final List<PendingRequest> overTopic = new ArrayList<>();
    private final LeaseStage stage = new LeaseStage(
            unconnected.leases().orElseThrow(),
            new RequestAdmission(breaker, pending, completer),
            pending,
            completer,
            new RequestStage() {
                @Override
                public void accept(PendingRequest request) {
                    overTopic.add(request);
                }

                @Override
                public int queued() {
                    return 0;
                }
            });

    @AfterEach
    void close() {
        pending.close();
        completer.close();
        unconnected.discard();
    }

    private static PendingRequest request() {
        return new PendingRequest(REQUEST, List.of(), Duration.ofMinutes(10));
    }

    private static NoDecisionReason reason(PendingRequest request) {
        return ((NoDecisionException) request.future.handle((decision, e) -> e).join()).reason();
    }

    @Test
    void a_request_without_a_leased_policy_goes_on_over_the_topic() {
        PendingRequest request = request();
        stage.accept(request);
        assertThat(overTopic).containsExactly(request);
        assertThat(request.isWaiting()).isFalse();
    }

    @Test
    void only_answers_of_its_own_ledger_make_a_late_lease_an_overload() {
        AnswerClock own = new AnswerClock();
        AnswerClock first = new AnswerClock();
        LeaseStage.LeaseWait wait = stage.new LeaseWait(request());
        assertThat(wait.enter(first)).isTrue();
        wait.waitFor(own);
        first.answered(System.nanoTime());
        assertThat(wait.atTimeout()).isEqualTo(NoDecisionReason.NO_LEASE);
        own.answered(System.nanoTime());
        assertThat(wait.atTimeout()).isEqualTo(NoDecisionReason.OVERLOADED);
    }

    @Test
    void a_wait_ends_for_the_reason_that_leases_give() {
        for (LeaseReply.Undecided why : LeaseReply.Undecided.values()) {
            PendingRequest request = request();
            LeaseStage.LeaseWait wait = stage.new LeaseWait(request);
            assertThat(wait.enter(new AnswerClock())).isTrue();
            assertThat(stage.new LeaseWait(request()).enter(new AnswerClock()))
                    .as("no room for another")
                    .isFalse();
            wait.end(why);
            switch (why) {
                case WAITS -> assertThat(wait.isOver()).isFalse();
                case OVER_TOPIC -> assertThat(overTopic).containsExactly(request);
                case NO_ROOM -> assertThat(reason(request)).isEqualTo(NoDecisionReason.TOO_MANY_WAITING);
                case NO_LEASE -> assertThat(reason(request)).isEqualTo(NoDecisionReason.NO_LEASE);
                case NO_LEDGER -> assertThat(reason(request)).isEqualTo(NoDecisionReason.NO_LEDGER);
            }
            completer.giveUp(request.number(), NoDecisionReason.CLOSED, null);
            assertThat(wait.isOver()).isTrue();
        }
    }
}
