package dev.weir.failure.process;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.cli.Main;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A gateway in its own process, with a fixed port and a wall clock of its own, and the answers that it has given. */
public final class GatewayProcess extends ChildProcess {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int OK = 200;

    private final int port = freePort();
    private final Path settings;
    private final Optional<ProcessClock> clock;
    private final HttpClient http = HttpClient.newHttpClient();
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicInteger allowed = new AtomicInteger();
    private final AtomicInteger undecided = new AtomicInteger();
    private final Queue<Optional<String>> denials = new ConcurrentLinkedQueue<>();

    /**
     * Creates a gateway that is not started.
     *
     * @param clock the wall clock, empty for that of the machine
     */
    public GatewayProcess(
            String name, Path directory, String bootstrapServers, Duration leaseTerm, Optional<ProcessClock> clock)
            throws IOException {
        super(name, directory.resolve(name + ".log"));
        this.clock = clock;
        settings = Files.writeString(
                directory.resolve(name + ".yaml"), """
                kafka:
                  bootstrap.servers: %s
                leases:
                  term: %ds
                  lead: 300ms
                service:
                  decide-token: loopback
                gateway:
                  http-port: %d
                  grpc-port: 0
                """.formatted(bootstrapServers, leaseTerm.toSeconds(), port));
    }

    public int port() {
        return port;
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    protected ProcessBuilder command() throws IOException {
        ProcessBuilder process = JavaProcess.of(
                List.of("-Xmx128m", "-XX:+UseSerialGC"), Main.class, "gateway", "-c", settings.toString());
        if (clock.isPresent()) {
            clock.get().startIn(process);
        }
        return process;
    }

    /** Steps the wall clock. */
    public void setClock(Duration offset) throws IOException {
        if (clock.isPresent()) {
            clock.get().set(offset);
        }
    }

    /** Returns the wall clock of the process, in seconds, as its responses show it. */
    public ZonedDateTime wallClock() {
        HttpRequest request = HttpRequest.newBuilder(uri("/health/live")).build();
        // An idle connection can be closed while it is used again.
        HttpResponse<Void> response = awaitValue("the clock of " + name(), PATIENCE, () -> {
            try {
                return http.send(request, HttpResponse.BodyHandlers.discarding());
            } catch (IOException e) {
                return null;
            }
        });
        return ZonedDateTime.parse(
                response.headers().firstValue("Date").orElseThrow(), DateTimeFormatter.RFC_1123_DATE_TIME);
    }

    private URI uri(String path) {
        return URI.create("http://localhost:" + port + path);
    }

    /** Sends a request of a proxy, and counts the answer if Weir has decided it. */
    public void authorize(String path) {
        HttpRequest request = HttpRequest.newBuilder(uri("/v1/authorize" + path))
                .header("X-Api-Key", name())
                .timeout(PATIENCE)
                .build();
        waiting.incrementAndGet();
        var unused = http.sendAsync(request, HttpResponse.BodyHandlers.discarding())
                .whenComplete((response, failure) -> {
                    waiting.decrementAndGet();
                    boolean isDecided = failure == null
                            && response.headers().firstValue("X-Weir-Fallback").isEmpty();
                    if (!isDecided) {
                        undecided.incrementAndGet();
                    } else if (response.statusCode() == OK) {
                        allowed.incrementAndGet();
                    } else {
                        denials.add(response.headers().firstValue("Retry-After"));
                    }
                });
    }

    /** Returns how many answers to {@link #authorize} are missing. */
    public int waiting() {
        return waiting.get();
    }

    public int allowed() {
        return allowed.get();
    }

    /** Returns how many answers to {@link #authorize} did not arrive or were of the fallback. Weir may have charged them. */
    public int undecided() {
        return undecided.get();
    }

    /** Returns the {@code Retry-After} of each denial of {@link #authorize}. */
    public List<Optional<String>> denials() {
        return List.copyOf(denials);
    }

    /** Decides a request. Fails if the gateway does not respond; then nothing is known about the request. */
    public CompletableFuture<Decided> decide(String path, Duration timeout) {
        String body = "{\"client\":\"%s\",\"attributes\":{\"path\":\"%s\"}}".formatted(name(), path);
        HttpRequest request = HttpRequest.newBuilder(
                        uri("/v1/decide?fallback=deny&timeout=" + timeout.toMillis() + "ms"))
                .header("Content-Type", "application/json")
                .timeout(PATIENCE)
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        return http.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                .thenApply(response -> Decided.of(Json.read(response.body())));
    }

    /**
     * A decision over {@code /v1/decide}.
     *
     * @param isByWeir whether it is not of the fallback
     * @param decidedAtMs the time of the decision, 0 for the fallback
     * @param retryAfterMs how long to wait, 0 if the request is allowed
     * @param receivedAtMs the wall clock of this process when the response arrived
     */
    public record Decided(boolean isByWeir, boolean isAllowed, long decidedAtMs, long retryAfterMs, long receivedAtMs) {

        private static Decided of(JsonNode json) {
            return new Decided(
                    json.has("decidedAt"),
                    json.path("outcome").asText().equals("ALLOWED"),
                    json.path("decidedAt").asLong(),
                    json.path("retryAfterMs").asLong(),
                    System.currentTimeMillis());
        }
    }

    /** Waits until the gateway has decided requests of {@link #authorize} after this call. */
    public void awaitDecisions() {
        int before = allowed.get() + denials.size();
        await(name() + " decides", PATIENCE, () -> {
            checkAlive();
            return allowed.get() + denials.size() > before;
        });
    }
}
