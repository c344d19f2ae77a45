package dev.weir.failure.check;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.limit.LimitOracle;
import dev.weir.policy.DurationsAndSizes;
import java.util.ArrayList;
import java.util.List;

/**
 * A limit as written in a policy.
 *
 * @param algorithm the name of the algorithm, {@value #INTERVAL} with {@code refill: interval}, or {@value #UNLIMITED}
 * @param perMs the window in ms, 0 if there is none
 * @param overridable whether requests can bring another limit
 */
record PolicyTerms(
        String algorithm,
        long limit,
        long perMs,
        long burst,
        boolean strict,
        boolean countDenied,
        boolean overridable) {

    static final String UNLIMITED = "unlimited";
    static final String INTERVAL = "token-bucket interval";

    private static final ObjectMapper JSON = new ObjectMapper();

    /** Returns the limits of a policy definition. */
    static List<PolicyTerms> of(String definition) {
        try {
            List<PolicyTerms> limits = new ArrayList<>();
            JsonNode policy = JSON.readTree(definition);
            for (JsonNode limit : policy.path("limits")) {
                limits.add(read(limit, policy.path("allow-override").asBoolean()));
            }
            return limits;
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(definition, e);
        }
    }

    private static PolicyTerms read(JsonNode json, boolean overridable) {
        if (json.path("unlimited").asBoolean()) {
            return new PolicyTerms(UNLIMITED, Long.MAX_VALUE, 0, Long.MAX_VALUE, false, false, false);
        }
        if (json.has("timezone")) {
            throw new IllegalArgumentException("calendar windows are not supported here");
        }
        boolean interval = json.path("refill").asText().equals("interval");
        long limit = json.get("limit").asLong();
        return new PolicyTerms(
                interval ? INTERVAL : json.get("algorithm").asText(),
                limit,
                json.has("per") ? DurationsAndSizes.durationMs(json.get("per").asText()) : 0,
                json.path("burst").asLong(limit),
                json.path("strict").asBoolean(),
                json.path("count-denied").asBoolean(),
                overridable);
    }

    /** Returns the terms that decide a request, which can have a limit of its own. */
    PolicyTerms of(Request request) {
        LimitOverride override = request.limitOverride();
        return !overridable || override == null || override.windowMs() != perMs
                ? this
                : new PolicyTerms(algorithm, override.limit(), perMs, override.limit(), strict, countDenied, true);
    }

    /** Returns the exact usage of these terms from a time on. GCRA has the same usage as a bucket. */
    LimitOracle oracle(long atMs) {
        if (limit == 0) {
            return LimitOracle.log(0, 1);
        }
        LimitOracle oracle =
                switch (algorithm) {
                    case UNLIMITED -> LimitOracle.uncounted(limit);
                    case "fixed-window" -> LimitOracle.fixedWindow(limit, perMs);
                    case "sliding-window-log" -> LimitOracle.log(limit, perMs);
                    case "sliding-window-counter" -> LimitOracle.counter(limit, perMs, strict);
                    case "token-bucket", "leaky-bucket", "gcra" -> LimitOracle.bucket(limit, perMs, burst);
                    case INTERVAL -> LimitOracle.steps(limit, perMs, burst);
                    default -> throw new IllegalArgumentException("unknown algorithm: " + this);
                };
        oracle.open(atMs);
        return oracle;
    }

    /** Returns the maximum cost that fits at once. */
    long capacity() {
        boolean isWindow = algorithm.endsWith("window") || algorithm.startsWith("sliding-window");
        return isWindow ? limit : burst;
    }

    /** Returns whether usage counts: the limit is neither 0 nor unlimited. */
    boolean counts() {
        return limit > 0 && !algorithm.equals(UNLIMITED);
    }

    @Override
    public String toString() {
        return algorithm + " " + limit + "/" + perMs + "ms" + (burst == limit ? "" : " burst " + burst);
    }
}
