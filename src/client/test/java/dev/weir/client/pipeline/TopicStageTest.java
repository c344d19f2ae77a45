package dev.weir.client.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.client.kafka.SendWindow;
import dev.weir.event.Request;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests that wait in a window, with a connection that fails to send them. */
class TopicStageTest {

    private static final int MAX = 20_000;
    private static final Request REQUEST = RequestBuilder.of("alice").build();

    private final PipelineSettings settings = SettingsWithoutBrokers.of(MAX);
    private final CircuitBreaker breaker = CircuitBreaker.ofDefaults("weir");
    private final RequestMetrics metrics = new RequestMetrics();
    private final AnswerClock decisions = new AnswerClock();
    private final PendingRequests pending = new PendingRequests(MAX, Duration.ZERO);
    private final RequestCompleter completer =
            new RequestCompleter(settings, breaker, pending, metrics, decisions, why -> Optional.empty());
    private final RequestAdmission admission = new RequestAdmission(breaker, pending, completer);
    private final ClientConnection unconnected =
            new ClientConnection(settings, Optional.empty(), new RequestCorrelation(UUID.randomUUID()), completer);
    private final SendWindow<PendingRequest> window = new SendWindow<>(1);
    private final TopicStage stage =
            new TopicStage(unconnected, List.of(window), admission, pending, completer, metrics, decisions);

    @AfterEach
    void close() {
        pending.close();
        completer.close();
        unconnected.discard();
    }

    private List<PendingRequest> waiting(int count) {
        List<PendingRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            PendingRequest request = new PendingRequest(REQUEST, List.of(), Duration.ofMinutes(10));
            TopicStage.InWindow wait = stage.new InWindow(window);
            assertThat(admission.admit(request)).isTrue();
            admission.begin(request, wait);
            assertThat(wait.enter(request)).isTrue();
            requests.add(request);
        }
        return requests;
    }

    @Test
    void a_producer_that_may_block_is_used_on_the_executor() {
        for (boolean mayBlock : new boolean[] {false, true}) {
            List<Runnable> queued = new ArrayList<>();
            List<Runnable> run = new ArrayList<>();
            Runnable sending = () -> run.add(null);
            PipelineSettings blocking = SettingsWithoutBrokers.mayBlock(mayBlock, queued::add);
            try (RequestCompleter onExecutor =
                    new RequestCompleter(blocking, breaker, pending, metrics, decisions, why -> Optional.empty())) {
                onExecutor.runSending(sending);
            }
            assertThat(queued).hasSize(mayBlock ? 1 : 0);
            assertThat(run).hasSize(mayBlock ? 0 : 1);
        }
    }

    private static NoDecisionReason reason(PendingRequest request) {
        assertThat(request.future).isCompletedExceptionally();
        return ((NoDecisionException) request.future.handle((decision, e) -> e).join()).reason();
    }

    @Test
    void all_requests_of_a_long_queue_end_if_each_fails_to_be_sent() {
        List<PendingRequest> requests = waiting(MAX);
        stage.drain(window);
        assertThat(requests).allSatisfy(one -> assertThat(reason(one)).isEqualTo(NoDecisionReason.NOT_WRITTEN));
        assertThat(window.waiting()).isZero();
    }

    @Test
    void a_client_that_is_closed_sends_nothing_that_waits() {
        List<PendingRequest> requests = waiting(3);
        pending.close();
        completer.closeAll();
        assertThat(requests).allSatisfy(one -> assertThat(reason(one)).isEqualTo(NoDecisionReason.CLOSED));
        assertThat(metrics.sent()).isZero();
    }
}
