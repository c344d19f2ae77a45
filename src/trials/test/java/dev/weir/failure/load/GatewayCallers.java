package dev.weir.failure.load;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.limit.AdmittedUse;
import dev.weir.testing.HttpConnection;
import dev.weir.testing.HttpConnection.HttpReply;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Callers of one gateway, each with its own connection, that ask again as soon as they are answered. They connect again
 * when the gateway was killed.
 */
public final class GatewayCallers implements AutoCloseable {

    private static final String FALLBACK = "x-weir-fallback";
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final int port;
    private final AtomicLong answered = new AtomicLong();
    private final AtomicLong authorized = new AtomicLong();
    private final AtomicLong unanswered = new AtomicLong();
    private final Queue<AdmittedUse> allowed = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isClosed;

    /** Counts a response with a decision of Weir. */
    private interface Counter {
        void count(boolean isOk, String body);
    }

    /**
     * Starts callers.
     *
     * @param count how many use {@code /v1/authorize} for the first path, and how many {@code /v1/decide} for the second
     */
    public GatewayCallers(int port, int count, String authorizedPath, String decidedPath) {
        this.port = port;
        byte[] authorize = ("GET /v1/authorize" + authorizedPath + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .getBytes(StandardCharsets.UTF_8);
        byte[] decide = HttpConnection.post(
                "/v1/decide?fallback=deny&timeout=10s",
                "{\"client\": \"caller\", \"attributes\": {\"path\": \"%s\"}}".formatted(decidedPath));
        for (int i = 0; i < count; i++) {
            start(authorize, (isOk, unused) -> authorized.addAndGet(isOk ? 1 : 0));
            start(decide, (isOk, text) -> {
                JsonNode json = Json.read(text);
                if (json.path("outcome").asText().equals("ALLOWED")) {
                    allowed.add(new AdmittedUse(json.path("decidedAt").asLong(), 1));
                }
            });
        }
    }

    private void start(byte[] request, Counter counter) {
        Thread thread = new Thread(() -> run(request, counter), "caller");
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }

    private void run(byte[] request, Counter counter) {
        while (!isClosed) {
            try (HttpConnection connection = new HttpConnection(port)) {
                while (!isClosed) {
                    call(connection, request, counter);
                }
            } catch (IOException e) { // the gateway was killed, or is not started yet
                LockSupport.parkNanos(RETRY_NANOS);
            }
        }
    }

    private void call(HttpConnection connection, byte[] request, Counter counter) throws IOException {
        boolean isAnswered = false;
        try {
            HttpReply reply = connection.exchange(request);
            isAnswered = true;
            answered.incrementAndGet();
            if (!reply.has(FALLBACK)) {
                counter.count(reply.isOk(), reply.body());
            }
        } finally {
            unanswered.addAndGet(isAnswered ? 0 : 1);
        }
    }

    /** Returns how many requests have an answer. */
    public long answered() {
        return answered.get();
    }

    /** Returns how many requests {@code /v1/authorize} has allowed. */
    public long authorized() {
        return authorized.get();
    }

    /** Returns the requests that {@code /v1/decide} has allowed. */
    public List<AdmittedUse> allowed() {
        return List.copyOf(allowed);
    }

    /** Returns how many requests were sent and got no answer. Nothing is known about them. */
    public long unanswered() {
        return unanswered.get();
    }

    /** Stops the callers, and waits for their last answers. */
    @Override
    public void close() throws InterruptedException {
        isClosed = true;
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(30));
        }
    }
}
