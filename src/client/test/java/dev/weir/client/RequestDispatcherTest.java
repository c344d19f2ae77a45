package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests that wait in a window, with a connection that fails to send them. */
class RequestDispatcherTest {

    private static final int MAX = 20_000;
    private static final Request REQUEST = RequestBuilder.of("alice").build();

    private final ClientBuilder options = WeirClient.builder(Map.of("bootstrap.servers", "127.0.0.1:1"))
            .maxInFlight(MAX)
            .executor(Runnable::run);
    private final ClientMetrics metrics = new ClientMetrics();
    private final AnswerClock decisions = new AnswerClock();
    private final PendingRequests pending = new PendingRequests(MAX, Duration.ZERO);
    private final RequestCompleter completer =
            new RequestCompleter(options, options.breaker(), pending, metrics, decisions, why -> Optional.empty());
    private final RequestDispatcher dispatcher = new RequestDispatcher(
            options.breaker(), pending, completer, metrics, new RequestCorrelation(UUID.randomUUID()), decisions);
    private final ClientConnection unconnected =
            new ClientConnection(options, Optional.empty(), UUID.randomUUID(), reply -> {});
    private final SendWindow<PendingRequest> window = new SendWindow<>(1);

    @AfterEach
    void close() {
        pending.close();
        completer.close();
        unconnected.discard();
    }

    private List<PendingRequest> waiting(int count) {
        List<PendingRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            PendingRequest request = new PendingRequest(dispatcher, REQUEST, List.of(), Duration.ofMinutes(10));
            request.setConnection(unconnected);
            request.setAtTimeout(NoDecisionReason.TIMED_OUT);
            assertThat(pending.tryReserve() && pending.add(request, () -> {})).isTrue();
            assertThat(request.enter(window)).isTrue();
            requests.add(request);
        }
        return requests;
    }

    @Test
    void only_answers_of_its_own_ledger_make_a_late_lease_an_overload() {
        AnswerClock own = new AnswerClock();
        PendingRequest request = new PendingRequest(dispatcher, REQUEST, List.of(), Duration.ofMinutes(10));
        AnswerClock first = new AnswerClock();
        assertThat(request.enter(first)).isTrue();
        request.waitFor(own);
        first.answered(System.nanoTime());
        assertThat(request.atTimeout()).isEqualTo(NoDecisionReason.NO_LEASE);
        own.answered(System.nanoTime());
        assertThat(request.atTimeout()).isEqualTo(NoDecisionReason.OVERLOADED);
    }

    @Test
    void a_producer_that_may_block_is_used_on_the_executor() {
        for (int maxBlockMs : new int[] {0, 1_000}) {
            List<Runnable> queued = new ArrayList<>();
            List<Runnable> run = new ArrayList<>();
            Runnable sending = () -> run.add(null);
            ClientBuilder blocking = WeirClient.builder(
                            Map.of("bootstrap.servers", "127.0.0.1:1", "producer.max.block.ms", maxBlockMs))
                    .executor(queued::add);
            try (RequestCompleter onExecutor = new RequestCompleter(
                    blocking, blocking.breaker(), pending, metrics, decisions, why -> Optional.empty())) {
                onExecutor.runSending(sending);
            }
            assertThat(queued).hasSize(maxBlockMs == 0 ? 0 : 1);
            assertThat(run).hasSize(maxBlockMs == 0 ? 1 : 0);
        }
    }

    private static NoDecisionReason reason(PendingRequest request) {
        assertThat(request.future).isCompletedExceptionally();
        return ((NoDecisionException) request.future.handle((decision, e) -> e).join()).reason();
    }

    @Test
    void all_requests_of_a_long_queue_end_if_each_fails_to_be_sent() {
        List<PendingRequest> requests = waiting(MAX);
        dispatcher.drain(window);
        assertThat(requests).allSatisfy(one -> assertThat(reason(one)).isEqualTo(NoDecisionReason.NOT_WRITTEN));
        assertThat(window.waiting()).isZero();
    }

    @Test
    void a_client_that_is_closed_sends_nothing_that_waits() {
        List<PendingRequest> requests = waiting(3);
        pending.close();
        completer.closeAll();
        assertThat(requests).allSatisfy(one -> assertThat(reason(one)).isEqualTo(NoDecisionReason.CLOSED));
        assertThat(metrics.sent.sum()).isZero();
    }
}
