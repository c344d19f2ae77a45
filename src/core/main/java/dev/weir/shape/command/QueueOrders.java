package dev.weir.shape.command;

import dev.weir.shape.command.QueueCommand.Origin;
import java.util.Optional;

/**
 * The commands that are in effect for a queue, or for one of its keys.
 *
 * @param paused the command because of which nothing is released
 * @param draining the command because of which nothing is admitted
 * @param purge the purge in progress
 */
public record QueueOrders(Optional<Origin> paused, Optional<Origin> draining, Optional<Purge> purge) {

    /** No commands. */
    public static final QueueOrders NONE = new QueueOrders(Optional.empty(), Optional.empty(), Optional.empty());

    /**
     * A purge in progress.
     *
     * @param below the number of the command: requests with a smaller one waited when it arrived
     */
    public record Purge(long below, Origin origin) {}

    /**
     * Returns these orders after a command.
     *
     * @param number the number of the command in the order of arrival, which requests and commands share
     */
    public QueueOrders after(QueueCommand command, long number) {
        Optional<Origin> origin = Optional.of(command.origin());
        return switch (command.action()) {
            case PAUSE -> new QueueOrders(origin, draining, purge);
            case DRAIN -> new QueueOrders(paused, origin, purge);
            case RESUME -> new QueueOrders(Optional.empty(), Optional.empty(), purge);
            case PURGE -> new QueueOrders(paused, draining, Optional.of(new Purge(number, command.origin())));
        };
    }

    /** Returns what is in effect if these orders and others are: of two purges, that of more requests. */
    public QueueOrders or(QueueOrders others) {
        boolean isMore = others.purge.isPresent()
                && (purge.isEmpty() || others.purge.get().below() > purge.get().below());
        return new QueueOrders(paused.or(others::paused), draining.or(others::draining), isMore ? others.purge : purge);
    }

    public QueueOrders withoutPurge() {
        return new QueueOrders(paused, draining, Optional.empty());
    }

    public boolean isEmpty() {
        return equals(NONE);
    }
}
