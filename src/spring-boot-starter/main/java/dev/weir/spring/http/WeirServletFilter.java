package dev.weir.spring.http;

import dev.weir.client.Reservation;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Request;
import dev.weir.spring.ServletRequestMapper;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletionException;
import org.springframework.http.server.RequestPath;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.util.ServletRequestPathUtils;
import org.springframework.web.util.WebUtils;

/**
 * A servlet filter that gets a decision by Weir before an HTTP request is handled. An allowed request is passed on, and
 * its response gets the {@code RateLimit} fields. Any other request is answered by the filter, with the status and the
 * fields of the decision and an empty body.
 *
 * <p>The thread of the request blocks until there is a decision, at most for the client's time-out. If the policy
 * throttles, another filter, the last one, delays the request by the decision's {@code delayMs} without a thread
 * ({@code weir.filter.async-delay}). A request that has none of the configured clients, or is invalid, gets status 400.
 * A request without a decision gets 503, unless {@code weir.filter.on-no-decision} is {@code allow}. A request is
 * decided once: not again when it is forwarded, dispatched asynchronously, or ends with an error.
 */
public final class WeirServletFilter extends OncePerRequestFilter {

    private final HttpDecider decider;
    private final ServletRequestMapper mapper;
    private final HttpRequestMapping mapping;
    private final XRateLimitFields olderFields;

    WeirServletFilter(
            HttpDecider decider,
            ServletRequestMapper mapper,
            HttpRequestMapping mapping,
            XRateLimitFields olderFields) {
        this.decider = decider;
        this.mapper = mapper;
        this.mapping = mapping;
        this.olderFields = olderFields;
    }

    /** The mapper for the properties {@code weir.filter.*}. */
    static ServletRequestMapper mapper(HttpRequestMapping mapping) {
        return http -> mapping.request(new ServletRequestView(http));
    }

    @Override
    protected boolean shouldNotFilter(HttpServletRequest http) {
        return !mapping.includes(path(http));
    }

    @Override
    protected void doFilterInternal(HttpServletRequest http, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        Request request;
        try {
            request = mapper.map(http);
        } catch (IllegalArgumentException e) {
            response.setStatus(HttpVerdict.BAD_REQUEST);
            return;
        }
        Reservation reservation;
        try {
            reservation = decider.decide(request).join();
        } catch (CompletionException e) {
            response.setStatus(HttpVerdict.of(e).status());
            return;
        }
        try {
            apply(HttpVerdict.of(reservation.decision(), olderFields), http, response, chain);
        } finally {
            AsyncRelease.atEndOf(http, reservation);
        }
    }

    private static void apply(
            HttpVerdict verdict, HttpServletRequest http, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        verdict.headers().forEach(response::setHeader);
        if (verdict.passes()) {
            ServletDelayFilter.setDelay(http, verdict.delayMs());
            chain.doFilter(http, response);
        } else {
            response.setStatus(verdict.status());
        }
    }

    private static String path(HttpServletRequest http) {
        RequestPath path = ServletRequestPathUtils.hasParsedRequestPath(http)
                ? ServletRequestPathUtils.getParsedRequestPath(http)
                : ServletRequestPathUtils.parse(http);
        return path.pathWithinApplication().value();
    }

    private record ServletRequestView(HttpServletRequest http) implements HttpRequestView {

        @Override
        public String header(String name) {
            return http.getHeader(name);
        }

        @Override
        public String query(String name) {
            if (http.getQueryString() == null) {
                return null;
            }
            for (String parameter : http.getQueryString().split("&")) { // getParameter would read a form in the body
                String[] parts = parameter.split("=", 2);
                if (URLDecoder.decode(parts[0], StandardCharsets.UTF_8).equals(name)) {
                    return parts.length == 1 ? "" : URLDecoder.decode(parts[1], StandardCharsets.UTF_8);
                }
            }
            return null;
        }

        @Override
        public String cookie(String name) {
            Cookie cookie = WebUtils.getCookie(http, name);
            return cookie == null ? null : cookie.getValue();
        }

        @Override
        public String principal() {
            return http.getUserPrincipal() == null
                    ? null
                    : http.getUserPrincipal().getName();
        }

        @Override
        public String remoteAddress() {
            return http.getRemoteAddr();
        }

        @Override
        public String method() {
            return http.getMethod();
        }

        @Override
        public String path() {
            return WeirServletFilter.path(http);
        }
    }
}
