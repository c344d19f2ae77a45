package dev.weir.gateway.envoy.mapping;

/**
 * The bounds of calls.
 *
 * @param maxDescriptors the most descriptors of a call
 * @param maxEntries the most entries of a descriptor or, if the call is merged, of all its descriptors
 * @param maxMessageBytes the largest message
 * @param maxCalls the most calls at the same time
 */
public record CallBounds(int maxDescriptors, int maxEntries, int maxMessageBytes, int maxCalls) {

    /** The bounds without a configuration. */
    public static final CallBounds DEFAULTS = new CallBounds(32, 32, 1 << 20, 10_000);
}
