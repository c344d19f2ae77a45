package dev.weir.codec;

import java.nio.ByteBuffer;

/**
 * A record that a task sends to its own partition of {@code weir.admissions} in order to learn the broker's time. It is no
 * request: nothing is decided or audited by it. Its value is a version and two numbers, big-endian, and is no Avro.
 *
 * @param partition where it goes; not part of the value
 * @param task a number that no other incarnation of a task has
 * @param number counts the markers of the task
 */
public record QueueMarker(int partition, long task, long number) {

    private static final short VERSION = 1; // Avro begins with 0xC3, JSON with '{'
    private static final int BYTES = Short.BYTES + 2 * Long.BYTES;

    public byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .putShort(VERSION)
                .putLong(task)
                .putLong(number)
                .array();
    }

    /** Whether the value of a record of {@code weir.admissions} is that of a marker. */
    public static boolean isMarker(byte[] value) {
        return value != null && value.length == BYTES && ByteBuffer.wrap(value).getShort() == VERSION;
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @param value one that {@linkplain #isMarker is a marker's}
     */
    public static QueueMarker decode(byte[] value, int partition) {
        ByteBuffer in = ByteBuffer.wrap(value, Short.BYTES, BYTES - Short.BYTES);
        return new QueueMarker(partition, in.getLong(), in.getLong());
    }
}
