package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Blocked;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Cases from the tests and documents of other rate limiters; {@code vectors/NOTICE.md} lists their sources. */
class VectorsTest {

    private static final List<String> FAMILIES = List.of(
            "fixed-window",
            "gcra",
            "leaky-bucket-meter",
            "multi-limit",
            "sliding-window-counter",
            "sliding-window-log",
            "token-bucket");

    static Stream<Named<JsonNode>> cases() throws IOException {
        List<Named<JsonNode>> cases = new ArrayList<>();
        for (String family : FAMILIES) {
            try (InputStream file = VectorsTest.class.getResourceAsStream("/vectors/" + family + ".json")) {
                new ObjectMapper()
                        .readTree(file)
                        .get("cases")
                        .forEach(one -> cases.add(Named.of(one.get("id").asText(), one)));
            }
        }
        return cases.stream();
    }

    @Test
    void there_are_ninety_nine() throws IOException {
        assertThat(cases()).hasSize(99);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void decides_as_its_source_does(JsonNode one) {
        PolicyTable policies = PolicyTable.of(List.of(policy(one.get("limits"))));
        MapStates states = new MapStates();
        List<Decision> decisions = new ArrayList<>();
        for (JsonNode request : one.get("requests")) {
            decisions.add((Decision) Decider.local(states).decide(request(request), policies));
        }
        SoftAssertions.assertSoftly(softly -> {
            for (int i = 0; i < one.get("expect").size(); i++) {
                assertSays(decisions.get(i), one.get("expect").get(i), i, softly);
            }
            for (JsonNode count : one.get("counts")) {
                long allowed = decisions
                        .subList(count.get("from").asInt(), count.get("to").asInt())
                        .stream()
                        .filter(decision -> decision.outcome() == Outcome.ALLOWED)
                        .count();
                softly.assertThat(allowed)
                        .as("allowed of %s", count)
                        .isBetween(count.get("min").asLong(), count.get("max").asLong());
            }
        });
    }

    private static void assertSays(Decision decision, JsonNode expected, int step, SoftAssertions softly) {
        expected.properties().forEach(field -> {
            Object said =
                    switch (field.getKey()) {
                        case "outcome" -> decision.outcome().name();
                        case "remaining" -> decision.remaining();
                        case "retryAfterMs" -> decision.retryAfterMs();
                        case "resetAfterMs" -> decision.resetAfterMs();
                        default -> throw new IllegalArgumentException(field.getKey());
                    };
            JsonNode value = field.getValue();
            Object wanted = value.isNull() ? null : value.isTextual() ? value.asText() : (Object) value.asLong();
            softly.assertThat(said)
                    .as("%s of step %d at %d", field.getKey(), step, decision.decidedAtMs())
                    .isEqualTo(wanted);
        });
    }

    private static Request request(JsonNode node) {
        return Request.builder(
                        node.get("requestId").asText(), node.get("client").asText())
                .kind(RequestKind.valueOf(node.get("kind").asText()))
                .cost(node.get("cost").asLong())
                .timestampMs(node.get("timestamp").asLong())
                .source(0, 0)
                .build();
    }

    private static Policy policy(JsonNode limits) {
        List<Limit<?>> all = new ArrayList<>();
        limits.forEach(limit -> all.add(limit(limit)));
        return Samples.policy("vector", all.toArray(Limit<?>[]::new));
    }

    private static Limit<?> limit(JsonNode node) {
        long limit = node.get("limit").asLong();
        long perMs = DurationsAndSizes.durationMs(node.get("per").asText());
        long burst = node.path("burst").asLong(limit);
        boolean countDenied = node.path("count-denied").asBoolean();
        if (limit == 0) {
            return new Blocked();
        }
        return switch (node.get("algorithm").asText()) {
            case "fixed-window" -> new FixedWindow(limit, perMs, countDenied);
            case "sliding-window-log" -> new SlidingWindowLog(limit, perMs, countDenied);
            case "sliding-window-counter" ->
                new SlidingWindowCounter(limit, perMs, node.path("strict").asBoolean(), countDenied);
            case "token-bucket" ->
                node.path("refill").asText().equals("interval")
                        ? new IntervalBucket(limit, perMs, burst, countDenied)
                        : new TokenBucket(Rate.of(limit, perMs), burst, countDenied);
            case "leaky-bucket" -> new LeakyBucket(Rate.of(limit, perMs), burst, countDenied);
            case "gcra" -> new Gcra(Rate.of(limit, perMs), burst, countDenied);
            default -> throw new IllegalArgumentException(node.toString());
        };
    }
}
