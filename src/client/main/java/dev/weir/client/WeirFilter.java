package dev.weir.client;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/**
 * Asks Weir before the JDK's HTTP server answers, and as a model for other servers: what is allowed goes on, with the
 * {@code RateLimit} fields; all else is answered here, with the decision's status and fields.
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
 * <p>The exchange's thread waits for the decision, at most the client's time-out, and where the policy throttles, for
 * the decision's {@code delayMs}: the server needs threads for all that wait. What is no request is answered 400, what
 * {@link Fallback#FAIL} leaves unanswered 503. A shadow-banned client sees 200 and no body.
 */
public final class WeirFilter extends Filter {

    private static final int BAD_REQUEST = 400;
    private static final int UNAVAILABLE = 503;
    private static final int NO_BODY = -1;

    private final WeirClient weir;
    private final Function<HttpExchange, Request> requests;

    /** @param requests what is asked for an exchange; the client it names is whom it has authenticated */
    public WeirFilter(WeirClient weir, Function<HttpExchange, Request> requests) {
        this.weir = weir;
        this.requests = requests;
    }

    @Override
    public String description() {
        return "Asks Weir";
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
        ClientDecision answer;
        try {
            answer = weir.check(requests.apply(exchange)).join();
        } catch (CompletionException e) {
            refuse(exchange, e.getCause() instanceof IllegalArgumentException ? BAD_REQUEST : UNAVAILABLE);
            return;
        }
        answer.httpHeaders().forEach(exchange.getResponseHeaders()::set);
        if (answer.allowed() && waitFor(answer)) {
            chain.doFilter(exchange);
        } else {
            refuse(exchange, answer.allowed() ? UNAVAILABLE : answer.httpStatus());
        }
    }

    /** False if it was interrupted. */
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
