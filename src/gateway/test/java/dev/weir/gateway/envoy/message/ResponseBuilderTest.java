package dev.weir.gateway.envoy.message;

import static dev.weir.testing.SampleDecisions.allowed;
import static dev.weir.testing.SampleDecisions.decision;
import static dev.weir.testing.SampleDecisions.denied;
import static dev.weir.testing.SampleDecisions.tenAMinute;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import dev.weir.client.RequestBuilder;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;
import dev.weir.gateway.envoy.mapping.CallDescriptor;
import dev.weir.gateway.envoy.mapping.DescriptorEntry;
import dev.weir.gateway.envoy.mapping.DescriptorMapping;
import dev.weir.gateway.envoy.mapping.MappedRequest;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.gateway.envoy.mapping.RequestAnswer;
import dev.weir.gateway.envoy.proto.HeaderValue;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitResponse.DescriptorStatus;
import dev.weir.gateway.envoy.proto.RateLimitResponse.RateLimit.Unit;
import dev.weir.testing.SampleDecisions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ResponseBuilderTest {

    private static final long MAX_UINT32 = 4_294_967_295L;

    private static final DescriptorMapping QUOTA = mapping(true);

    private static DescriptorMapping mapping(boolean isQuota) {
        DescriptorMapping defaults = DescriptorMapping.DEFAULTS;
        return new DescriptorMapping(defaults.keys(), false, isQuota, defaults.timeout(), defaults.fallback());
    }

    private static RequestAnswer answer(DescriptorMapping mapping, int size, ClientDecision decision) {
        MappedRequest request = new MappedRequest(RequestBuilder.of("c").build(), 0, size, mapping);
        return RequestAnswer.of(request, decision, true);
    }

    private static RequestAnswer answer(Decision decision) {
        return answer(DescriptorMapping.DEFAULTS, 1, SampleDecisions.of(decision));
    }

    private static RateLimitResponse build(RequestAnswer... answers) {
        return build(ResponseContents.DEFAULTS, answers);
    }

    private static RateLimitResponse build(ResponseContents contents, RequestAnswer... answers) {
        List<CallDescriptor> descriptors = new ArrayList<>();
        for (RequestAnswer answer : answers) {
            for (int i = 0; i < answer.request().size(); i++) {
                descriptors.add(new CallDescriptor(List.of(new DescriptorEntry("a", "1")), 1, false));
            }
        }
        EncodedResponse response =
                new ResponseBuilder(contents).build(new RateLimitCall("edge", descriptors), List.of(answers));
        try {
            return RateLimitResponse.parseFrom(response.bytes());
        } catch (InvalidProtocolBufferException e) {
            throw new AssertionError(e);
        }
    }

    private static Map<String, String> headers(List<HeaderValue> headers) {
        return headers.stream().collect(Collectors.toMap(HeaderValue::getKey, HeaderValue::getValue));
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "gcra 10/1s, 1000, SECOND",
                "gcra 10/1m, 60000, MINUTE",
                "gcra 10/1h, 3600000, HOUR",
                "gcra 10/1d, 86400000, DAY",
                "gcra 10/7d, 604800000, WEEK",
                "gcra 10/30d, 2592000000, MONTH",
                "gcra 10/365d, 31536000000, YEAR",
                "gcra 10/10s, 10000, UNKNOWN",
                "gcra 10/31d, 2678400000, UNKNOWN",
                "gcra 10/1ms, 1, UNKNOWN",
                "token-bucket 0/1m, -, UNKNOWN",
                // calendar periods: a day with a change of the clocks, a long month
                "fixed-window 10/1 day Europe/Berlin, 82800000, DAY",
                "fixed-window 10/1 week UTC, 604800000, WEEK",
                "fixed-window 10/1 month UTC, 2678400000, MONTH"
            })
    void the_unit_is_that_of_the_window(String label, Long windowMs, Unit unit) {
        assertThat(LimitUnit.of(label, windowMs)).isEqualTo(unit);
    }

    @Test
    void an_allowed_descriptor_has_the_limit_and_what_remains() {
        DescriptorStatus status =
                build(answer(allowed("per-client", tenAMinute(7)))).getStatuses(0);
        assertThat(status.getCode()).isEqualTo(Code.OK);
        assertThat(status.getCurrentLimit().getName()).isEqualTo("per-client");
        assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(10);
        assertThat(status.getCurrentLimit().getUnit()).isEqualTo(Unit.MINUTE);
        assertThat(status.getLimitRemaining()).isEqualTo(7);
        assertThat(status.getDurationUntilReset())
                .isEqualTo(Duration.newBuilder()
                        .setSeconds(30)
                        .setNanos(250_000_000)
                        .build());
    }

    @Test
    void numbers_above_32_bits_are_the_largest_one() {
        LimitStatus huge = new LimitStatus("gcra", 1L << 60, 60_000L, 1L << 40, null);
        DescriptorStatus status = build(answer(allowed("p", huge))).getStatuses(0);
        assertThat(Integer.toUnsignedLong(status.getCurrentLimit().getRequestsPerUnit()))
                .isEqualTo(MAX_UINT32);
        assertThat(Integer.toUnsignedLong(status.getLimitRemaining())).isEqualTo(MAX_UINT32);
        assertThat(status.hasDurationUntilReset()).isFalse();
    }

    @Test
    void a_descriptor_without_policy_is_ok_without_limit_and_an_unlimited_one_has_all_remaining() {
        RateLimitResponse response = build(
                answer(decision(Outcome.ALLOWED, Reason.NO_POLICY, 200)), answer(allowed("unlimited-ldap", null)));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        DescriptorStatus none = response.getStatuses(0);
        assertThat(none)
                .isEqualTo(DescriptorStatus.newBuilder().setCode(Code.OK).build());
        DescriptorStatus unlimited = response.getStatuses(1);
        assertThat(unlimited.hasCurrentLimit()).isFalse();
        assertThat(Integer.toUnsignedLong(unlimited.getLimitRemaining())).isEqualTo(MAX_UINT32);
        assertThat(response.getResponseHeadersToAddList()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "ALLOWED, WITHIN_LIMITS, 200, false, false, OK",
        "DENIED, LIMIT_EXCEEDED, 429, false, false, OVER_LIMIT",
        "DENIED, QUOTA_NOT_AT_HAND, 429, false, false, OVER_LIMIT",
        "DENIED, COST_NEVER_FITS, 429, false, false, OVER_LIMIT",
        "DENIED, IDEMPOTENCY_MISMATCH, 422, false, false, OVER_LIMIT",
        "QUEUED, SHAPED, 202, false, false, OVER_LIMIT",
        "EXPIRED, WAITED_TOO_LONG, 503, false, false, OVER_LIMIT",
        // shadow mode: the limit is exceeded, but only observed
        "ALLOWED, LIMIT_EXCEEDED, 200, true, false, OK",
        "DENIED, LIMIT_EXCEEDED, 200, false, true, OVER_LIMIT"
    })
    void the_code_follows_the_outcome(
            Outcome outcome, Reason reason, int status, boolean observed, boolean banned, Code code) {
        Decision decision = decision(outcome, reason, status)
                .withStatus(new Decision.Status(outcome, reason, status, observed, banned, false))
                .withLimit(new PolicyVersion("p", 1), tenAMinute(0));
        RateLimitResponse response = build(answer(decision));
        assertThat(response.getStatuses(0).getCode()).isEqualTo(code);
        assertThat(response.getOverallCode()).isEqualTo(code);
        assertThat(response.getStatuses(0).getCurrentLimit().getName()).isEqualTo("p");
    }

    @Test
    void one_descriptor_over_the_limit_makes_the_call_over_the_limit_and_the_order_stays() {
        RateLimitResponse response = build(
                answer(allowed("a", tenAMinute(5))),
                answer(denied("b", tenAMinute(0))),
                answer(allowed("c", tenAMinute(6))));
        assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
        assertThat(response.getStatusesList())
                .extracting(DescriptorStatus::getCode)
                .containsExactly(Code.OK, Code.OVER_LIMIT, Code.OK);
        assertThat(response.getStatusesList())
                .extracting(status -> status.getCurrentLimit().getName())
                .containsExactly("a", "b", "c");
    }

    @ParameterizedTest
    @CsvSource({
        // descriptors: q has a quota, r is a rate limit; upper case is over the limit
        "q, OK",
        "Q, OVER_LIMIT",
        "qQ, OK",
        "QQ, OVER_LIMIT",
        "Qr, OVER_LIMIT",
        "qr, OK",
        "QqR, OVER_LIMIT",
        "qqr, OK"
    })
    void quotas_are_exceeded_together(String descriptors, Code code) {
        RequestAnswer[] answers = descriptors
                .chars()
                .mapToObj(each -> answer(
                        Character.toLowerCase(each) == 'q' ? QUOTA : DescriptorMapping.DEFAULTS,
                        1,
                        SampleDecisions.of(
                                Character.isUpperCase(each)
                                        ? denied("p", tenAMinute(0))
                                        : allowed("p", tenAMinute(1)))))
                .toArray(RequestAnswer[]::new);
        assertThat(build(answers).getOverallCode()).isEqualTo(code);
    }

    @Test
    void the_status_of_a_merged_call_is_repeated_for_each_descriptor() {
        RateLimitResponse response =
                build(answer(DescriptorMapping.DEFAULTS, 3, SampleDecisions.of(denied("p", tenAMinute(0)))));
        assertThat(response.getStatusesList()).hasSize(3).allMatch(status -> status.getCode() == Code.OVER_LIMIT);
        assertThat(response.getDynamicMetadata()
                        .getFieldsOrThrow("descriptors")
                        .getListValue()
                        .getValuesList())
                .hasSize(3);
    }

    @Test
    void a_denied_refund_does_not_reject_the_call() {
        MappedRequest refund = new MappedRequest(
                RequestBuilder.of("c").kind(RequestKind.SETTLE).cost(-3).build(), 0, 1, DescriptorMapping.DEFAULTS);
        Decision denied = decision(Outcome.DENIED, Reason.SHARED_LIMIT_REFUND, 429)
                .withLimit(new PolicyVersion("shared", 1), LimitStatus.of("refund", null));
        RateLimitResponse response = build(RequestAnswer.of(refund, SampleDecisions.of(denied), true));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        assertThat(response.getStatuses(0).hasCurrentLimit()).isFalse();
        assertThat(text(response.getDynamicMetadata(), "reason")).isEqualTo("SHARED_LIMIT_REFUND");
    }

    @Test
    void headers_list_each_policy_once() {
        RateLimitResponse response = build(
                answer(allowed("per-client", tenAMinute(7))),
                answer(denied("per-path", new LimitStatus("gcra 5/1s", 5L, 1_000L, 0L, 1_000L))),
                answer(allowed("per-client", tenAMinute(4))));
        assertThat(response.getResponseHeadersToAddList())
                .extracting(HeaderValue::getKey)
                .containsExactly("ratelimit-policy", "ratelimit", "retry-after");
        assertThat(headers(response.getResponseHeadersToAddList()))
                .containsEntry("ratelimit-policy", "\"per-client\";q=10;w=60, \"per-path\";q=5;w=1")
                .containsEntry("ratelimit", "\"per-client\";r=4;t=31, \"per-path\";r=0;t=1")
                .containsEntry("retry-after", "2");
        assertThat(response.getRequestHeadersToAddList()).isEmpty();
    }

    @Test
    void the_older_headers_are_those_of_the_limit_with_the_least_remaining() {
        RateLimitResponse response = build(
                ResponseContents.DEFAULTS.with(XRateLimitFields.DELTA_SECONDS),
                answer(allowed("per-client", tenAMinute(7))),
                answer(allowed("per-path", new LimitStatus("gcra 5/1s", 5L, 1_000L, 3L, 1_000L))));
        assertThat(headers(response.getResponseHeadersToAddList()))
                .containsEntry("x-ratelimit-limit", "5")
                .containsEntry("x-ratelimit-remaining", "3")
                .containsEntry("x-ratelimit-reset", "1");
    }

    @Test
    void a_call_that_passes_although_a_quota_is_exceeded_has_no_retry_time() {
        RateLimitResponse response = build(
                answer(QUOTA, 1, SampleDecisions.of(allowed("a", tenAMinute(1)))),
                answer(QUOTA, 1, SampleDecisions.of(denied("b", tenAMinute(0)))));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        assertThat(response.getResponseHeadersToAddList())
                .extracting(HeaderValue::getKey)
                .containsExactly("ratelimit-policy", "ratelimit");
    }

    @ParameterizedTest
    @CsvSource({"true, OK", "false, OVER_LIMIT"})
    void a_fallback_is_marked(boolean isAllowed, Code code) {
        RateLimitResponse response = build(
                answer(DescriptorMapping.DEFAULTS, 1, SampleDecisions.fallback(isAllowed, NoDecisionReason.TIMED_OUT)),
                answer(DescriptorMapping.DEFAULTS, 1, SampleDecisions.fallback(true, NoDecisionReason.CIRCUIT_OPEN)),
                answer(DescriptorMapping.DEFAULTS, 1, SampleDecisions.fallback(true, NoDecisionReason.TIMED_OUT)));
        assertThat(response.getOverallCode()).isEqualTo(code);
        assertThat(response.getStatuses(0).getCode()).isEqualTo(code);
        assertThat(response.getStatuses(0).hasCurrentLimit()).isFalse();
        assertThat(headers(response.getResponseHeadersToAddList()))
                .isEqualTo(Map.of("x-weir-fallback", "TIMED_OUT, CIRCUIT_OPEN"));
        assertThat(headers(response.getRequestHeadersToAddList()))
                .isEqualTo(Map.of("x-weir-fallback", "TIMED_OUT, CIRCUIT_OPEN"));
        assertThat(text(response.getDynamicMetadata(), "fallback")).isEqualTo("TIMED_OUT");
    }

    @Test
    void metadata_has_the_policy_and_reason_of_each_descriptor() {
        Decision observed = allowed("shadow", tenAMinute(0)).withObservedBy(List.of("soft", "trial"));
        Struct metadata = build(
                        answer(allowed("a", tenAMinute(5))),
                        answer(denied("b", tenAMinute(0))),
                        answer(observed),
                        answer(decision(Outcome.ALLOWED, Reason.NO_POLICY, 200)))
                .getDynamicMetadata();
        assertThat(text(metadata, "domain")).isEqualTo("edge");
        assertThat(text(metadata, "code")).isEqualTo("OVER_LIMIT");
        assertThat(text(metadata, "policy")).isEqualTo("b");
        assertThat(metadata.getFieldsOrThrow("version").getNumberValue()).isEqualTo(3);
        assertThat(text(metadata, "reason")).isEqualTo("LIMIT_EXCEEDED");
        assertThat(text(metadata, "limit")).isEqualTo("gcra 10/1m");
        assertThat(metadata.getFieldsOrThrow("retry_after_ms").getNumberValue()).isEqualTo(1_500);
        List<Struct> each = metadata.getFieldsOrThrow("descriptors").getListValue().getValuesList().stream()
                .map(Value::getStructValue)
                .toList();
        assertThat(each).extracting(fields -> text(fields, "code")).containsExactly("OK", "OVER_LIMIT", "OK", "OK");
        assertThat(each)
                .extracting(fields -> text(fields, "reason"))
                .containsExactly("WITHIN_LIMITS", "LIMIT_EXCEEDED", "WITHIN_LIMITS", "NO_POLICY");
        assertThat(each.get(2).getFieldsOrThrow("observed").getBoolValue()).isTrue();
        assertThat(text(each.get(2), "observed_by")).isEqualTo("soft,trial");
        assertThat(each.get(3).containsFields("policy")).isFalse();
    }

    @Test
    void metadata_has_each_key_once() throws InvalidProtocolBufferException {
        RequestAnswer answer = answer(denied("überall", tenAMinute(0)));
        ByteString bytes = CallMetadata.of(
                new RateLimitCall("edge", List.of()),
                Code.OVER_LIMIT,
                List.of(answer, answer(allowed("a", tenAMinute(5)))));
        Struct parsed = Struct.parseFrom(bytes);
        assertThat(text(parsed, "policy")).isEqualTo("überall");
        assertThat(parsed.getSerializedSize())
                .as("duplicates would have been merged")
                .isEqualTo(bytes.size());
    }

    private static String text(Struct fields, String name) {
        return fields.getFieldsOrThrow(name).getStringValue();
    }

    @Test
    void headers_metadata_and_body_can_be_configured() {
        ResponseContents contents = new ResponseContents(false, XRateLimitFields.NONE, false, "slow down");
        RateLimitResponse denied = build(contents, answer(denied("p", tenAMinute(0))));
        assertThat(denied.getResponseHeadersToAddList()).isEmpty();
        assertThat(denied.hasDynamicMetadata()).isFalse();
        assertThat(denied.getRawBody().toStringUtf8()).isEqualTo("slow down");
        assertThat(build(contents, answer(allowed("p", tenAMinute(1))))
                        .getRawBody()
                        .isEmpty())
                .isTrue();
    }

    /** Law: there is a status for each descriptor, and the codes are consistent, also without quotas. */
    @Test
    void codes_and_statuses_are_consistent() {
        Random random = new Random(5);
        for (int round = 0; round < 1_000; round++) {
            List<RequestAnswer> answers = new ArrayList<>();
            int size = 1 + random.nextInt(5);
            for (int i = 0; i < size; i++) {
                ClientDecision decision =
                        switch (random.nextInt(4)) {
                            case 0 -> SampleDecisions.fallback(random.nextBoolean(), NoDecisionReason.NO_LEASE);
                            case 1 -> SampleDecisions.of(allowed("p" + i, tenAMinute(random.nextInt(10))));
                            case 2 -> SampleDecisions.of(denied("p" + i, tenAMinute(0)));
                            default -> SampleDecisions.of(decision(Outcome.ALLOWED, Reason.NO_POLICY, 200));
                        };
                answers.add(answer(DescriptorMapping.DEFAULTS, 1, decision));
            }
            RateLimitResponse response = build(answers.toArray(RequestAnswer[]::new));
            assertThat(response.getStatusesCount()).isEqualTo(size);
            boolean isOver = response.getStatusesList().stream().anyMatch(one -> one.getCode() == Code.OVER_LIMIT);
            assertThat(response.getOverallCode()).isEqualTo(isOver ? Code.OVER_LIMIT : Code.OK);
            for (int i = 0; i < size; i++) {
                DescriptorStatus status = response.getStatuses(i);
                assertThat(status.getCode() == Code.OK)
                        .isEqualTo(answers.get(i).decision().allowed());
                assertThat(status.hasCurrentLimit()).isEqualTo(answers.get(i).hasLimit());
            }
        }
    }
}
