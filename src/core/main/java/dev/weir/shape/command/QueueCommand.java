package dev.weir.shape.command;

import dev.weir.shape.rules.BucketId;
import java.util.Map;
import java.util.Optional;

/**
 * A command of an operator to a queue, or to one key of a queue.
 *
 * @param target the key; the bucket without key fields for the whole queue, with or without key fields
 */
public record QueueCommand(BucketId target, Action action, Origin origin) {

    /** What the queue is to do. */
    public enum Action {
        /** Release nothing. Requests are still admitted, and expire. */
        PAUSE,
        /** Admit nothing. Requests that wait are still released. */
        DRAIN,
        /** End a pause and a drain of the same target. */
        RESUME,
        /** End all requests that wait now. */
        PURGE
    }

    /**
     * Who sent a command, why and when.
     *
     * @param author empty if unknown
     * @param atMs by the clock of the sender, in milliseconds since the epoch
     */
    public record Origin(Optional<String> author, String reason, long atMs) {

        /** @throws IllegalArgumentException if the reason is blank */
        public Origin {
            if (reason.isBlank()) {
                throw new IllegalArgumentException("a command needs a reason");
            }
        }
    }

    /** Returns a command to a key, or to the whole queue if the key is empty. */
    public static QueueCommand of(String queue, Map<String, String> key, Action action, Origin origin) {
        return new QueueCommand(BucketId.of(queue, key), action, origin);
    }
}
