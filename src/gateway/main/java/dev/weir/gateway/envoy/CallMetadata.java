package dev.weir.gateway.envoy;

import com.google.protobuf.ListValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import dev.weir.client.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
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
final class CallMetadata {

    private static final Value TRUE = Value.newBuilder().setBoolValue(true).build();

    /** The names of constants, which are in each response. */
    private static final Map<Enum<?>, Value> NAMES = Stream.<Enum<?>[]>of(
                    Code.values(), Outcome.values(), Reason.values(), NoDecisionReason.values())
            .flatMap(Stream::of)
            .collect(Collectors.toUnmodifiableMap(Function.identity(), constant -> text(constant.name())));

    private CallMetadata() {}

    static Struct of(RateLimitCall call, Code code, List<RequestAnswer> answers) {
        RequestAnswer explaining = explaining(answers);
        Struct.Builder metadata = Struct.newBuilder();
        ListValue.Builder descriptors = ListValue.newBuilder();
        for (RequestAnswer answer : answers) {
            Struct fields = fields(answer);
            if (answer == explaining) {
                metadata.putAllFields(fields.getFieldsMap());
            }
            Value value = Value.newBuilder().setStructValue(fields).build();
            for (int i = 0; i < answer.request().size(); i++) {
                descriptors.addValues(value);
            }
        }
        return metadata.putFields("domain", text(call.domain()))
                .putFields("code", name(code))
                .putFields(
                        "descriptors",
                        Value.newBuilder().setListValue(descriptors).build())
                .build();
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

    private static Struct fields(RequestAnswer answer) {
        Struct.Builder fields =
                Struct.newBuilder().putFields("code", name(answer.isOverLimit() ? Code.OVER_LIMIT : Code.OK));
        answer.fallback().ifPresent(why -> fields.putFields("fallback", name(why)));
        answer.weir().ifPresent(decision -> put(fields, decision));
        return fields.build();
    }

    private static void put(Struct.Builder fields, Decision decision) {
        fields.putFields("outcome", name(decision.outcome()))
                .putFields("reason", name(decision.reason()))
                .putFields("http_status", number(decision.httpStatus()));
        if (decision.policy() != null) {
            fields.putFields("policy", text(decision.policyId()))
                    .putFields("version", number(decision.policyVersion()));
        }
        if (decision.bindingLimit() != null) {
            fields.putFields("limit", text(decision.limitedBy()));
        }
        if (decision.remaining() != null) {
            fields.putFields("remaining", number(decision.remaining()));
        }
        if (decision.retryAfterMs() != null) {
            fields.putFields("retry_after_ms", number(decision.retryAfterMs()));
        }
        if (decision.delayMs() != null) {
            fields.putFields("delay_ms", number(decision.delayMs()));
        }
        if (decision.observed()) {
            fields.putFields("observed", TRUE);
        }
        if (decision.shadowBanned()) {
            fields.putFields("shadow_banned", TRUE);
        }
        if (decision.repeated()) {
            fields.putFields("repeated", TRUE);
        }
    }

    private static Value name(Enum<?> constant) {
        return NAMES.get(constant);
    }

    private static Value text(String value) {
        return Value.newBuilder().setStringValue(value).build();
    }

    private static Value number(long value) {
        return Value.newBuilder().setNumberValue(value).build();
    }
}
