package dev.weir.api;

import dev.weir.server.http.AccessToken;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.ServiceTls;
import io.javalin.http.Context;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/**
 * A client for the other instances, which forwards requests to them and relays their responses. A request is forwarded
 * only once.
 */
public final class PeerInstances implements AutoCloseable {

    /** A header of requests that another instance has forwarded. */
    static final String FORWARDED_HEADER = "Weir-Forwarded";

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int MAX_ASKED = 64;
    private static final int THREADS = 2;

    /** Statuses that do not depend on which instance responds. */
    private static final Set<Integer> RELAYED_STATUSES = Set.of(200, 400, 404, 406, 413, 415);

    private static final List<String> HEADERS_ASKED = List.of("Accept", "Content-Type");
    private static final List<String> HEADERS_ANSWERED = List.of("Content-Type", "ETag", "Vary");

    private static final Pattern ILLEGAL = Pattern.compile("[^A-Za-z0-9._~!$&'()*+,;=:@/?%-]+");

    private final Optional<AccessToken> token;
    private final Semaphore forwardPermits = new Semaphore(MAX_ASKED);
    private final ExecutorService executor;
    private final String scheme;
    private volatile HttpClient http;

    /** @param tls the trusted certificates of other instances; empty if the instances do not use TLS */
    public PeerInstances(Optional<AccessToken> token, Optional<ServiceTls> tls) {
        this.token = token;
        scheme = tls.isPresent() ? "https://" : "http://";
        executor = Executors.newFixedThreadPool(THREADS, task -> {
            Thread thread = new Thread(task, "service-peers");
            thread.setDaemon(true);
            return thread;
        });
        http = builder().build();
        tls.ifPresent(one ->
                one.addClient(context -> http = builder().sslContext(context).build()));
    }

    private HttpClient.Builder builder() {
        return HttpClient.newBuilder()
                .executor(executor)
                .connectTimeout(CONNECT_TIMEOUT)
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER); // send the token only to this address
    }

    /** Returns whether another instance has forwarded this request. */
    static boolean isForwarded(Context request) {
        return request.header(FORWARDED_HEADER) != null;
    }

    /**
     * Forwards a request to another instance and writes its response.
     *
     * @param address the {@code host:port} of the other instance
     * @return a future that fails with a {@link ProblemDetails.ProblemException} if it does not respond
     */
    CompletableFuture<Void> forward(String address, Context request, String body) {
        if (isForwarded(request)) {
            throw ProblemDetails.unavailable("the partition is moving between instances")
                    .exception();
        }
        HttpRequest question = forwardedRequest(address, request, body);
        if (!forwardPermits.tryAcquire()) {
            throw ProblemDetails.unavailable("too many requests are being forwarded to other instances")
                    .exception();
        }
        CompletableFuture<HttpResponse<byte[]>> exchange = http.sendAsync(question, BodyHandlers.ofByteArray());
        return exchange.copy()
                .orTimeout(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                .whenComplete((answer, failure) -> {
                    exchange.cancel(true); // otherwise a slow response would still be read
                    forwardPermits.release();
                })
                .handleAsync(
                        (answer, failure) -> {
                            if (failure != null) {
                                throw new CompletionException(unreachable(address, why(failure)));
                            }
                            relay(answer, address, request);
                            return null;
                        },
                        executor);
    }

    /**
     * Sends a request of this instance to another one.
     *
     * @param target path and query
     * @param within the time limit of the whole exchange
     * @return the body of the response; fails unless the status is 200
     */
    public CompletableFuture<String> get(String address, String target, Duration within) {
        try {
            HttpRequest question = requestTo(address, target).build();
            CompletableFuture<HttpResponse<String>> exchange = http.sendAsync(question, BodyHandlers.ofString());
            return exchange.copy()
                    .orTimeout(within.toMillis(), TimeUnit.MILLISECONDS)
                    .whenComplete(
                            (answer, failure) -> exchange.cancel(true)) // otherwise a slow response would still be read
                    .thenApply(answer -> {
                        if (answer.statusCode() != 200) {
                            throw new IllegalStateException("it responded with status " + answer.statusCode());
                        }
                        return answer.body();
                    });
        } catch (IllegalArgumentException e) { // not a valid address
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Returns a request with the token. */
    private HttpRequest.Builder requestTo(String address, String target) {
        HttpRequest.Builder question = HttpRequest.newBuilder(URI.create(scheme + address + target))
                .timeout(TIMEOUT)
                .header(FORWARDED_HEADER, "1");
        token.ifPresent(shown -> question.header("Authorization", shown.authorization()));
        return question;
    }

    /** Stops the threads. */
    @Override
    public void close() {
        executor.shutdownNow();
    }

    private HttpRequest forwardedRequest(String address, Context request, String body) {
        String query = request.queryString();
        String target = legal(request.req().getRequestURI()) + (query == null ? "" : "?" + legal(query));
        try {
            HttpRequest.Builder question =
                    requestTo(address, target).method(request.method().name(), BodyPublishers.ofString(body));
            for (String header : HEADERS_ASKED) {
                Optional.ofNullable(request.header(header)).ifPresent(value -> question.header(header, value));
            }
            return question.build();
        } catch (IllegalArgumentException e) {
            throw unreachable(address, "has an invalid address");
        }
    }

    /** Percent-encodes the characters of a path or query that Jetty accepts and {@link URI} does not. */
    private static String legal(String received) {
        return ILLEGAL.matcher(received).replaceAll(one -> URLEncoder.encode(one.group(), StandardCharsets.UTF_8));
    }

    private static void relay(HttpResponse<byte[]> answer, String address, Context request) {
        int status = answer.statusCode();
        if (status == 401 || status == 403 || status == 421) {
            throw unreachable(address, "rejects the token of this instance: all instances must have the same token");
        }
        if (!RELAYED_STATUSES.contains(status)) {
            throw unreachable(address, "cannot respond now");
        }
        for (String header : HEADERS_ANSWERED) {
            answer.headers().firstValue(header).ifPresent(value -> request.header(header, value));
        }
        request.status(status).result(answer.body());
    }

    /** Returns why an instance has not responded, as a predicate. */
    static String why(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SSLException) {
                return "has a certificate that is not trusted: set service.tls.ca";
            }
        }
        return "does not respond";
    }

    private static ProblemDetails.ProblemException unreachable(String address, String why) {
        return ProblemDetails.unavailable("the instance that has the state, " + address + ", " + why)
                .exception();
    }
}
