package dev.weir.shape.command;

import dev.weir.shape.command.QueueCommand.Origin;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The commands of operators that are in effect for a queue, or for one of its keys.
 *
 * @param paused the command because of which nothing is released
 * @param draining the command because of which nothing is admitted
 * @param isPurging whether requests of the queue, or of a key, are being purged
 * @param keys the number of keys with commands of their own
 * @param listed up to {@value #MAX_LISTED} of these keys
 */
public record OrdersView(
        Optional<Origin> paused, Optional<Origin> draining, boolean isPurging, long keys, List<KeyOrders> listed) {

    /** The most keys of a queue that may have commands of their own. */
    public static final int MAX_KEYS = 10_000;

    /** The most keys that are listed. */
    public static final int MAX_LISTED = 100;

    /** No commands. */
    public static final OrdersView NONE = new OrdersView(Optional.empty(), Optional.empty(), false, 0, List.of());

    /** The commands that are in effect for one key. */
    public record KeyOrders(Map<String, String> key, Optional<Origin> paused, Optional<Origin> draining) {

        public KeyOrders {
            key = Collections.unmodifiableMap(new TreeMap<>(key));
        }
    }

    /** Returns whether a command is in effect. */
    public boolean isAny() {
        return !equals(NONE);
    }

    public OrdersView mergedWith(OrdersView others) {
        return new OrdersView(
                paused.or(others::paused),
                draining.or(others::draining),
                isPurging || others.isPurging,
                keys + others.keys,
                Stream.concat(listed.stream(), others.listed.stream())
                        .limit(MAX_LISTED)
                        .toList());
    }
}
