package dev.weir.gateway.envoy.message;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.RateLimitHeaders;
import dev.weir.event.Decision;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.gateway.envoy.mapping.RequestAnswer;
import dev.weir.gateway.envoy.proto.HeaderValue;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitResponse.DescriptorStatus;
import dev.weir.gateway.envoy.proto.RateLimitResponse.RateLimit;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Builds responses.
 *
 * <p>The call is over the limit if a request without a quota is over its limit, or if all requests with a quota are over
 * theirs.
 */
public final class ResponseBuilder {

    /** The header with the reasons why Weir has not decided, for the response and for the request. */
    static final String FALLBACK_HEADER = "x-weir-fallback";

    private static final String RETRY_AFTER = "Retry-After";
    private static final long MAX_UINT32 = 0xFFFF_FFFFL;
    private static final int NANOS_PER_MS = 1_000_000;
    private static final int MS_PER_SECOND = 1_000;

    private final ResponseContents contents;

    public ResponseBuilder(ResponseContents contents) {
        this.contents = contents;
    }

    /** @param answers the answers to all requests of the call, in the order of its descriptors */
    public EncodedResponse build(RateLimitCall call, List<RequestAnswer> answers) {
        Code code = isOverLimit(answers) ? Code.OVER_LIMIT : Code.OK;
        RateLimitResponse.Builder response = RateLimitResponse.newBuilder().setOverallCode(code);
        for (RequestAnswer answer : answers) {
            DescriptorStatus status = status(answer);
            for (int i = 0; i < answer.request().size(); i++) {
                response.addStatuses(status);
            }
        }
        if (contents.hasHeaders()) {
            addHeaders(response, code, answers);
        }
        addFallbacks(response, answers);
        if (code == Code.OVER_LIMIT && !contents.overLimitBody().isEmpty()) {
            response.setRawBody(ByteString.copyFromUtf8(contents.overLimitBody()));
        }
        ByteString metadata = contents.hasMetadata() ? CallMetadata.of(call, code, answers) : ByteString.EMPTY;
        return new EncodedResponse(response.build(), metadata);
    }

    private static boolean isOverLimit(List<RequestAnswer> answers) {
        int quotas = 0;
        int exceededQuotas = 0;
        for (RequestAnswer answer : answers) {
            if (answer.request().mapping().isQuota()) {
                quotas++;
                exceededQuotas += answer.isOverLimit() ? 1 : 0;
            } else if (answer.isOverLimit()) {
                return true;
            }
        }
        return quotas > 0 && quotas == exceededQuotas;
    }

    private static DescriptorStatus status(RequestAnswer answer) {
        DescriptorStatus.Builder status =
                DescriptorStatus.newBuilder().setCode(answer.isOverLimit() ? Code.OVER_LIMIT : Code.OK);
        if (answer.hasLimit()) {
            Decision decision = answer.weir().orElseThrow();
            status.setCurrentLimit(RateLimit.newBuilder()
                            .setName(decision.policyId())
                            .setRequestsPerUnit(uint32(decision.limit()))
                            .setUnit(LimitUnit.of(decision.limitedBy(), decision.windowMs())))
                    .setLimitRemaining(uint32(decision.remaining()));
            if (decision.resetAfterMs() != null) {
                status.setDurationUntilReset(duration(decision.resetAfterMs()));
            }
        } else if (answer.isUnlimited()) {
            status.setLimitRemaining(uint32(MAX_UINT32));
        }
        return status.build();
    }

    /** Returns the bits of an unsigned number, of the largest one if the value is larger. */
    private static int uint32(long value) {
        return (int) Math.max(0, Math.min(MAX_UINT32, value));
    }

    private static Duration duration(long ms) {
        return Duration.newBuilder()
                .setSeconds(ms / MS_PER_SECOND)
                .setNanos((int) (ms % MS_PER_SECOND) * NANOS_PER_MS)
                .build();
    }

    /** Adds the headers of the response to the client. It must not retry a request that passes. */
    private void addHeaders(RateLimitResponse.Builder response, Code code, List<RequestAnswer> answers) {
        List<Decision> decisions = new ArrayList<>(answers.size());
        for (RequestAnswer answer : answers) {
            answer.weir().ifPresent(decisions::add);
        }
        RateLimitHeaders.of(decisions, contents.olderHeaders()).forEach((name, value) -> {
            if (code == Code.OVER_LIMIT || !name.equals(RETRY_AFTER)) {
                response.addResponseHeadersToAdd(header(name.toLowerCase(Locale.ROOT), value));
            }
        });
    }

    private static void addFallbacks(RateLimitResponse.Builder response, List<RequestAnswer> answers) {
        Set<String> names = new LinkedHashSet<>();
        for (RequestAnswer answer : answers) {
            answer.fallback().map(NoDecisionReason::name).ifPresent(names::add);
        }
        if (names.isEmpty()) {
            return;
        }
        String reasons = String.join(", ", names);
        response.addResponseHeadersToAdd(header(FALLBACK_HEADER, reasons))
                .addRequestHeadersToAdd(header(FALLBACK_HEADER, reasons));
    }

    private static HeaderValue header(String name, String value) {
        return HeaderValue.newBuilder().setKey(name).setValue(value).build();
    }
}
