package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.weir.event.LimitOverride;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class RequestRulesTest {

    private static final String FACE = "\uD83D\uDE00";
    private static final String LONGEST = FACE.repeat(256);

    private final RequestRules rules = new RequestRules(0, 1, 3, 1);

    private static Request request(String id, String client, String tier, Map<String, String> attributes) {
        return Request.builder(id, client)
                .tier(tier)
                .attributes(attributes)
                .source(0, 0)
                .build();
    }

    @Test
    void lengths_are_counted_in_code_points() {
        Map<String, String> three = Map.of(FACE.repeat(3), FACE.repeat(3));
        assertThat(rules.check(request(LONGEST, LONGEST, LONGEST, three))).isEmpty();
        assertThat(rules.check(request(LONGEST + "x", "c", null, Map.of())))
                .hasValue(new RequestRules.Violation(
                        Rejection.REQUEST_ID_TOO_LONG, "requestId has 257 characters; the maximum is 256"));
        assertThat(rules.check(request("r", LONGEST + "x", null, Map.of())))
                .hasValueSatisfying(
                        violation -> assertThat(violation.rejection()).isEqualTo(Rejection.CLIENT_TOO_LONG));
        assertThat(rules.check(request("r", "c", LONGEST + "x", Map.of())))
                .hasValueSatisfying(
                        violation -> assertThat(violation.rejection()).isEqualTo(Rejection.TIER_TOO_LONG));
        assertThat(rules.check(request("r", "c", null, Map.of("a", FACE.repeat(4)))))
                .hasValue(new RequestRules.Violation(
                        Rejection.ATTRIBUTES_TOO_LARGE, "an attribute has 4 characters; the maximum is 3"));
    }

    private static final long LAST_MS = RequestRules.MAX_TIMESTAMP_MS;

    static List<Arguments> edges() {
        return List.of(
                arguments(with("c", "r", RequestKind.CONSUME, 0, 0L, 1, null, 0), null),
                arguments(with("c", "r", RequestKind.CONSUME, 5, null, 0, null, LAST_MS), null),
                arguments(with("c", "r", RequestKind.SETTLE, -5, null, 0, null, 0), null),
                arguments(with("c", "r", RequestKind.CANCEL, 0, null, 0, "sms", 0), null),
                arguments(with("c", "r", RequestKind.CANCEL, 0, null, 0, null, 0), null),
                arguments(with("c", "r", RequestKind.RELEASE, 0, null, 0, null, 0), null),
                arguments(with("c", "r", RequestKind.RELEASE, 0, null, 0, "sms", 0), Rejection.INVALID_QUEUE),
                arguments(with("c", "r", RequestKind.RENEW, 0, null, 0, "sms", 0), Rejection.INVALID_QUEUE),
                arguments(with("", "r", RequestKind.CONSUME, 1, null, 0, null, 0), Rejection.NO_CLIENT),
                arguments(with("c", "", RequestKind.CONSUME, 1, null, 0, null, 0), Rejection.NO_REQUEST_ID),
                arguments(with("c", "r", RequestKind.CONSUME, -1, null, 0, null, 0), Rejection.NEGATIVE_COST),
                arguments(with("c", "r", RequestKind.CONSUME, 6, null, 0, null, 0), Rejection.COST_TOO_LARGE),
                arguments(with("c", "r", RequestKind.SETTLE, -6, null, 0, null, 0), Rejection.COST_TOO_LARGE),
                arguments(with("c", "r", RequestKind.CONSUME, 1, -1L, 0, null, 0), Rejection.NEGATIVE_SIZE),
                arguments(with("c", "r", RequestKind.CONSUME, 1, null, 2, null, 0), Rejection.PAYLOAD_TOO_LARGE),
                arguments(with("c", "r", RequestKind.CONSUME, 1, null, 0, null, -1), Rejection.TIMESTAMP_OUT_OF_RANGE),
                arguments(
                        with("c", "r", RequestKind.CONSUME, 1, null, 0, null, LAST_MS + 1),
                        Rejection.TIMESTAMP_OUT_OF_RANGE),
                arguments(with("c", "r", RequestKind.CANCEL, 0, null, 0, "", 0), Rejection.INVALID_QUEUE));
    }

    @ParameterizedTest
    @MethodSource("edges")
    void a_value_at_its_bound_is_accepted_and_one_beyond_it_is_rejected_by_name(Request request, Rejection rejection) {
        assertThat(new RequestRules(1, 1, 3, 5).check(request).map(RequestRules.Violation::rejection))
                .isEqualTo(Optional.ofNullable(rejection));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 1,",
        "1152921504606846976, 2305843009213693952,",
        "-1, 1, 'limitOverride.limit must be 0 to 1152921504606846976, is -1'",
        "1152921504606846977, 1, 'limitOverride.limit must be 0 to 1152921504606846976, is 1152921504606846977'",
        "5, 0, 'limitOverride.windowMs must be 1 to 2305843009213693952, is 0'",
        "5, 2305843009213693953, 'limitOverride.windowMs must be 1 to 2305843009213693952, is 2305843009213693953'"
    })
    void an_override_is_bounded_like_the_limits_of_policies(long limit, long windowMs, String fault) {
        Request request = request("r", "c", null, Map.of()).withLimitOverride(new LimitOverride(limit, windowMs));
        assertThat(rules.check(request))
                .isEqualTo(Optional.ofNullable(fault)
                        .map(detail -> new RequestRules.Violation(Rejection.INVALID_LIMIT_OVERRIDE, detail)));
    }

    @ParameterizedTest
    @CsvSource({
        "RESET, per-minute,",
        "RESET, 'per minute', 'policyId must be 1 to 128 letters, digits or . _ -, is ''per minute'''",
        "RESET, '', 'policyId must be 1 to 128 letters, digits or . _ -, is '''''",
        "CONSUME, per-minute, 'policyId is for requests of the kind RESET, this is a CONSUME'",
        "PEEK, per-minute, 'policyId is for requests of the kind RESET, this is a PEEK'"
    })
    void only_a_reset_names_a_policy(RequestKind kind, String policyId, String fault) {
        Request request = request("r", "c", null, Map.of()).withKind(kind).withPolicyId(policyId);
        assertThat(rules.check(request))
                .isEqualTo(Optional.ofNullable(fault)
                        .map(detail -> new RequestRules.Violation(Rejection.INVALID_POLICY_ID, detail)));
    }

    @ParameterizedTest
    @CsvSource({
        "CONSUME, 1, ,",
        "CONSUME, 2592000000, ,",
        "PEEK, 1, ,",
        "SETTLE, , r1,",
        "CONSUME, 0, , 'reserve must be 1 to 2592000000 ms, is 0'",
        "CONSUME, 2592000001, , 'reserve must be 1 to 2592000000 ms, is 2592000001'",
        "PEEK, -1, , 'reserve must be 1 to 2592000000 ms, is -1'",
        "SETTLE, 1, r1, 'reserve is for requests of the kind CONSUME, this is a SETTLE'",
        "CANCEL, 1, , 'reserve is for requests of the kind CONSUME, this is a CANCEL'",
        "RESET, 1, , 'reserve is for requests of the kind CONSUME, this is a RESET'",
        "RELEASE, 1, , 'reserve is for requests of the kind CONSUME, this is a RELEASE'",
        "RENEW, 1, , 'reserve is for requests of the kind CONSUME, this is a RENEW, which prolongs a reservation by its first duration'",
        "CONSUME, , r1, 'settles is for requests of the kind SETTLE, this is a CONSUME'",
        "PEEK, , r1, 'settles is for requests of the kind SETTLE, this is a PEEK'",
        "RESET, , r1, 'settles is for requests of the kind SETTLE, this is a RESET'",
        "CANCEL, , r1, 'settles is for requests of the kind SETTLE, this is a CANCEL: give the id of the reservation as requestId'",
        "RELEASE, , r1, 'settles is for requests of the kind SETTLE, this is a RELEASE: give the id of the reservation as requestId'",
        "RENEW, , r1, 'settles is for requests of the kind SETTLE, this is a RENEW: give the id of the reservation as requestId'",
        "SETTLE, , '', 'settles must be the requestId of the reservation, is empty'"
    })
    void only_a_consume_reserves_and_only_a_settle_settles(
            RequestKind kind, Long reserveMs, String settles, String fault) {
        Request request = Request.builder("r", "c")
                .kind(kind)
                .reserveMs(reserveMs)
                .settles(settles)
                .build();
        assertThat(rules.check(request))
                .isEqualTo(Optional.ofNullable(fault)
                        .map(detail -> new RequestRules.Violation(Rejection.INVALID_RESERVATION, detail)));
    }

    @ParameterizedTest
    @CsvSource({
        "CONSUME, 5,",
        "PEEK, 5,",
        "CONSUME, -9223372036854775808,",
        "CONSUME, 2592001000,",
        "CONSUME, 2592001001, 'notBefore must be at most 30 days after the timestamp, that is 2592001000 ms since 1970, is 2592001001'",
        "PEEK, 9223372036854775807, 'notBefore must be at most 30 days after the timestamp, that is 2592001000 ms since 1970, is 9223372036854775807'",
        "CANCEL, 5, 'notBefore is for requests of the kind CONSUME, this is a CANCEL'",
        "SETTLE, 5, 'notBefore is for requests of the kind CONSUME, this is a SETTLE'",
        "EXTEND, 5, 'notBefore is for requests of the kind CONSUME, this is a EXTEND'"
    })
    void only_a_consume_waits_for_a_time_up_to_30_days_ahead(RequestKind kind, long notBeforeMs, String fault) {
        Request request = Request.builder("r", "c")
                .kind(kind)
                .notBeforeMs(notBeforeMs)
                .timestampMs(1_000)
                .build();
        assertThat(rules.check(request))
                .isEqualTo(Optional.ofNullable(fault)
                        .map(detail -> new RequestRules.Violation(Rejection.INVALID_NOT_BEFORE, detail)));
    }

    @Test
    void the_id_of_a_settled_reservation_is_as_long_as_any() {
        Request settle = Request.builder("r", "c")
                .kind(RequestKind.SETTLE)
                .settles(LONGEST)
                .build();
        assertThat(rules.check(settle)).isEmpty();
        assertThat(rules.check(settle.toBuilder().settles(LONGEST + "x").build()))
                .hasValue(new RequestRules.Violation(
                        Rejection.INVALID_RESERVATION, "settles has 257 characters; the maximum is 256"));
        assertThat(rules.check(settle.toBuilder().queue("sms").build()))
                .hasValue(new RequestRules.Violation(
                        Rejection.INVALID_QUEUE,
                        "queue is for requests of the kind CANCEL, this is a SETTLE of a reservation"));
    }

    @Test
    void attributes_are_bounded_in_number() {
        assertThat(rules.check(request("r", "c", null, Map.of("a", "1", "b", "2"))))
                .hasValue(new RequestRules.Violation(Rejection.ATTRIBUTES_TOO_LARGE, "2 attributes; the maximum is 1"));
    }

    private static Request with(
            String client, String id, RequestKind kind, long cost, Long size, int payload, String queue, long atMs) {
        Request.Source source = new Request.Source(0, 0);
        return Request.builder(id, client)
                .kind(kind)
                .cost(cost)
                .sizeBytes(size)
                .payload(new byte[payload])
                .queue(queue)
                .timestampMs(atMs)
                .source(source)
                .build();
    }
}
