package dev.weir.gateway;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.server.decide.DecideApi;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The answer to a proxy that asks whether to pass a request on.
 *
 * @param status the status that the client should get; 200 exactly if the request may pass
 * @param headers the headers of the answer
 * @param detail why the request may not pass, for its sender; empty if it may
 * @param delay how long the request must be delayed before it passes
 */
record Authorization(int status, Map<String, String> headers, String detail, Duration delay) {

    /**
     * The header with the status that the client should get, if the request may not pass. Only proxies that set the
     * status for denials get it: others pass all headers on, and a client must not learn that it is banned without
     * notice.
     */
    static final String STATUS_HEADER = "X-Weir-Status";

    /** The header of an answer to a request that no policy matches. */
    static final String POLICY_HEADER = "X-Weir-Policy";

    /** Longer delays are not kept: the proxy would lose patience. */
    static final Duration MAX_DELAY = Duration.ofSeconds(20);

    static final int OK = 200;

    private static final int FORBIDDEN = 403;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int FIRST_ERROR = 400;
    private static final long MS_PER_SECOND = 1_000;
    private static final String RETRY_AFTER = "Retry-After";

    Authorization {
        headers = Collections.unmodifiableMap(headers);
    }

    /**
     * Returns the answer for a decision.
     *
     * @param original how the proxy that asks passes on requests
     * @param older which older rate-limit fields are added
     */
    static Authorization of(ClientDecision decision, OriginalRequest original, XRateLimitFields older) {
        Map<String, String> headers = headers(decision, older);
        if (!decision.allowed()) {
            return new Authorization(
                    original.denyStatus(decision.httpStatus()), headers, detail(decision), Duration.ZERO);
        }
        Duration delay =
                Duration.ofMillis(decision.decision().map(Decision::delayMs).orElse(0L));
        if (delay.compareTo(MAX_DELAY) > 0) {
            String seconds = Long.toString((delay.toMillis() + MS_PER_SECOND - 1) / MS_PER_SECOND);
            return new Authorization(
                    TOO_MANY_REQUESTS,
                    with(headers, RETRY_AFTER, seconds),
                    "the request would have to be delayed for too long",
                    Duration.ZERO);
        }
        return new Authorization(OK, headers, "", delay);
    }

    private static Map<String, String> headers(ClientDecision decision, XRateLimitFields older) {
        Map<String, String> headers = decision.httpHeaders(older);
        if (decision.decision().isEmpty()) {
            String reason = decision.noDecisionReason().orElseThrow().name();
            return with(headers, DecideApi.FALLBACK_HEADER, reason);
        }
        return decision.decision().get().reason() == Reason.NO_POLICY ? with(headers, POLICY_HEADER, "none") : headers;
    }

    private static Map<String, String> with(Map<String, String> headers, String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(headers);
        more.put(name, value);
        return more;
    }

    static Authorization refused(int status, String detail) {
        return new Authorization(status, Map.of(), detail, Duration.ZERO);
    }

    private static String detail(ClientDecision decision) {
        if (decision.noDecisionReason().filter(NoDecisionReason::isOverload).isPresent()) {
            return "too many requests wait for decisions";
        }
        return decision.httpStatus() == TOO_MANY_REQUESTS
                ? "too many requests"
                : decision.decision().isEmpty() ? "the limit could not be checked" : "the request was not accepted";
    }

    boolean passes() {
        return detail.isEmpty();
    }

    /**
     * Returns the status of the answer. Proxies pass a request on if it is 2xx. So a request that may not pass gets 403
     * if its client should get 2xx, because its policy bans it without notice or sends it to a queue.
     *
     * @param denyStatus the status for all requests that may not pass; empty for that of each
     */
    int statusForProxy(Optional<Integer> denyStatus) {
        if (passes()) {
            return OK;
        }
        return denyStatus.orElse(status < FIRST_ERROR ? FORBIDDEN : status);
    }
}
