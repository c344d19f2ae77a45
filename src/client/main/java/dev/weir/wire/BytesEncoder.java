package dev.weir.wire;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

/**
 * An encoder of Avro's binary encoding, after a header, into a buffer that each thread reuses. A union is always that
 * of null and one other type.
 */
final class BytesEncoder {

    private static final ThreadLocal<BytesEncoder> OF_THREAD = ThreadLocal.withInitial(BytesEncoder::new);

    private static final int FIRST_LENGTH = 512;
    private static final int MAX_KEPT_LENGTH = 1 << 16;
    private static final int LONGEST_NUMBER = 10;

    private static final byte NULL = 0;
    private static final byte VALUE = 2;

    private byte[] bytes = new byte[FIRST_LENGTH];
    private int at;

    private BytesEncoder() {}

    /**
     * Begins a record with its header. A record that this thread has begun and not ended is lost, so encode nested
     * records before.
     */
    static BytesEncoder begin(byte[] header) {
        BytesEncoder out = OF_THREAD.get();
        System.arraycopy(header, 0, out.bytes, 0, header.length);
        out.at = header.length;
        return out;
    }

    /** Returns the complete record. */
    byte[] end() {
        byte[] record = Arrays.copyOf(bytes, at);
        if (bytes.length > MAX_KEPT_LENGTH) {
            bytes = new byte[FIRST_LENGTH];
        }
        return record;
    }

    void write(boolean value) {
        writeByte((byte) (value ? 1 : 0));
    }

    void write(long value) {
        reserve(LONGEST_NUMBER);
        long rest = value << 1 ^ value >> 63;
        int to = at;
        for (; (rest & ~0x7FL) != 0; rest >>>= 7) {
            bytes[to++] = (byte) (rest | 0x80);
        }
        bytes[to++] = (byte) rest;
        at = to;
    }

    void write(byte[] some) {
        write(some.length);
        reserve(some.length);
        System.arraycopy(some, 0, bytes, at, some.length);
        at += some.length;
    }

    void write(String text) {
        write(text.getBytes(StandardCharsets.UTF_8));
    }

    void write(Map<String, String> texts) {
        if (!texts.isEmpty()) {
            write(texts.size());
            texts.forEach((name, text) -> {
                write(name);
                write(text);
            });
        }
        writeEnd();
    }

    /** Writes the end of a list or map. */
    void writeEnd() {
        writeByte((byte) 0);
    }

    void writeOptional(Long value) {
        if (writePresent(value)) {
            write(value.longValue());
        }
    }

    void writeOptional(byte[] some) {
        if (writePresent(some)) {
            write(some);
        }
    }

    void writeOptional(String text) {
        if (writePresent(text)) {
            write(text);
        }
    }

    /** Writes the index of a union of null and another type. Returns whether the value must follow. */
    boolean writePresent(Object value) {
        writeByte(value == null ? NULL : VALUE);
        return value != null;
    }

    private void writeByte(byte value) {
        reserve(1);
        bytes[at++] = value;
    }

    private void reserve(int length) {
        if (length > bytes.length - at) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, at + length));
        }
    }
}
