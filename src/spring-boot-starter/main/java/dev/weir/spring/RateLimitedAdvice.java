package dev.weir.spring;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/**
 * Makes the responses of controllers whose call Weir did not allow: the status and the {@code RateLimit} fields of the
 * decision, with a problem detail (RFC 9457). Without a decision the status is 503. A shadow-banned client gets 200
 * with an empty body. Its order is 0: to handle the exceptions in another way, declare an advice with a lower order, or
 * a bean of this type.
 */
@ControllerAdvice
@Order(0)
public class RateLimitedAdvice {

    private final XRateLimitFields olderFields;

    /**
     * Creates an advice.
     *
     * @param olderFields which older rate-limit fields are added
     */
    public RateLimitedAdvice(XRateLimitFields olderFields) {
        this.olderFields = olderFields;
    }

    /**
     * Makes the response to a call that was not allowed.
     *
     * @param failure the exception
     * @return the response
     */
    @ExceptionHandler
    public ResponseEntity<ProblemDetail> limited(RateLimitedException failure) {
        ClientDecision answer = failure.decision();
        HttpHeaders headers = new HttpHeaders();
        answer.httpHeaders(olderFields).forEach(headers::set);
        ResponseEntity.BodyBuilder response =
                ResponseEntity.status(answer.httpStatus()).headers(headers);
        return answer.decision().map(Decision::shadowBanned).orElse(false)
                ? response.build()
                : response.body(ProblemDetail.forStatus(answer.httpStatus()));
    }

    /**
     * Makes the response to a call without a decision.
     *
     * @param failure the exception
     * @return the response, with status 503
     */
    @ExceptionHandler
    public ResponseEntity<ProblemDetail> undecided(NoDecisionException failure) {
        return ResponseEntity.of(ProblemDetail.forStatus(HttpStatus.SERVICE_UNAVAILABLE))
                .build();
    }
}
