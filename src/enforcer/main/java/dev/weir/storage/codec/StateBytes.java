package dev.weir.storage.codec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads and writes encoded states. Numbers are encoded as unsigned LEB128, as in Protocol Buffers: seven bits per byte,
 * lowest first, with the highest bit set if more bytes follow. Signed numbers are zigzag-encoded first.
 */
public final class StateBytes {

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final int LONGEST_NUMBER = 10;

    private byte[] bytes;
    private int position;
    private final int end; // of the encoded state

    private StateBytes(byte[] bytes, int end) {
        this.bytes = bytes;
        this.end = end;
    }

    /** Returns a writer and writes the version as the first byte. */
    static StateBytes toWrite(int version) {
        StateBytes out = new StateBytes(new byte[64], 0);
        out.writeByte(version);
        return out;
    }

    /**
     * Returns a reader that is positioned after the version.
     *
     * @param what the kind of state, for the message
     * @throws IllegalStateException if the bytes have another version
     */
    static StateBytes toRead(byte[] bytes, int version, String what) {
        return toRead(bytes, bytes.length, version, what);
    }

    /** Like {@link #toRead(byte[], int, String)}, for the first {@code length} bytes of an array. */
    static StateBytes toRead(byte[] bytes, int length, int version, String what) {
        StateBytes in = new StateBytes(bytes, length);
        int found = in.readByte();
        if (found != version) {
            throw new IllegalStateException(what + " has format version " + found + ", expected " + version);
        }
        return in;
    }

    /** Returns a reader of bytes without a version: a part of a state. */
    static StateBytes toRead(byte[] part) {
        return new StateBytes(part, part.length);
    }

    /** Returns a writer of a part of a state, without a version. */
    static StateBytes toWritePart() {
        return new StateBytes(new byte[64], 0);
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
            throw new IllegalStateException("a state ends unexpectedly after " + position + " bytes");
        }
        return bytes[position++];
    }

    /** Writes the number of bytes, then the bytes. */
    void write(byte[] some) {
        write(some.length);
        reserve(some.length);
        System.arraycopy(some, 0, bytes, position, some.length);
        position += some.length;
    }

    byte[] readBytes() {
        long length = read();
        if (length < 0 || length > end - position) {
            throw new IllegalStateException(
                    "a state ends unexpectedly within a value of " + length + " bytes at position " + position);
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

    /** Writes eight bytes in big-endian order. */
    void writeFixed(long value) {
        reserve(Long.BYTES);
        LONG.set(bytes, position, value);
        position += Long.BYTES;
    }

    long readFixed() {
        if (end - position < Long.BYTES) {
            throw new IllegalStateException("a state ends unexpectedly after " + end + " bytes");
        }
        position += Long.BYTES;
        return (long) LONG.get(bytes, position - Long.BYTES);
    }

    /** Writes a number in a form that is short for small numbers of 0 or more. */
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
        throw new IllegalStateException("a number has more than " + LONGEST_NUMBER + " bytes");
    }

    /** Writes a number in a form that is short for numbers near zero. */
    void writeSigned(long value) {
        write(value << 1 ^ value >> 63);
    }

    long readSigned() {
        long value = read();
        return value >>> 1 ^ -(value & 1);
    }
}
