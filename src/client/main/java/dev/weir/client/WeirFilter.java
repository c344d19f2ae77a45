package dev.weir.client;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/**
 * A filter for the JDK's HTTP server that gets a decision by Weir before a request is handled. It can also serve as a
 * model for other servers. An allowed request is passed on, and its response gets the {@code RateLimit} fields. Any
 * other request is answered by the filter, with the status and the fields of the decision.
 *
 * <pre>{@code
 * HttpServer server = HttpServer.create(new InetSocketAddress(8080), 0);
 * server.createContext("/", articles).getFilters().add(new WeirFilter(weir, exchange -> RequestBuilder
 *         .of(exchange.getRequestHeaders().getFirst("X-Api-Key"))
 *         .attribute("endpoint", exchange.getRequestURI().getPath())
 *         .build()));
 * server.setExecutor(Executors.newCachedThreadPool());
 * server.start();
 * }</pre>
 *
 * <p>The thread of the exchange blocks until there is a decision, at most for the client's time-out; and, if the policy
 * throttles, for the decision's {@code delayMs}. The server needs a thread for each waiting exchange. An invalid
 * request gets status 400, also if the function throws an {@link IllegalArgumentException}; any other exception of the
 * function is logged, and the request gets 500. A request that {@link Fallback#FAIL} leaves without a decision gets 503.
 * A shadow-banned client gets 200 with an empty body. Instances are thread-safe if the function is.
 */
public final class WeirFilter extends Filter {

    private static final System.Logger LOG = System.getLogger(WeirFilter.class.getName());

    private static final int BAD_REQUEST = 400;
    private static final int INTERNAL_ERROR = 500;
    private static final int UNAVAILABLE = 503;
    private static final int NO_BODY = -1;

    private final WeirClient weir;
    private final Function<HttpExchange, Request> requests;
    private final XRateLimitFields older;
    private final Optional<Duration> hold; // the ttl of reservations; empty if exchanges reserve nothing

    /**
     * Creates a filter.
     *
     * @param weir the client, which the filter does not close
     * @param requests returns the request for an exchange. Its client must be the authenticated caller
     */
    public WeirFilter(WeirClient weir, Function<HttpExchange, Request> requests) {
        this(weir, requests, XRateLimitFields.NONE);
    }

    /**
     * Creates a filter whose responses also have the older fields {@code X-RateLimit-…}.
     *
     * @param weir the client, which the filter does not close
     * @param requests returns the request for an exchange. Its client must be the authenticated caller
     * @param older which older fields are added
     */
    public WeirFilter(WeirClient weir, Function<HttpExchange, Request> requests, XRateLimitFields older) {
        this(weir, requests, older, Optional.empty());
    }

    private WeirFilter(
            WeirClient weir,
            Function<HttpExchange, Request> requests,
            XRateLimitFields older,
            Optional<Duration> hold) {
        this.weir = weir;
        this.requests = requests;
        this.older = older;
        this.hold = hold;
    }

    /**
     * Returns a copy of this filter that makes a reservation for each exchange and releases it when the handler has
     * returned or thrown an exception. So an exchange occupies slots of concurrency limits for its duration.
     *
     * @param ttl how long after its start, or its last renewal, a reservation ends if this process does not release it;
     *     as in {@link WeirClient#reserve(Request, Duration)}, 1 s to 30 days
     * @return a new filter
     */
    public WeirFilter holding(Duration ttl) {
        return new WeirFilter(weir, requests, older, Optional.of(ttl));
    }

    @Override
    public String description() {
        return "Rate limits by Weir";
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
        Request request;
        try {
            request = Objects.requireNonNull(requests.apply(exchange), "the function returned no request");
        } catch (IllegalArgumentException e) {
            refuse(exchange, BAD_REQUEST);
            return;
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "The function that makes the request of an exchange failed", e);
            refuse(exchange, INTERNAL_ERROR);
            return;
        }
        Reservation reservation;
        try {
            reservation = decide(request).join();
        } catch (CompletionException e) {
            refuse(exchange, e.getCause() instanceof IllegalArgumentException ? BAD_REQUEST : UNAVAILABLE);
            return;
        }
        try {
            apply(reservation.decision(), exchange, chain);
        } finally {
            var unused = reservation.release();
        }
    }

    private CompletableFuture<Reservation> decide(Request request) {
        return hold.isPresent()
                ? weir.reserve(request, hold.get())
                : weir.decide(request).thenApply(Reservation::none);
    }

    private void apply(ClientDecision answer, HttpExchange exchange, Chain chain) throws IOException {
        answer.httpHeaders(older).forEach(exchange.getResponseHeaders()::set);
        if (answer.allowed() && waitFor(answer)) {
            chain.doFilter(exchange);
        } else {
            refuse(exchange, answer.allowed() ? UNAVAILABLE : answer.httpStatus());
        }
    }

    /** Waits for the delay of the decision. Returns false if the thread was interrupted. */
    private static boolean waitFor(ClientDecision answer) {
        Optional<Long> delayMs = answer.decision().map(Decision::delayMs);
        try {
            Thread.sleep(delayMs.orElse(0L));
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void refuse(HttpExchange exchange, int status) throws IOException {
        exchange.sendResponseHeaders(status, NO_BODY);
        exchange.close();
    }
}
