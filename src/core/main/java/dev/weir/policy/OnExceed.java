package dev.weir.policy;

/** What a policy does with a request that exceeds its limits. */
public sealed interface OnExceed {

    OnExceed DENY = new Deny(429);
    OnExceed SHADOW_BAN = new ShadowBan();
    OnExceed OBSERVE = new Observe();

    /**
     * Denied, and told so.
     *
     * @param httpStatus what a gateway answers: 429 or 503
     */
    record Deny(int httpStatus) implements OnExceed {

        /** @throws IllegalArgumentException if the status is another */
        public Deny {
            if (httpStatus != 429 && httpStatus != 503) {
                throw new IllegalArgumentException("deny-status must be 429 or 503, is " + httpStatus);
            }
        }
    }

    /** Denied, while the outside is to be told that all is well. */
    record ShadowBan() implements OnExceed {}

    /** Allowed, with a note that it would have been denied. */
    record Observe() implements OnExceed {}

    /**
     * Allowed, with the time by which the caller is to put it off.
     *
     * @param maxDelayMs the longest such time, 1 ms to {@value #MAX_DELAY_MS}; what would have to wait longer is denied
     */
    record Throttle(long maxDelayMs) implements OnExceed {

        /** A day. */
        public static final long MAX_DELAY_MS = 86_400_000;

        /** @throws IllegalArgumentException if the delay is out of its range */
        public Throttle {
            if (maxDelayMs < 1 || maxDelayMs > MAX_DELAY_MS) {
                throw new IllegalArgumentException("max-delay must be 1ms to 1d, is " + maxDelayMs + "ms");
            }
        }
    }

    /**
     * Sent to a queue, which releases it later.
     *
     * @param queue its id
     */
    record Shape(String queue) implements OnExceed {

        /** @throws IllegalArgumentException if the id is none */
        public Shape {
            Policy.requireName("queue", queue);
        }
    }
}
