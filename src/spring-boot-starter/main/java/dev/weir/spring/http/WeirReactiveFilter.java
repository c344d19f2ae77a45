package dev.weir.spring.http;

import dev.weir.client.Reservation;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Request;
import dev.weir.spring.ExchangeRequestMapper;
import java.net.InetSocketAddress;
import java.security.Principal;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.springframework.core.Ordered;
import org.springframework.http.HttpCookie;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * A WebFlux filter that gets a decision by Weir before an HTTP request is handled. It treats requests like
 * {@link WeirServletFilter}, and blocks no thread: the request continues on Reactor's parallel scheduler when the
 * decision has arrived and its delay has passed.
 */
public final class WeirReactiveFilter implements WebFilter, Ordered {

    private final HttpDecider decider;
    private final ExchangeRequestMapper mapper;
    private final HttpRequestMapping mapping;
    private final XRateLimitFields olderFields;
    private final int order;

    WeirReactiveFilter(
            HttpDecider decider,
            ExchangeRequestMapper mapper,
            HttpRequestMapping mapping,
            XRateLimitFields olderFields,
            int order) {
        this.decider = decider;
        this.mapper = mapper;
        this.mapping = mapping;
        this.olderFields = olderFields;
        this.order = order;
    }

    /** The mapper for the properties {@code weir.filter.*}. */
    static ExchangeRequestMapper mapper(HttpRequestMapping mapping) {
        return exchange -> exchange.getPrincipal()
                .map(Principal::getName)
                .defaultIfEmpty("")
                .map(principal -> mapping.request(new ExchangeView(exchange.getRequest(), principal)));
    }

    @Override
    public int getOrder() {
        return order;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        if (!mapping.includes(path(exchange.getRequest()))) {
            return chain.filter(exchange);
        }
        return Mono.defer(() -> mapper.map(exchange))
                .map(Optional::of)
                .onErrorResume(IllegalArgumentException.class, failure -> Mono.just(Optional.empty()))
                .defaultIfEmpty(Optional.empty())
                .flatMap(request -> request.isPresent()
                        ? decide(request.get(), exchange, chain)
                        : apply(HttpVerdict.refusal(HttpVerdict.BAD_REQUEST), exchange, chain));
    }

    private Mono<Void> decide(Request request, ServerWebExchange exchange, WebFilterChain chain) {
        CompletableFuture<Reservation> reserving = decider.decide(request);
        return Mono.fromFuture(reserving, true)
                .map(reservation -> HttpVerdict.of(reservation.decision(), olderFields))
                .onErrorResume(failure -> Mono.fromSupplier(() -> HttpVerdict.of(failure)))
                .publishOn(Schedulers.parallel())
                .flatMap(verdict -> apply(verdict, exchange, chain))
                .doFinally(signal -> {
                    var unused = reserving.thenAccept(Reservation::release); // now, or when it arrives
                });
    }

    private static Mono<Void> apply(HttpVerdict verdict, ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpResponse response = exchange.getResponse();
        verdict.headers().forEach(response.getHeaders()::set);
        if (!verdict.passes()) {
            response.setStatusCode(HttpStatusCode.valueOf(verdict.status()));
            return response.setComplete();
        }
        return verdict.delayMs() == 0
                ? chain.filter(exchange)
                : Mono.delay(Duration.ofMillis(verdict.delayMs())).then(Mono.defer(() -> chain.filter(exchange)));
    }

    private static String path(ServerHttpRequest http) {
        return http.getPath().pathWithinApplication().value();
    }

    private record ExchangeView(ServerHttpRequest http, String principal) implements HttpRequestView {

        @Override
        public String header(String name) {
            return http.getHeaders().getFirst(name);
        }

        @Override
        public String query(String name) {
            return http.getQueryParams().getFirst(name);
        }

        @Override
        public String cookie(String name) {
            HttpCookie cookie = http.getCookies().getFirst(name);
            return cookie == null ? null : cookie.getValue();
        }

        @Override
        public String remoteAddress() {
            InetSocketAddress remote = http.getRemoteAddress();
            if (remote == null) {
                return null;
            }
            return remote.getAddress() == null
                    ? remote.getHostString()
                    : remote.getAddress().getHostAddress();
        }

        @Override
        public String method() {
            return http.getMethod().name();
        }

        @Override
        public String path() {
            return WeirReactiveFilter.path(http);
        }
    }
}
