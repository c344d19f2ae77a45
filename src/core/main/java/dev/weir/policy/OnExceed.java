package dev.weir.policy;

/** What a policy does with a request that exceeds its limits. */
public sealed interface OnExceed {

    OnExceed DENY = new Deny(429);
    OnExceed SHADOW_BAN = new ShadowBan();
    OnExceed OBSERVE = new Observe();

    /**
     * Denies the request.
     *
     * @param httpStatus the status for a gateway to respond with: 429 or 503
     */
    record Deny(int httpStatus) implements OnExceed {

        /** @throws IllegalArgumentException if the status is not 429 or 503 */
        public Deny {
            if (httpStatus != 429 && httpStatus != 503) {
                throw new IllegalArgumentException("deny-status must be 429 or 503, is " + httpStatus);
            }
        }
    }

    /** Denies the request while the gateway responds as if it were allowed. */
    record ShadowBan() implements OnExceed {}

    /** Allows the request and marks the decision as one that would have been a denial. */
    record Observe() implements OnExceed {}

    /**
     * Allows the request with a delay that the caller must keep before it proceeds.
     *
     * @param maxDelayMs the longest delay, 1 to {@value #MAX_DELAY_MS} ms; a request that needs a longer one is denied
     */
    record Throttle(long maxDelayMs) implements OnExceed {

        /** One day. */
        public static final long MAX_DELAY_MS = 86_400_000;

        /** @throws IllegalArgumentException if the delay is out of its range */
        public Throttle {
            if (maxDelayMs < 1 || maxDelayMs > MAX_DELAY_MS) {
                throw new IllegalArgumentException(
                        "max-delay must be 1ms to 1d, is " + DurationsAndSizes.duration(maxDelayMs));
            }
        }
    }

    /**
     * Sends the request to a queue, which releases it later.
     *
     * @param queue the id of the queue
     */
    record Shape(String queue) implements OnExceed {

        /** @throws IllegalArgumentException if {@code queue} is not a valid id */
        public Shape {
            Policy.requireName("queue", queue);
        }
    }
}
