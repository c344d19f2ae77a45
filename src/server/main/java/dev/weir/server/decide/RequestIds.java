package dev.weir.server.decide;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Creates ids of requests that no other instance creates: 128 random bits that are the same for all ids of an instance,
 * and a number. That takes less time than a random UUID for each. Thread-safe.
 */
public final class RequestIds {

    private static final int RANDOM_BYTES = 16;

    private final String prefix;
    private final AtomicLong numbers = new AtomicLong();

    /**
     * Creates an instance.
     *
     * @param kind what the ids begin with
     */
    public RequestIds(String kind) {
        byte[] random = new byte[RANDOM_BYTES];
        new SecureRandom().nextBytes(random);
        prefix = kind + "-" + HexFormat.of().formatHex(random) + "-";
    }

    /** Returns the next id. */
    public String next() {
        return prefix + numbers.incrementAndGet();
    }
}
