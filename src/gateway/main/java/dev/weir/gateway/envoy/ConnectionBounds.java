package dev.weir.gateway.envoy;

/**
 * The bounds of connections.
 *
 * @param maxConnections the most connections
 * @param maxPerAddress the most connections of an address
 * @param maxCalls the most calls of a connection at the same time
 * @param maxResets how many streams of a connection may end in a second without a response: the caller resets them, lets
 *     their deadline pass or exceeds {@code maxCalls}. {@linkplain ResetBudget#answered Answered calls} permit as many
 *     more. Beyond that, the connection is closed
 */
public record ConnectionBounds(int maxConnections, int maxPerAddress, int maxCalls, int maxResets) {

    /** The bounds without a configuration. */
    public static final ConnectionBounds DEFAULTS = new ConnectionBounds(1_000, 500, 2_500, 200);

    /** Returns a copy with another number of connections. */
    public ConnectionBounds withMaxConnections(int other) {
        return new ConnectionBounds(other, maxPerAddress, maxCalls, maxResets);
    }
}
