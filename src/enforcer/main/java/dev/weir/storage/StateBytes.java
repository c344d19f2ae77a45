package dev.weir.storage;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads and writes the numbers of a state: seven bits a byte, lowest first, the highest bit telling that more follow.
 */
public final class StateBytes {

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final int LONGEST_NUMBER = 10;

    private byte[] bytes;
    private int position;
    private final int end; // of what is to be read

    private StateBytes(byte[] bytes, int end) {
        this.bytes = bytes;
        this.end = end;
    }

    /** Begins with a version. */
    static StateBytes toWrite(int version) {
        StateBytes out = new StateBytes(new byte[64], 0);
        out.writeByte(version);
        return out;
    }

    /**
     * To read what is behind the version.
     *
     * @throws IllegalStateException if {@code what} is of another one
     */
    static StateBytes toRead(byte[] bytes, int version, String what) {
        return toRead(bytes, bytes.length, version, what);
    }

    /** As {@link #toRead(byte[], int, String)}, from the first bytes of an array. */
    static StateBytes toRead(byte[] bytes, int length, int version, String what) {
        StateBytes in = new StateBytes(bytes, length);
        int found = in.readByte();
        if (found != version) {
            throw new IllegalStateException(what + " is of version " + found + ", not " + version);
        }
        return in;
    }

    byte[] written() {
        return Arrays.copyOf(bytes, position);
    }

    void writeByte(int value) {
        reserve(1);
        bytes[position++] = (byte) value;
    }

    private void reserve(int length) {
        if (length > bytes.length - position) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, position + length));
        }
    }

    boolean hasMore() {
        return position < end;
    }

    int readByte() {
        if (position >= end) {
            throw new IllegalStateException("a state ends after " + position + " bytes");
        }
        return bytes[position++];
    }

    /** Bytes, their number before them. */
    void write(byte[] some) {
        write(some.length);
        reserve(some.length);
        System.arraycopy(some, 0, bytes, position, some.length);
        position += some.length;
    }

    byte[] readBytes() {
        long length = read();
        if (length < 0 || length > end - position) {
            throw new IllegalStateException("a state ends within " + length + " bytes at " + position);
        }
        position += (int) length;
        return Arrays.copyOfRange(bytes, position - (int) length, position);
    }

    void write(String text) {
        write(text.getBytes(StandardCharsets.UTF_8));
    }

    String readText() {
        return new String(readBytes(), StandardCharsets.UTF_8);
    }

    /** Eight bytes, highest first, at a fixed place: can be read without what stands before. */
    void writeFixed(long value) {
        reserve(Long.BYTES);
        LONG.set(bytes, position, value);
        position += Long.BYTES;
    }

    long readFixed() {
        if (end - position < Long.BYTES) {
            throw new IllegalStateException("a state ends after " + end + " bytes");
        }
        position += Long.BYTES;
        return (long) LONG.get(bytes, position - Long.BYTES);
    }

    /** A number that is mostly small and not negative. */
    void write(long value) {
        reserve(LONGEST_NUMBER);
        int to = position;
        long rest = value;
        for (; (rest & ~0x7FL) != 0; rest >>>= 7) {
            bytes[to++] = (byte) (rest | 0x80);
        }
        bytes[to++] = (byte) rest;
        position = to;
    }

    long read() {
        long value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            int next = readByte();
            value |= (next & 0x7FL) << shift;
            if (next >= 0) {
                return value;
            }
        }
        throw new IllegalStateException("a number has more than ten bytes");
    }

    /** A number that is mostly near zero, of either sign. */
    void writeSigned(long value) {
        write(value << 1 ^ value >> 63);
    }

    long readSigned() {
        long value = read();
        return value >>> 1 ^ -(value & 1);
    }
}
