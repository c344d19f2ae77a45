package dev.weir.gateway;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Request;
import dev.weir.gateway.AuthorizeMetrics.Result;
import dev.weir.policy.RequestRules;
import dev.weir.server.decide.RequestDecider;
import dev.weir.server.decide.RequestIds;
import dev.weir.server.http.HeaderText;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.ThreadPoolHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.PreEncodedHttpField;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The endpoint {@value #PATH} that proxies ask whether to pass a request on. It accepts all methods, and all paths below
 * its own. Only trusted proxies may call it, because they say who the client is. It does not block.
 */
final class AuthorizeHandler extends Handler.Wrapper {

    static final String PATH = "/v1/authorize";

    private static final String FORWARDED_FOR = "X-Forwarded-For";
    private static final HttpField NO_STORE = new PreEncodedHttpField(HttpHeader.CACHE_CONTROL, "no-store");
    private static final Pattern DENY_STATUS = Pattern.compile("deny-status=[45][0-9][0-9]");
    private static final int FORBIDDEN = 403;
    private static final int BAD_REQUEST = 400;
    private static final Logger LOG = LoggerFactory.getLogger(AuthorizeHandler.class);

    private final GatewayConfig config;
    private final RequestRules rules;
    private final XRateLimitFields olderFields;
    private final RequestDecider decider;
    private final AuthorizeMetrics metrics;
    private final BooleanSupplier isDraining;
    private final RequestIds ids = new RequestIds("authorize");
    private final UntrustedCallers untrusted = new UntrustedCallers(PATH);

    /** @param isDraining whether connections are closed after the next response */
    AuthorizeHandler(
            GatewayConfig config,
            RequestRules rules,
            XRateLimitFields olderFields,
            RequestDecider decider,
            AuthorizeMetrics metrics,
            BooleanSupplier isDraining) {
        this.config = config;
        this.rules = rules;
        this.olderFields = olderFields;
        this.decider = decider;
        this.metrics = metrics;
        this.isDraining = isDraining;
        setHandler(new ThreadPoolHandler());
    }

    /** A call, to be answered once. */
    private record Call(
            org.eclipse.jetty.server.Request request,
            Response response,
            Callback callback,
            Optional<Integer> denyStatus) {}

    @Override
    public boolean handle(org.eclipse.jetty.server.Request request, Response response, Callback callback)
            throws Exception {
        HttpURI uri = request.getHttpURI();
        String path = uri.getPath();
        if (path == null
                || !path.startsWith(PATH)
                || (path.length() > PATH.length() && path.charAt(PATH.length()) != '/')) {
            return super.handle(request, response, callback);
        }
        long receivedNanos = System.nanoTime();
        Optional<Integer> denyStatus = path.length() == PATH.length() ? denyStatus(uri.getQuery()) : Optional.empty();
        authorize(new Call(request, response, callback, denyStatus), receivedNanos);
        return true;
    }

    /**
     * Returns the status that the query sets for denials. Any other query is ignored: Caddy adds that of the request.
     */
    private static Optional<Integer> denyStatus(String query) {
        return query != null && DENY_STATUS.matcher(query).matches()
                ? Optional.of(Integer.valueOf(query.substring(query.indexOf('=') + 1)))
                : Optional.empty();
    }

    private void authorize(Call call, long receivedNanos) {
        InetAddress peer = peer(call.request);
        if (!config.proxies().address().isTrusted(peer)) {
            metrics.untrusted();
            untrusted.log(peer);
            answer(call, Authorization.refused(FORBIDDEN, "only proxies in gateway.trusted-proxies may call " + PATH));
            return;
        }
        ProxiedRequest proxied;
        try {
            proxied = proxied(call.request, peer);
        } catch (InvalidCallException e) {
            metrics.invalid(AuthorizeRoute.DEFAULT.id());
            answer(call, Authorization.refused(e.status(), e.getMessage()));
            return;
        }
        AuthorizeRoute route = config.route(proxied);
        Request request;
        try {
            request = route.templates().toRequest(proxied, rules, ids::next);
        } catch (InvalidCallException e) {
            metrics.invalid(route.id());
            answer(call, Authorization.refused(e.status(), e.getMessage()));
            return;
        }
        metrics.began();
        decide(request, receivedNanos, route).whenComplete((decision, failure) -> {
            long nanos = System.nanoTime() - receivedNanos;
            metrics.ended(route.id(), failure == null ? Result.of(decision) : Result.INVALID, nanos);
            try {
                answerDelayed(
                        call,
                        failure == null
                                ? Authorization.of(decision, config.proxies().original(), olderFields)
                                : invalid(failure));
            } catch (RuntimeException e) {
                LOG.error("A decision could not be sent", e);
                call.callback.failed(e);
            }
        });
    }

    private void answerDelayed(Call call, Authorization answer) {
        if (answer.delay().isZero()) {
            answer(call, answer);
        } else {
            CompletableFuture.delayedExecutor(answer.delay().toMillis(), TimeUnit.MILLISECONDS)
                    .execute(() -> answer(call, answer));
        }
    }

    private CompletableFuture<ClientDecision> decide(Request request, long receivedNanos, AuthorizeRoute route) {
        try {
            return decider.decide(request, receivedNanos, route.timeout(), route.onTimeout());
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static Authorization invalid(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        if (cause instanceof IllegalArgumentException) {
            return Authorization.refused(BAD_REQUEST, cause.getMessage());
        }
        LOG.error("A request could not be decided", cause);
        return Authorization.refused(500, "the request failed; see the log of the gateway");
    }

    private ProxiedRequest proxied(org.eclipse.jetty.server.Request request, InetAddress peer) {
        HttpFields headers = request.getHeaders();
        HttpURI uri = request.getHttpURI();
        String rest = uri.getPath().substring(PATH.length());
        String called =
                (rest.isEmpty() ? "/" : rest) + (rest.isEmpty() || uri.getQuery() == null ? "" : "?" + uri.getQuery());
        OriginalRequest original = config.proxies().original();
        return ProxiedRequest.of(
                original.method(name -> single(headers, name)).orElse(request.getMethod()),
                original.uri(name -> single(headers, name)).map(HeaderText::of).orElse(called),
                original.host(name -> single(headers, name)).orElseGet(() -> host(headers)),
                config.proxies().paths(),
                () -> address(headers, peer),
                name -> texts(headers.getValuesList(name)));
    }

    private String address(HttpFields headers, InetAddress peer) {
        return config.proxies()
                .address()
                .text(config.proxies().address().client(peer, headers.getValuesList(FORWARDED_FOR)));
    }

    private static List<String> texts(List<String> values) {
        return values.size() == 1
                ? List.of(HeaderText.of(values.get(0)))
                : values.stream().map(HeaderText::of).toList();
    }

    /**
     * Returns the value of a header, null if it is missing.
     *
     * @throws InvalidCallException if it is repeated: the proxy has added its value to that of a client
     */
    private static String single(HttpFields headers, String name) {
        HttpField found = null;
        for (int i = 0; i < headers.size(); i++) {
            HttpField field = headers.getField(i);
            if (field.is(name)) {
                if (found != null) {
                    throw new InvalidCallException(
                            InvalidCallException.BAD_REQUEST,
                            "header " + name.toLowerCase(Locale.ROOT) + " is repeated");
                }
                found = field;
            }
        }
        return found == null ? null : found.getValue();
    }

    private static String host(HttpFields headers) {
        String host = headers.get(HttpHeader.HOST);
        return host == null ? "" : host.toLowerCase(Locale.ROOT);
    }

    private static InetAddress peer(org.eclipse.jetty.server.Request request) {
        return request.getConnectionMetaData().getRemoteSocketAddress() instanceof InetSocketAddress inet
                ? inet.getAddress()
                : InetAddress.getLoopbackAddress();
    }

    private void answer(Call call, Authorization answer) {
        Response response = call.response;
        HttpFields.Mutable headers = response.getHeaders();
        answer.headers().forEach(headers::put);
        headers.put(NO_STORE);
        if (isDraining.getAsBoolean()) {
            headers.put(HttpHeader.CONNECTION, "close");
        }
        response.setStatus(answer.statusForProxy(call.denyStatus));
        if (answer.passes()) {
            response.write(true, ByteBuffer.allocate(0), call.callback);
            return;
        }
        if (call.denyStatus.isPresent()) {
            headers.put(Authorization.STATUS_HEADER, Integer.toString(answer.status()));
        }
        headers.put(HttpHeader.CONTENT_TYPE, ProblemDetails.CONTENT_TYPE);
        byte[] body = ProblemDetails.of(answer.statusForProxy(Optional.empty()), answer.detail())
                .json();
        response.write(true, ByteBuffer.wrap(body), call.callback);
    }

    /** Returns the ids of all routes. */
    static List<String> routeIds(GatewayConfig config) {
        List<String> ids =
                new ArrayList<>(config.routes().stream().map(AuthorizeRoute::id).toList());
        ids.add(AuthorizeRoute.DEFAULT.id());
        return ids;
    }
}
