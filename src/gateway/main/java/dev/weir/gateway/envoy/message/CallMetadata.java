package dev.weir.gateway.envoy.message;

import com.google.protobuf.ByteString;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.gateway.envoy.mapping.RequestAnswer;
import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The dynamic metadata of a call, for access logs and further filters: the fields of each descriptor, and at the top
 * those of the descriptor that explains the code.
 *
 * <pre>
 *   {domain: "edge", code: "OVER_LIMIT", policy: "per-client", version: 3, reason: "LIMIT_EXCEEDED", …,
 *    descriptors: [{code: "OK", policy: …}, {code: "OVER_LIMIT", policy: "per-client", …}]}
 * </pre>
 */
// The fields are encoded once and copied to both places. With objects of protobuf, a response took as long to make as
// its call took to read and decide.
final class CallMetadata {

    private static final StructWriter.Key CODE = new StructWriter.Key("code");
    private static final StructWriter.Key DELAY_MS = new StructWriter.Key("delay_ms");
    private static final StructWriter.Key DESCRIPTORS = new StructWriter.Key("descriptors");
    private static final StructWriter.Key DOMAIN = new StructWriter.Key("domain");
    private static final StructWriter.Key FALLBACK = new StructWriter.Key("fallback");
    private static final StructWriter.Key HTTP_STATUS = new StructWriter.Key("http_status");
    private static final StructWriter.Key LIMIT = new StructWriter.Key("limit");
    private static final StructWriter.Key OBSERVED = new StructWriter.Key("observed");
    private static final StructWriter.Key OBSERVED_BY = new StructWriter.Key("observed_by");
    private static final StructWriter.Key OUTCOME = new StructWriter.Key("outcome");
    private static final StructWriter.Key POLICY = new StructWriter.Key("policy");
    private static final StructWriter.Key REASON = new StructWriter.Key("reason");
    private static final StructWriter.Key REMAINING = new StructWriter.Key("remaining");
    private static final StructWriter.Key REPEATED = new StructWriter.Key("repeated");
    private static final StructWriter.Key RETRY_AFTER_MS = new StructWriter.Key("retry_after_ms");
    private static final StructWriter.Key SHADOW_BANNED = new StructWriter.Key("shadow_banned");
    private static final StructWriter.Key VERSION = new StructWriter.Key("version");

    /** The names of constants, which are in each response. */
    private static final Map<Enum<?>, byte[]> NAMES = Stream.<Enum<?>[]>of(
                    Code.values(), Outcome.values(), Reason.values(), NoDecisionReason.values())
            .flatMap(Stream::of)
            .collect(Collectors.toUnmodifiableMap(Function.identity(), constant -> StructWriter.utf8(constant.name())));

    private CallMetadata() {}

    /** Returns the {@link com.google.protobuf.Struct} as bytes. */
    static ByteString of(RateLimitCall call, Code code, List<RequestAnswer> answers) {
        RequestAnswer explaining = explaining(answers);
        StructWriter metadata = new StructWriter();
        StructWriter descriptors = new StructWriter();
        for (RequestAnswer answer : answers) {
            StructWriter fields = fields(answer);
            if (answer == explaining) {
                metadata.fields(fields);
            }
            Code own = answer.isOverLimit() ? Code.OVER_LIMIT : Code.OK;
            StructWriter descriptor =
                    new StructWriter().text(CODE, NAMES.get(own)).fields(fields);
            for (int i = 0; i < answer.request().size(); i++) {
                descriptors.element(descriptor);
            }
        }
        return metadata.text(DOMAIN, call.domain())
                .text(CODE, NAMES.get(code))
                .list(DESCRIPTORS, descriptors)
                .bytes();
    }

    /** Returns the first answer that is over the limit; if there is none, the one with the least remaining. */
    private static RequestAnswer explaining(List<RequestAnswer> answers) {
        RequestAnswer least = answers.get(0);
        for (RequestAnswer answer : answers) {
            if (answer.isOverLimit()) {
                return answer;
            }
            if (remaining(answer) < remaining(least)) {
                least = answer;
            }
        }
        return least;
    }

    private static long remaining(RequestAnswer answer) {
        return answer.hasLimit() ? answer.weir().orElseThrow().remaining() : Long.MAX_VALUE;
    }

    /** Returns the fields of an answer, without its code. */
    private static StructWriter fields(RequestAnswer answer) {
        StructWriter fields = new StructWriter();
        answer.fallback().ifPresent(why -> fields.text(FALLBACK, NAMES.get(why)));
        answer.weir().ifPresent(decision -> write(decision, fields));
        return fields;
    }

    private static void write(Decision decision, StructWriter fields) {
        fields.text(OUTCOME, NAMES.get(decision.outcome()))
                .text(REASON, NAMES.get(decision.reason()))
                .number(HTTP_STATUS, decision.httpStatus());
        if (decision.policy() != null) {
            fields.text(POLICY, decision.policyId()).number(VERSION, decision.policyVersion());
        }
        if (decision.bindingLimit() != null) {
            fields.text(LIMIT, decision.limitedBy());
        }
        if (decision.remaining() != null) {
            fields.number(REMAINING, decision.remaining());
        }
        if (decision.retryAfterMs() != null) {
            fields.number(RETRY_AFTER_MS, decision.retryAfterMs());
        }
        if (decision.delayMs() != null) {
            fields.number(DELAY_MS, decision.delayMs());
        }
        if (decision.observed()) {
            fields.isTrue(OBSERVED).text(OBSERVED_BY, String.join(",", decision.observedBy()));
        }
        if (decision.shadowBanned()) {
            fields.isTrue(SHADOW_BANNED);
        }
        if (decision.repeated()) {
            fields.isTrue(REPEATED);
        }
    }
}
