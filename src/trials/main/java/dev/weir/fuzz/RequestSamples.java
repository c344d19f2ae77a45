package dev.weir.fuzz;

import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.Glob;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestRules;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** Valid requests, some with extreme values. */
final class RequestSamples {

    private static final long MAX_COST = 1_000_000_000_000L;
    private static final long[] COSTS = {0, 1, 1, 1, 2, 5, 1_000, MAX_COST};
    private static final long[] TIMES = {0, 1, 1_000, 60_000, 1_795_219_200_000L, RequestRules.MAX_TIMESTAMP_MS};
    private static final Long[] DEADLINES = {null, null, 0L, -1L, 2_000L, Long.MAX_VALUE, Long.MIN_VALUE};
    private static final List<RequestKind> KINDS = Stream.of(RequestKind.values())
            .filter(kind -> !kind.isAcknowledgement()) // which need the receipt of a release
            .toList();
    private static final Long[] RESERVE_TIMES = {null, null, null, 1L, 60_000L, Request.MAX_RESERVE_MS};
    private static final Long[] SIZES = {null, 0L, 1_000L, Long.MAX_VALUE};

    private RequestSamples() {}

    /** Returns a request that may match one of the policies. */
    static Request forAny(List<Policy> policies, SplittableRandom random) {
        Map<String, String> attributes = new HashMap<>(Map.of("endpoint", "/articles/7", "method", "GET"));
        if (!policies.isEmpty()) {
            Policy policy = policies.get(random.nextInt(policies.size()));
            policy.match().conditions().forEach((field, globs) -> {
                Glob glob = globs.get(random.nextInt(globs.size()));
                attributes.put(field, glob.literalPrefix() + (glob.isLiteral() ? "" : rest(glob, random)));
            });
        }
        String tier = attributes.remove("tier");
        String client = attributes.remove("client");
        return of(client == null || client.isEmpty() ? "alice" : client, tier, attributes, random);
    }

    /**
     * Returns a text for a wildcard; sometimes the letters of the pattern, repeated, with an end that does not match.
     */
    private static String rest(Glob glob, SplittableRandom random) {
        String letters = glob.toString().replaceAll("[*?\\\\]", "");
        return random.nextBoolean() || letters.isEmpty() ? "x" : letters.repeat(1 + 500 / letters.length()) + "\u0000";
    }

    static Request of(String client, String tier, Map<String, String> attributes, SplittableRandom random) {
        RequestKind kind = random.nextInt(4) > 0 ? RequestKind.CONSUME : KINDS.get(random.nextInt(KINDS.size()));
        long cost = COSTS[random.nextInt(COSTS.length)];
        String settles = kind == RequestKind.SETTLE && random.nextBoolean() ? "r" + random.nextInt(50) : null;
        boolean mayReserve = kind == RequestKind.CONSUME || kind == RequestKind.PEEK;
        return Request.builder("r" + random.nextInt(50), client)
                .kind(kind)
                .tier(tier)
                .cost(kind == RequestKind.SETTLE && settles == null && random.nextBoolean() ? -cost : cost)
                .sizeBytes(SIZES[random.nextInt(SIZES.length)])
                .attributes(attributes)
                .deadlineMs(DEADLINES[random.nextInt(DEADLINES.length)])
                .notBeforeMs(mayReserve && random.nextInt(4) == 0 ? DEADLINES[random.nextInt(DEADLINES.length)] : null)
                .payload(random.nextInt(4) == 0 ? new byte[] {1, 2, 3} : null)
                .queue(kind == RequestKind.CANCEL && random.nextBoolean() ? "sms" : null)
                .limitOverride(
                        random.nextInt(4) > 0 ? null : new LimitOverride(Math.abs(cost), 1 + random.nextLong(100_000)))
                .policyId(kind == RequestKind.RESET && random.nextBoolean() ? "p" + random.nextInt(3) : null)
                .reserveMs(mayReserve ? RESERVE_TIMES[random.nextInt(RESERVE_TIMES.length)] : null)
                .settles(settles)
                .timestampMs(TIMES[random.nextInt(TIMES.length)])
                .source(0, 7)
                .build();
    }
}
