package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.testing.SampleDecisions;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The answer to a proxy for each kind of decision. */
class AuthorizationTest {

    private static final Request REQUEST = RequestBuilder.of("alice").build();

    private static ClientDecision decision(Outcome outcome, int status, Long retryAfterMs, Long delayMs) {
        return SampleDecisions.of(new Decision(
                Decision.Identity.of(REQUEST),
                new Decision.Status(outcome, Reason.LIMIT_EXCEEDED, status),
                new Decision.Timing(0, retryAfterMs, delayMs)));
    }

    private static Authorization of(ClientDecision decision) {
        return Authorization.of(decision, OriginalRequest.X_FORWARDED, XRateLimitFields.NONE);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            ALLOWED, 200, 200
            DENIED,  429, 429
            DENIED,  503, 503
            DENIED,  413, 413
            DENIED,  200, 403
            QUEUED,  202, 403
            EXPIRED, 503, 503
            """)
    void only_an_allowed_request_gets_200(Outcome outcome, int status, int forProxy) {
        Authorization answer = of(decision(outcome, status, null, null));
        assertThat(answer.passes()).isEqualTo(outcome == Outcome.ALLOWED);
        assertThat(answer.status()).isEqualTo(status);
        assertThat(answer.statusForProxy(Optional.empty())).isEqualTo(forProxy);
        assertThat(answer.statusForProxy(Optional.of(401))).isEqualTo(outcome == Outcome.ALLOWED ? 200 : 401);
    }

    /** Envoy would pass the request, since it takes 5xx for a failure of the gateway. */
    @ParameterizedTest
    @CsvSource(textBlock = """
            ALLOWED, 200, 200
            DENIED,  429, 429
            DENIED,  413, 413
            DENIED,  200, 403
            QUEUED,  202, 403
            DENIED,  500, 429
            DENIED,  503, 429
            EXPIRED, 503, 429
            """)
    void a_proxy_that_sends_the_call_itself_gets_no_5xx(Outcome outcome, int status, int forProxy) {
        Authorization answer =
                Authorization.of(decision(outcome, status, 1_000L, null), OriginalRequest.CALL, XRateLimitFields.NONE);
        assertThat(answer.statusForProxy(Optional.empty())).isEqualTo(forProxy);
        ClientDecision fallback = SampleDecisions.fallback(false, NoDecisionReason.TIMED_OUT);
        assertThat(Authorization.of(fallback, OriginalRequest.CALL, XRateLimitFields.NONE)
                        .statusForProxy(Optional.empty()))
                .isEqualTo(429);
    }

    @Test
    void the_older_fields_are_added_if_they_are_selected() {
        Authorization answer = Authorization.of(
                SampleDecisions.of(SampleDecisions.denied(REQUEST)),
                OriginalRequest.X_FORWARDED,
                XRateLimitFields.DELTA_SECONDS);
        assertThat(answer.headers())
                .containsEntry("RateLimit-Policy", "\"p\";q=10;w=60")
                .containsEntry("X-RateLimit-Limit", "10")
                .containsEntry("X-RateLimit-Remaining", "0")
                .containsEntry("X-RateLimit-Reset", "60");
    }

    @Test
    void a_delay_is_kept_up_to_its_maximum_and_denied_beyond() {
        Authorization kept = of(decision(Outcome.ALLOWED, 200, 0L, 20_000L));
        assertThat(kept.passes()).isTrue();
        assertThat(kept.delay()).isEqualTo(Duration.ofSeconds(20));
        Authorization tooLong = of(decision(Outcome.ALLOWED, 200, 0L, 20_001L));
        assertThat(tooLong.passes()).isFalse();
        assertThat(tooLong.status()).isEqualTo(429);
        assertThat(tooLong.headers()).containsEntry("Retry-After", "21");
    }

    @Test
    void an_answer_of_the_fallback_is_marked() {
        ClientDecision allowed = SampleDecisions.fallback(true, NoDecisionReason.CIRCUIT_OPEN);
        assertThat(of(allowed).status()).isEqualTo(200);
        assertThat(of(allowed).headers()).containsEntry("X-Weir-Fallback", "CIRCUIT_OPEN");
        ClientDecision denied = SampleDecisions.fallback(false, NoDecisionReason.TIMED_OUT);
        assertThat(of(denied).status()).isEqualTo(503);
        assertThat(of(denied).headers()).containsEntry("X-Weir-Fallback", "TIMED_OUT");
    }

    @Test
    void a_retry_time_is_passed_on() {
        assertThat(of(decision(Outcome.DENIED, 429, 1_500L, null)).headers()).containsEntry("Retry-After", "2");
    }
}
