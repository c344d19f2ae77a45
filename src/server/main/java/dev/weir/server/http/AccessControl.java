package dev.weir.server.http;

import dev.weir.wire.ChangeAuthor;
import io.javalin.http.Context;
import io.javalin.security.RouteRole;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Authorizes requests. The change token permits every request, the read token permits reading, and the decide token
 * permits only {@value #DECIDE_PATH}, {@value #COMPLETE_PATH}, {@value #EXTEND_PATH} and {@value #PEEK_PATH}. Without a
 * token, reading and deciding are permitted on loopback only, as the configuration says, if the {@code Host} header names this host and no proxy has forwarded the
 * request. A web page that reaches this host by DNS rebinding sends its own name as {@code Host}, so it is rejected.
 *
 * <p>Requests that a browser sends on behalf of another site are rejected, with or without a token.
 */
public final class AccessControl {

    /** The permission that a route requires. */
    public enum Permission implements RouteRole {
        HEALTH,
        PAGE,
        READ,
        DECIDE,
        CHANGE
    }

    /** The credential that a request carries. */
    private enum Credential {
        NONE,
        DECIDE_TOKEN,
        READ_TOKEN,
        CHANGE_TOKEN
    }

    /** The paths of the probes, which need no token and accept any {@code Host}. */
    public static final String LIVENESS_PATH = "/health/live";

    public static final String READINESS_PATH = "/health/ready";

    /** The live page. Its files contain no data; the page reads data with a token. */
    public static final String LIVE_PAGE_PATH = "/live";

    /** Decides requests and charges them. */
    public static final String DECIDE_PATH = "/v1/decide";

    /** Ends attempts of released requests. */
    public static final String COMPLETE_PATH = "/v1/complete";

    /** Claims or prolongs attempts of released requests. */
    public static final String EXTEND_PATH = "/v1/extend";

    /** Returns how a request would be decided, and charges nothing. */
    public static final String PEEK_PATH = "/v1/peek";

    /** What the decide token permits. */
    private static final Set<String> DECIDING = Set.of(DECIDE_PATH, COMPLETE_PATH, EXTEND_PATH, PEEK_PATH);

    private static final String AUTHOR_HEADER = "X-Weir-Author";
    private static final String REASON_HEADER = "X-Weir-Reason";

    /** The request attribute with the name of the token. */
    private static final String TOKEN_NAME = "weir.token-name";

    private static final Pattern HOST = Pattern.compile("(\\[[^\\]]*]|[^:]*)(:[0-9]*)?");
    private static final Map<String, String> CHALLENGE = Map.of("WWW-Authenticate", "Bearer realm=\"weir\"");
    private static final Map<String, String> INVALID_TOKEN =
            Map.of("WWW-Authenticate", "Bearer realm=\"weir\", error=\"invalid_token\"");

    private final AccessTokens tokens;
    private final boolean readableWithoutToken;
    private final boolean decidesWithoutToken;
    private final Set<String> hosts;
    private final TokenThrottle wrongTokens;

    /**
     * @param decidesWithoutToken whether a request that may read without a token may decide too
     * @param hosts the host names, in lower case, that requests without a token may use for this host
     */
    public AccessControl(
            AccessTokens tokens,
            boolean readableWithoutToken,
            boolean decidesWithoutToken,
            Set<String> hosts,
            TokenThrottle wrongTokens) {
        this.tokens = tokens;
        this.readableWithoutToken = readableWithoutToken;
        this.decidesWithoutToken = decidesWithoutToken;
        this.hosts = Set.copyOf(hosts);
        this.wrongTokens = wrongTokens;
    }

    /**
     * Rejects requests that a page of another site has sent, and requests that override their method. Applies to all
     * requests, including those for unknown paths.
     */
    public static void checkOrigin(Context request) {
        if (request.header("X-HTTP-Method-Override") != null) {
            throw ProblemDetails.of(400, "X-HTTP-Method-Override is not supported")
                    .exception();
        }
        String site = request.header("Sec-Fetch-Site");
        boolean isForeign = site == null || site.equals("same-site")
                ? !isSameOrigin(request.header("Origin"), request)
                : site.equals("cross-site") && !opensPage(request);
        if (isForeign) {
            throw ProblemDetails.of(403, "requests from pages of other sites are rejected")
                    .exception();
        }
    }

    /** Returns whether the user has followed a link to the live page. */
    private static boolean opensPage(Context request) {
        return isPublic(request.path())
                && "navigate".equals(request.header("Sec-Fetch-Mode"))
                && "document".equals(request.header("Sec-Fetch-Dest"));
    }

    /** @param origin null if the request has no {@code Origin} header */
    private static boolean isSameOrigin(String origin, Context request) {
        if (origin == null) {
            return true;
        }
        int start = origin.indexOf("://");
        return start > 0 && origin.substring(start + 3).equalsIgnoreCase(String.valueOf(request.header("Host")));
    }

    /** Applies to all requests, including those for unknown paths. */
    public void checkRead(Context request) {
        if (isPublic(request.path())) {
            return;
        }
        Credential shown = credential(request);
        if (shown == Credential.DECIDE_TOKEN && !DECIDING.contains(request.path())) {
            throw ProblemDetails.of(
                            403,
                            "this token permits " + DECIDE_PATH + ", " + COMPLETE_PATH + ", " + EXTEND_PATH + " and "
                                    + PEEK_PATH + " only")
                    .exception();
        }
        if (shown != Credential.NONE) {
            return;
        }
        if (!readableWithoutToken) {
            throw ProblemDetails.of(401, "this request needs a token", CHALLENGE)
                    .exception();
        }
        if (isForwarded(request)) {
            throw ProblemDetails.of(401, "a request that a proxy has forwarded needs a token", CHALLENGE)
                    .exception();
        }
        String host = String.valueOf(request.header("Host"));
        if (!hosts.contains(name(host))) {
            throw ProblemDetails.of(421, "without a token, the Host header must be one of " + String.join(", ", hosts))
                    .exception();
        }
    }

    private static boolean isForwarded(Context request) {
        return request.headerMap().keySet().stream().anyMatch(ForwardingHeaders::contain);
    }

    private static boolean isPublic(String path) {
        return path.equals(LIVENESS_PATH)
                || path.equals(READINESS_PATH)
                || path.equals("/")
                || path.equals(LIVE_PAGE_PATH)
                || path.startsWith(LIVE_PAGE_PATH + "/");
    }

    /** Applies to requests that match a route. */
    public void checkPermission(Context request) {
        if (request.routeRoles().contains(Permission.CHANGE)) {
            checkChange(credential(request));
        } else if (request.routeRoles().contains(Permission.DECIDE)) {
            checkDecide(credential(request));
        }
    }

    private void checkDecide(Credential shown) {
        if (shown == Credential.READ_TOKEN) {
            throw ProblemDetails.of(403, "this token permits reading only").exception();
        }
        if (shown != Credential.NONE || decidesWithoutToken) {
            return;
        }
        if (tokens.decideToken().isEmpty() && tokens.changeTokens().isEmpty()) {
            throw ProblemDetails.of(
                            403,
                            "deciding needs a token, and none is configured: restart this process with the environment"
                                    + " variable WEIR_DECIDE_TOKEN, or with service.decide-token: loopback")
                    .exception();
        }
        throw ProblemDetails.of(401, "deciding needs a token", CHALLENGE).exception();
    }

    private void checkChange(Credential shown) {
        if (shown == Credential.CHANGE_TOKEN) {
            return;
        }
        if (shown == Credential.READ_TOKEN) {
            throw ProblemDetails.of(403, "this token permits reading only").exception();
        }
        if (!tokens.changeTokens().isEmpty()) {
            throw ProblemDetails.of(401, "changes need a token", CHALLENGE).exception();
        }
        throw ProblemDetails.of(
                        403,
                        "changes need a token, and none is configured: start `weir run` with the environment variable"
                                + " WEIR_TOKEN, or with service.token-file")
                .exception();
    }

    /** @throws ProblemDetails.ProblemException if the request has a wrong token */
    private Credential credential(Context request) {
        String authorization = request.header("Authorization");
        if (authorization == null || tokens.isEmpty()) {
            return Credential.NONE;
        }
        for (AccessToken token : tokens.changeTokens()) {
            if (token.matches(authorization)) {
                request.attribute(TOKEN_NAME, token.name());
                return Credential.CHANGE_TOKEN;
            }
        }
        if (tokens.readToken().filter(token -> token.matches(authorization)).isPresent()) {
            return Credential.READ_TOKEN;
        }
        if (tokens.decideToken().filter(token -> token.matches(authorization)).isPresent()) {
            return Credential.DECIDE_TOKEN;
        }
        wrongTokens.recordAndDelay(request.ip());
        throw ProblemDetails.of(401, "the token is wrong", INVALID_TOKEN).exception();
    }

    /**
     * Returns the author of a change, from the name of the token and the header, and the reason.
     *
     * @throws ProblemDetails.ProblemException with 400 if a header is invalid
     */
    public static ChangeAuthor changedBy(Context request) {
        return changedBy(
                request, AUTHOR_HEADER, text(request, AUTHOR_HEADER), REASON_HEADER, text(request, REASON_HEADER));
    }

    /**
     * Returns the author of a change, from the name of the token and the body, and the reason from the body.
     *
     * @throws ProblemDetails.ProblemException with 400 if one is invalid
     */
    public static ChangeAuthor changedBy(Context request, Optional<String> author, Optional<String> reason) {
        return changedBy(request, "author", author, "reason", reason);
    }

    private static ChangeAuthor changedBy(
            Context request, String authorField, Optional<String> said, String reasonField, Optional<String> reason) {
        String tokenName = String.valueOf((Object) request.attribute(TOKEN_NAME));
        if (said.filter(name -> name.matches(".*[()].*")).isPresent()) { // could imitate the name of a token
            throw ProblemDetails.of(400, authorField + " must not contain parentheses")
                    .exception();
        }
        Optional<String> author = tokenName.isEmpty()
                ? said
                : Optional.of(said.map(name -> name + " (" + tokenName + ")").orElse(tokenName));
        try {
            return new ChangeAuthor(author, reason);
        } catch (IllegalArgumentException e) {
            throw ProblemDetails.of(400, authorField + ", " + reasonField + ": " + e.getMessage())
                    .exception();
        }
    }

    private static Optional<String> text(Context request, String header) {
        return Optional.ofNullable(request.header(header))
                .filter(text -> !text.isBlank())
                .map(HeaderText::of);
    }

    private static String name(String host) {
        Matcher parts = HOST.matcher(host.toLowerCase(Locale.ROOT));
        return parts.matches() ? parts.group(1) : "";
    }
}
