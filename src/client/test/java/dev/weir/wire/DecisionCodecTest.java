package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecisionCodecTest {

    private final DecisionCodec avro = new DecisionCodec();
    private final DecisionCodec json = new DecisionCodec(Optional.empty(), "decisions", OutputFormat.JSON);

    private static Long maybe(Random random) {
        return random.nextBoolean() ? null : (Long) random.nextLong(Long.MAX_VALUE);
    }

    private static <T> T maybe(Random random, T value) {
        return random.nextBoolean() ? null : value;
    }

    private static Decision decision(Random random) {
        return new Decision(
                new Decision.Identity(
                        "r\u202e" + random.nextInt(),
                        "żółw \"\n\uD83D\uDE00",
                        maybe(random, "złoto"),
                        new Request.Source(random.nextInt(9), random.nextLong(99))),
                new Decision.Status(
                        Outcome.values()[random.nextInt(Outcome.values().length)],
                        Reason.values()[random.nextInt(Reason.values().length)],
                        429,
                        random.nextBoolean(),
                        random.nextBoolean(),
                        random.nextBoolean(),
                        random.nextBoolean() ? List.of() : List.of("próba", "trial")),
                new Decision.Timing(random.nextLong(Long.MAX_VALUE), maybe(random), maybe(random), maybe(random)),
                new Decision.Explanation(
                        maybe(random, new PolicyVersion("p", 7)),
                        maybe(random, new LimitStatus("gcra 1/1s", 1L, maybe(random), maybe(random), maybe(random))),
                        Stream.generate(() -> new EnforcedLimit(
                                        "p" + random.nextInt(3),
                                        1 + random.nextInt(16),
                                        random.nextLong(Long.MAX_VALUE),
                                        maybe(random),
                                        maybe(random),
                                        maybe(random),
                                        maybe(random)))
                                .limit(random.nextInt(EnforcedLimit.MOST + 1))
                                .toList()),
                maybe(random, new Decision.Queueing("q", Map.of("a", "b", "", ""), maybe(random), maybe(random))),
                new DecisionContext(maybe(random, new DecisionOrder(random.nextLong(99) - 1, 3)), maybe(random)));
    }

    @Test
    void a_decision_survives_a_round_trip_in_each_format() throws UnreadableException {
        Random random = new Random(5);
        for (int i = 0; i < 500; i++) {
            Decision decision = decision(random);
            for (DecisionCodec codec : List.of(avro, json)) {
                assertThat(avro.decode(codec.encode(decision))).isEqualTo(decision);
                assertThat(json.decode(codec.encode(decision))).isEqualTo(decision);
            }
        }
    }

    @Test
    void json_is_one_object_without_a_line_feed() {
        String text = new String(json.encode(decision(new Random(1))), StandardCharsets.UTF_8);
        assertThat(text).startsWith("{\"requestId\":").endsWith("}").doesNotContain("\n");
    }

    @Test
    void a_value_of_a_later_version_is_read_unless_its_reason_is_unknown() throws UnreadableException {
        Decision decision = decision(new Random(1));
        String text = new String(json.encode(decision), StandardCharsets.UTF_8);
        assertThat(avro.decode(text.replaceFirst("[{]", "{\"later\":[1],").getBytes(StandardCharsets.UTF_8)))
                .isEqualTo(decision);
        byte[] unknown = text.replace(decision.reason().name(), "LATER").getBytes(StandardCharsets.UTF_8);
        assertThatThrownBy(() -> avro.decode(unknown))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.UNKNOWN_SCHEMA))
                .hasMessage("unknown reason, of a later version: LATER");
    }

    @ParameterizedTest
    @ValueSource(strings = {"observedBy", "limits", "tier", "policiesChecksum", "policyVersion"})
    void a_decision_in_json_without_a_field_is_rejected(String field) {
        String text = new String(json.encode(decision(new Random(1))), StandardCharsets.UTF_8);
        byte[] without = text.replace("\"" + field + "\"", "\"other\"").getBytes(StandardCharsets.UTF_8);
        assertThatThrownBy(() -> json.decode(without))
                .isInstanceOf(UnreadableException.class)
                .hasMessage(field + " is required");
    }

    @Test
    void a_decision_in_json_by_a_policy_of_no_version_is_rejected() {
        Random random = new Random(1);
        Decision decision = decision(random);
        while (decision.policyId() == null) {
            decision = decision(random);
        }
        String text = new String(json.encode(decision), StandardCharsets.UTF_8);
        byte[] without = text.replaceFirst("\"policyVersion\":[0-9]+", "\"policyVersion\":null")
                .getBytes(StandardCharsets.UTF_8);
        assertThatThrownBy(() -> json.decode(without))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.NOT_JSON))
                .hasMessage("policyId is " + decision.policyId() + ", but policyVersion is null");
    }
}
