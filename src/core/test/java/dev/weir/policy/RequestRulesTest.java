package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RequestRulesTest {

    private static final String FACE = "\uD83D\uDE00";
    private static final String LONGEST = FACE.repeat(256);

    private final RequestRules rules = new RequestRules(0, 1, 3, 1);

    private static Request request(String id, String client, String tier, Map<String, String> attributes) {
        return new Request(
                id,
                client,
                RequestKind.CONSUME,
                tier,
                1,
                null,
                attributes,
                null,
                null,
                null,
                0,
                new Request.Source(0, 0));
    }

    @Test
    void lengths_are_counted_in_code_points() {
        Map<String, String> three = Map.of(FACE.repeat(3), FACE.repeat(3));
        assertThat(rules.check(request(LONGEST, LONGEST, LONGEST, three))).isEmpty();
        assertThat(rules.check(request(LONGEST + "x", "c", null, Map.of())))
                .hasValue(new RequestRules.Violation(
                        Rejection.REQUEST_ID_TOO_LONG, "requestId has 257 characters, the most is 256"));
        assertThat(rules.check(request("r", LONGEST + "x", null, Map.of())))
                .hasValueSatisfying(
                        violation -> assertThat(violation.rejection()).isEqualTo(Rejection.CLIENT_TOO_LONG));
        assertThat(rules.check(request("r", "c", LONGEST + "x", Map.of())))
                .hasValueSatisfying(
                        violation -> assertThat(violation.rejection()).isEqualTo(Rejection.TIER_TOO_LONG));
        assertThat(rules.check(request("r", "c", null, Map.of("a", FACE.repeat(4)))))
                .hasValue(new RequestRules.Violation(
                        Rejection.ATTRIBUTES_TOO_LARGE, "an attribute has 4 characters, the most is 3"));
    }
}
