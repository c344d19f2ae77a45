package dev.weir.service;

import io.javalin.http.Context;
import io.javalin.security.RouteRole;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Who may do what. The token lets one do everything. Without it, on loopback only, everything can be read, if the
 * request names this host: a web page whose name was made to lead here (DNS rebinding) names its own.
 */
final class Access {

    /** What a route does. */
    enum Role implements RouteRole {
        IS_WELL,
        SHOWS,
        READS,
        CHANGES
    }

    /** The paths that need nothing: a supervisor has no token, and calls this host by its address. */
    static final String LIVE = "/health/live";

    static final String READY = "/health/ready";

    /** The live page, which has no figures of its own: what fills it is read with the token. */
    static final String PAGE = "/live";

    private static final Pattern HOST = Pattern.compile("(\\[[^\\]]*]|[^:]*)(:[0-9]*)?");
    private static final Map<String, String> CHALLENGE = Map.of("WWW-Authenticate", "Bearer realm=\"weir\"");
    private static final Map<String, String> REFUSED =
            Map.of("WWW-Authenticate", "Bearer realm=\"weir\", error=\"invalid_token\"");

    private final Optional<Token> token;
    private final boolean readableWithoutToken;
    private final Set<String> hosts;

    /** @param hosts in lower case, what requests without the token may call this host */
    Access(Optional<Token> token, boolean readableWithoutToken, Set<String> hosts) {
        this.token = token;
        this.readableWithoutToken = readableWithoutToken;
        this.hosts = Set.copyOf(hosts);
    }

    /** For every request, also one to nowhere. */
    void checkRead(Context request) {
        if (isOpen(request.path()) || isTrusted(request)) {
            return;
        }
        if (!readableWithoutToken) {
            throw Problem.of(401, "this needs the token", CHALLENGE).found();
        }
        String host = String.valueOf(request.header("Host"));
        if (!hosts.contains(name(host))) {
            throw Problem.of(421, "without the token this host answers as " + String.join(", ", hosts) + " only")
                    .found();
        }
    }

    private static boolean isOpen(String path) {
        return path.equals(LIVE)
                || path.equals(READY)
                || path.equals("/")
                || path.equals(PAGE)
                || path.startsWith(PAGE + "/");
    }

    /** For a request that a route was found for. */
    void checkChange(Context request) {
        if (!request.routeRoles().contains(Role.CHANGES) || isTrusted(request)) {
            return;
        }
        if (token.isPresent()) {
            throw Problem.of(401, "changes need the token", CHALLENGE).found();
        }
        throw Problem.of(
                        403,
                        "changes need a token, and none is configured: start `weir run` with the environment variable"
                                + " WEIR_TOKEN, or with service.token-file")
                .found();
    }

    /** @throws Problem.Found if it shows a token that is wrong */
    private boolean isTrusted(Context request) {
        String authorization = request.header("Authorization");
        if (token.isEmpty() || authorization == null) {
            return false;
        }
        if (!token.get().isShownBy(authorization)) {
            throw Problem.of(401, "the token is wrong", REFUSED).found();
        }
        return true;
    }

    private static String name(String host) {
        Matcher parts = HOST.matcher(host.toLowerCase(Locale.ROOT));
        return parts.matches() ? parts.group(1) : "";
    }
}
