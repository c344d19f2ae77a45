package dev.weir.storage;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.UUID;

/**
 * A record that a shaping task sends to its own partition of {@code weir.admissions} to measure the broker's time; see
 * {@link dev.weir.shape.QueueClock}. It has no key, unlike admissions.
 *
 * @param task a random id of the task that sent it; a task gets a new id when it is opened
 * @param sentMs when it was sent, by the clock of that task
 * @param partition the partition of {@code weir.admissions}
 */
public record QueueMarker(UUID task, long sentMs, int partition) {

    /** The first byte. It differs from those of the messages of {@link SlotCodec}. */
    private static final byte VERSION = 0;

    private static final int BYTES = 1 + 3 * Long.BYTES;

    /** Returns the value of the record. */
    public byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .put(VERSION)
                .putLong(task.getMostSignificantBits())
                .putLong(task.getLeastSignificantBits())
                .putLong(sentMs)
                .array();
    }

    /** Decodes a record; returns empty if it is not a marker. */
    public static Optional<QueueMarker> read(byte[] key, byte[] value, int partition) {
        if (key != null || value == null || value.length != BYTES || value[0] != VERSION) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(value, 1, BYTES - 1);
        return Optional.of(new QueueMarker(new UUID(in.getLong(), in.getLong()), in.getLong(), partition));
    }
}
