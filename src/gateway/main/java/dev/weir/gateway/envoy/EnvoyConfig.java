package dev.weir.gateway.envoy;

import java.time.Duration;

/**
 * The configuration of the rate limit service.
 *
 * @param mapping how calls become requests
 * @param contents what responses contain
 * @param bounds the bounds of calls
 * @param threads the threads that run calls
 * @param drain the longest time to complete the calls in progress when the server is closed
 */
public record EnvoyConfig(
        EnvoyMapping mapping, ResponseContents contents, CallBounds bounds, int threads, Duration drain) {

    /** The configuration without a file. */
    public static final EnvoyConfig DEFAULTS = new EnvoyConfig(
            EnvoyMapping.DEFAULTS,
            ResponseContents.DEFAULTS,
            CallBounds.DEFAULTS,
            Math.max(2, Runtime.getRuntime().availableProcessors()),
            Duration.ofSeconds(5));

    /** Returns a copy with another mapping. */
    public EnvoyConfig withMapping(EnvoyMapping other) {
        return new EnvoyConfig(other, contents, bounds, threads, drain);
    }

    /** Returns a copy with other bounds. */
    public EnvoyConfig withBounds(CallBounds other) {
        return new EnvoyConfig(mapping, contents, other, threads, drain);
    }
}
