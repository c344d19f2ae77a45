package dev.weir.spring.http;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import java.util.Map;
import java.util.concurrent.CompletionException;

/**
 * What a filter does with an HTTP request.
 *
 * @param passes whether the request is handled, after the delay; otherwise the filter responds with the status
 * @param delayMs the delay
 * @param status the status of the response
 * @param headers fields of the response
 */
record HttpVerdict(boolean passes, long delayMs, int status, Map<String, String> headers) {

    static final int BAD_REQUEST = 400;
    static final int UNAVAILABLE = 503;

    /** @param older which older rate-limit fields are added */
    static HttpVerdict of(ClientDecision answer, XRateLimitFields older) {
        Long delayMs = answer.decision().map(Decision::delayMs).orElse(null);
        return new HttpVerdict(
                answer.allowed(), delayMs == null ? 0 : delayMs, answer.httpStatus(), answer.httpHeaders(older));
    }

    /**
     * Returns the verdict if there is no decision: 400 for an invalid request, 503 if Weir did not decide.
     *
     * @throws RuntimeException the failure, if it is another one
     */
    static HttpVerdict of(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof IllegalArgumentException) {
            return refusal(BAD_REQUEST);
        }
        if (cause instanceof NoDecisionException) {
            return refusal(UNAVAILABLE);
        }
        throw cause instanceof RuntimeException unexpected ? unexpected : new IllegalStateException(cause);
    }

    static HttpVerdict refusal(int status) {
        return new HttpVerdict(false, 0, status, Map.of());
    }
}
