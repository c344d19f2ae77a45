package dev.weir.client.release;

import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.header.Header;

/** The client of a worker, which is opened when it is needed. */
final class WorkerClient implements WorkerAttempts.Acknowledger, AutoCloseable {

    private final Supplier<WeirClient> clients;
    private volatile WeirClient client; // null until it is needed

    WorkerClient(Supplier<WeirClient> clients) {
        this.clients = clients;
    }

    @Override
    public void open() {
        if (client == null) {
            client = clients.get();
        }
    }

    @Override
    public CompletableFuture<Decision> send(Request request, Duration within) {
        return client.decide(request, within).thenApply(WorkerClient::decision);
    }

    /** Returns Weir's decision on the request for a next attempt. */
    CompletableFuture<Decision> request(Request request, List<Header> headers) {
        return client.decide(request, headers).thenApply(WorkerClient::decision);
    }

    private static Decision decision(ClientDecision answer) {
        return answer.decision().orElseThrow(); // the client has no fallback
    }

    Optional<RuntimeException> failure() {
        WeirClient opened = client;
        return opened == null ? Optional.empty() : opened.failure();
    }

    @Override
    public void close() {
        WeirClient opened = client; // which ends later requests at once
        if (opened != null) {
            opened.close();
        }
    }
}
