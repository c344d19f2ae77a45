package dev.weir.failure.load;

import java.time.Instant;
import java.util.List;
import java.util.Random;

/**
 * The policies of a run: every algorithm and every {@code on-exceed} action, with limits that {@link FailureWorkload}
 * exceeds at some thousand requests a second, and a series of changes that depends only on a seed.
 *
 * <p>A change must reach every instance before its {@code effective-from}; otherwise the decisions cannot be
 * recomputed. Apply it some seconds ahead, or more if instances are paused. A policy keeps its last eight versions for
 * partitions that lag, so no more changes of one policy may be pending.
 */
public final class FailurePolicies {

    /** The policies and queues to apply before the first request. */
    public static final String INITIAL = """
            policies:
              - id: free
                match: {tier: free}
                limits: [{algorithm: token-bucket, limit: 20, per: 1s, burst: 40}]
              - id: academic
                match: {tier: academic}
                limits: [{algorithm: gcra, limit: 70, per: 11s, burst: 15}]
              - id: commercial
                match: {tier: commercial}
                limits:
                  - {algorithm: sliding-window-log, limit: 40, per: 4s}
                  - {algorithm: leaky-bucket, limit: 12, per: 1s, burst: 15}
              - id: gold
                match: {tier: gold}
                limits: [{algorithm: sliding-window-counter, limit: 90, per: 3s}]
              - id: platinum
                match: {tier: platinum}
                limits: [{algorithm: leaky-bucket, limit: 30, per: 1s, burst: 60}]
              - id: staff
                match: {tier: staff}
                limits: [{unlimited: true}]
              - id: seats
                match: {tier: held}
                limits: [{algorithm: concurrency, limit: 6, ttl: 3s}]
              - id: held-tokens
                layer: held
                match: {endpoint: /held/tokens}
                limits: [{algorithm: token-bucket, limit: 1, per: 1s, burst: 4}]
              - id: held-budget
                layer: held
                match: {endpoint: /held/budget}
                limits: [{algorithm: fixed-window, limit: 5, per: 4s}]
              - id: held-log
                layer: held
                match: {endpoint: /held/log}
                limits: [{algorithm: sliding-window-log, limit: 5, per: 4s}]
              - id: held-gcra
                layer: held
                match: {endpoint: /held/gcra}
                limits: [{algorithm: gcra, limit: 1, per: 1s, burst: 4}]
              - id: steps
                layer: calls
                match: {endpoint: "/steps/**"}
                limits: [{algorithm: token-bucket, limit: 15, per: 2s, burst: 25, refill: interval}]
              - id: hammered
                layer: calls
                match: {endpoint: "/hammered/**"}
                limits: [{algorithm: sliding-window-log, limit: 12, per: 2s, count-denied: true}]
                deny-status: 503
              - id: pages
                layer: calls
                match: {endpoint: "/pages/**"}
                key: [client, endpoint]
                limits: [{algorithm: sliding-window-counter, limit: 10, per: 2s, strict: true}]
                allow-override: true
                max-size: 64KiB
              - id: payments
                layer: calls
                match: {endpoint: /payments}
                limits: [{algorithm: fixed-window, limit: 15, per: 5s}]
                allow-override: true
                idempotency: 10m
              - id: exports
                layer: calls
                match: {endpoint: /exports}
                limits: [{algorithm: gcra, limit: 10, per: 1s, burst: 5}]
                on-exceed: throttle
                max-delay: 2s
              - id: trial
                layer: trial
                match: {endpoint: ["/pages/**", "/images/**"]}
                limits: [{algorithm: sliding-window-log, limit: 8, per: 1s}]
                on-exceed: observe
              - id: robots
                layer: trial
                match: {client: "robot-*", endpoint: "/calls/**"}
                limits: [{algorithm: token-bucket, limit: 3, per: 1s}]
                on-exceed: shadow-ban
              - {id: sms, layer: queues, match: {endpoint: /sms}, queue: sms, idempotency: 10m}
              - id: mail
                layer: queues
                match: {endpoint: /mail}
                limits: [{algorithm: token-bucket, limit: 3, per: 1s, burst: 5}]
                on-exceed: shape
                queue: mail
              - id: images
                layer: queues
                match: {endpoint: /images}
                limits: [{algorithm: fixed-window, limit: 2, per: 1s}]
                on-exceed: shape
                queue: images
            queues:
              - id: sms
                limit: 150
                per: 1s
                burst: 3
                capacity: 100
                max-wait: 20s
                tiers:
                  platinum: {priority: 1}
                  gold: {weight: 4}
              - {id: mail, limit: 20, per: 1s, capacity: 60, max-wait: 2s, tiers: {platinum: {priority: 1}}}
              - {id: images, key: [client], limit: 3, per: 1s, capacity: 5, max-wait: 2s, total: {limit: 20, per: 1s}}
            """;

    /**
     * Shared limits that the load exceeds. No other limit counts their requests, because decisions by a shared limit
     * cannot be recomputed from the log of one partition. All requests of two of them reserve.
     */
    public static final String SHARED = """
            policies:
              - id: crowd
                layer: crowd
                match: {tier: staff, endpoint: "/calls/**"}
                key: []
                limits: [{algorithm: sliding-window-log, limit: 8, per: 4s}]
              - id: held-crowd
                layer: crowd
                match: {endpoint: /held/crowd}
                key: []
                limits: [{algorithm: sliding-window-log, limit: 30, per: 4s}]
              - id: crowd-seats
                layer: crowd
                match: {endpoint: /held/seats}
                key: []
                limits: [{algorithm: concurrency, limit: 12, ttl: 3s}]
            """;

    /** The keys of the queue of {@link #JOBS}. */
    public static final List<String> POOLS = List.of("a", "b", "c");

    /** A queue whose workers acknowledge releases. All keys together have fewer slots than the sum of theirs. */
    public static final String JOBS = """
            policies:
              - {id: jobs, layer: queues, match: {endpoint: /jobs}, queue: jobs}
            queues:
              - id: jobs
                key: [pool]
                max-in-flight: 3
                max-in-flight-per-client: 2
                ack-timeout: 10s
                max-duration: 20s
                max-attempts: 3
                retry-backoff: 200ms
                capacity: 30
                total: {max-in-flight: 5}
                tiers:
                  gold: {priority: 1, max-in-flight: 2}
            """;

    /** The definitions of changed policies. They are formatted with two numbers, the second of which is greater. */
    private static final List<String> CHANGED = List.of(
            "id: free, match: {tier: free}, limits: [{algorithm: token-bucket, limit: %1$d, per: 1s, burst: %2$d}]",
            "id: academic, match: {tier: academic}, limits: [{algorithm: gcra, limit: %1$d, per: 3s, burst: %2$d}]",
            "id: commercial, match: {tier: commercial}, limits: [{algorithm: sliding-window-log, limit: %2$d, per: 3s},"
                    + " {algorithm: leaky-bucket, limit: %1$d, per: 1s}]",
            "id: gold, match: {tier: gold}, limits: [{algorithm: sliding-window-counter, limit: %2$d, per: 3s}]",
            "id: gold, match: {tier: gold}, limits: [{algorithm: fixed-window, limit: %2$d, per: 2s}]",
            "id: platinum, match: {tier: platinum}, limits: [{algorithm: leaky-bucket, limit: %1$d, per: 1s, burst: %2$d}]",
            "id: exports, layer: calls, match: {endpoint: /exports}, on-exceed: throttle, max-delay: 1s,"
                    + " limits: [{algorithm: gcra, limit: %1$d, per: 2s, burst: 3}]",
            "id: payments, layer: calls, match: {endpoint: /payments}, idempotency: 10m, allow-override: true,"
                    + " limits: [{algorithm: fixed-window, limit: %1$d, per: 5s}]");

    private static final String SEATS =
            "id: seats, match: {tier: held}, limits: [{algorithm: concurrency, limit: %d, ttl: 3s}]";

    private final Random random;
    private final Random ofSeats;

    public FailurePolicies(long seed) {
        random = new Random(seed);
        ofSeats = new Random(~seed);
    }

    /**
     * Returns the next change: a policy file with a policy, and one of a limit of concurrency, that take effect at {@code
     * effectiveFromMs}, ms since the epoch.
     */
    public String next(long effectiveFromMs) {
        int low = 5 + random.nextInt(30);
        int high = low + 5 + random.nextInt(60);
        String policy = CHANGED.get(random.nextInt(CHANGED.size())).formatted(low, high);
        String seats = SEATS.formatted(3 + ofSeats.nextInt(6));
        String from = ", effective-from: " + Instant.ofEpochMilli(effectiveFromMs) + "}";
        return "policies: [{" + policy + from + ", {" + seats + from + "]\n";
    }
}
