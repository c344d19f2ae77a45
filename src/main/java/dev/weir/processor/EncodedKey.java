package dev.weir.processor;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A key of a store, to be found in a table: hashed eight bytes at a time, and once. */
// Names are for callers to choose, who may make their hashes alike. So keys have an order, by which a HashMap finds
// them
// fast even then.
class EncodedKey implements Comparable<EncodedKey> {

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /** 2 to the power of 64, divided by the golden ratio. */
    private static final long FACTOR = 0x9E3779B97F4A7C15L;

    private final byte[] bytes;
    private final int hash;

    /** @param bytes not to be changed any more */
    EncodedKey(byte[] bytes) {
        this.bytes = bytes;
        this.hash = hash(bytes);
    }

    EncodedKey(EncodedKey same) {
        this.bytes = same.bytes;
        this.hash = same.hash;
    }

    private static int hash(byte[] bytes) {
        long hash = bytes.length;
        int at = 0;
        for (; at <= bytes.length - Long.BYTES; at += Long.BYTES) {
            hash = mix(hash ^ (long) LONG.get(bytes, at));
        }
        long rest = 0;
        for (; at < bytes.length; at++) {
            rest = (rest << Byte.SIZE) | (bytes[at] & 0xFF);
        }
        return (int) mix(hash ^ rest);
    }

    private static long mix(long value) {
        long product = value * FACTOR;
        return product ^ (product >>> Integer.SIZE);
    }

    /** Not to be changed. */
    final byte[] bytes() {
        return bytes;
    }

    @Override
    public final boolean equals(Object other) {
        return other instanceof EncodedKey key && hash == key.hash && Arrays.equals(bytes, key.bytes);
    }

    @Override
    public final int hashCode() {
        return hash;
    }

    @Override
    public final int compareTo(EncodedKey other) {
        return Arrays.compareUnsigned(bytes, other.bytes);
    }
}
