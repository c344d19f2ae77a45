package dev.weir.gateway;

import dev.weir.client.Fallback;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.Glob;
import dev.weir.server.decide.RequestDecider;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * How proxied requests with some hosts, paths and methods are decided.
 *
 * @param id names the route in metrics: 1 to 64 letters, digits and {@code . _ -}
 * @param match the patterns of each part, one of which must match; without patterns, all requests match
 * @param templates make the Weir request
 * @param timeout how long to wait for the decision, 1 ms to 10 s
 * @param onTimeout who decides if there is no decision in time, not {@link Fallback#FAIL}
 */
record AuthorizeRoute(
        String id, Map<Part, List<Glob>> match, RequestTemplates templates, Duration timeout, Fallback onTimeout) {

    private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}"); // before DEFAULT, which needs it

    static final Duration DEFAULT_TIMEOUT = Duration.ofMillis(500);

    /** Decides the requests that no other route matches. */
    static final AuthorizeRoute DEFAULT =
            new AuthorizeRoute("default", Map.of(), RequestTemplates.DEFAULTS, DEFAULT_TIMEOUT, Fallback.FAIL_OPEN);

    /** A part of a request on which routes match. */
    enum Part {
        HOST,
        PATH,
        METHOD;

        private String of(ProxiedRequest request) {
            return switch (this) {
                case HOST -> request.host();
                case PATH -> request.path();
                case METHOD -> request.method();
            };
        }
    }

    /** @throws IllegalArgumentException if a value is out of its range */
    AuthorizeRoute {
        if (!ID.matcher(id).matches()) {
            throw new IllegalArgumentException("id must be 1 to 64 letters, digits or . _ -, is '" + id + "'");
        }
        if (timeout.toMillis() < 1 || timeout.compareTo(RequestDecider.MAX_TIMEOUT) > 0) {
            throw new IllegalArgumentException(
                    "timeout must be 1ms to 10s, is " + DurationsAndSizes.duration(timeout.toMillis()));
        }
        if (onTimeout == Fallback.FAIL) {
            throw new IllegalArgumentException("on-timeout must be allow or deny");
        }
        match = Map.copyOf(match);
    }

    boolean matches(ProxiedRequest request) {
        for (Map.Entry<Part, List<Glob>> condition : match.entrySet()) {
            String value = condition.getKey().of(request);
            boolean holds = false;
            for (Glob glob : condition.getValue()) {
                holds = holds || glob.matches(value);
            }
            if (!holds) {
                return false;
            }
        }
        return true;
    }
}
