package dev.weir.storage;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.UUID;

/**
 * A record that a shaping task sends to its own partition of the admissions, to learn the broker's time: see {@link
 * dev.weir.shape.QueueClock}. It has no key, which every admission has.
 *
 * @param task the task that sent it, since it was opened
 * @param sentMs when, by the clock of that task
 * @param partition of the admissions
 */
public record QueueMarker(UUID task, long sentMs, int partition) {

    /** The first byte; those of {@link dev.weir.storage.SlotCodec}'s messages are others. */
    private static final byte VERSION = 0;

    private static final int BYTES = 1 + 3 * Long.BYTES;

    /** The value of the record. */
    public byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .put(VERSION)
                .putLong(task.getMostSignificantBits())
                .putLong(task.getLeastSignificantBits())
                .putLong(sentMs)
                .array();
    }

    /** Returns nothing if the record is no marker. */
    public static Optional<QueueMarker> read(byte[] key, byte[] value, int partition) {
        if (key != null || value == null || value.length != BYTES || value[0] != VERSION) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(value, 1, BYTES - 1);
        return Optional.of(new QueueMarker(new UUID(in.getLong(), in.getLong()), in.getLong(), partition));
    }
}
