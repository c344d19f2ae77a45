package dev.weir.storage;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.Arrays;

/**
 * Hashes and compares encoded keys. Users choose client names, so the hash depends on a random seed: names that collide
 * in one process do not collide in another. Hashes are never persisted, and no result depends on their order.
 */
// Each eight-byte word is multiplied by a secret odd number, and the halves of the 128-bit product are combined.
class KeyHash {

    private static final KeyHash OF_THIS_PROCESS = new KeyHash(new SecureRandom().nextLong());

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /** 2<sup>64</sup> divided by the golden ratio. */
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private final long start;
    private final long factor;

    KeyHash(long seed) {
        start = scramble(seed);
        factor = scramble(seed + GOLDEN) | 1;
    }

    /** Returns the hash of this process. Its seed was drawn when the class was loaded. */
    static KeyHash ofThisProcess() {
        return OF_THIS_PROCESS;
    }

    /** Returns the output function of SplitMix64 for a value. */
    private static long scramble(long seed) {
        long first = (seed ^ (seed >>> 30)) * 0xBF58476D1CE4E5B9L;
        long second = (first ^ (first >>> 27)) * 0x94D049BB133111EBL;
        return second ^ (second >>> 31);
    }

    int hash(byte[] key) {
        long hash = longHash(key);
        return (int) (hash ^ (hash >>> Integer.SIZE));
    }

    /** Returns a hash of 64 bits. */
    long longHash(byte[] key) {
        long hash = start ^ key.length;
        int at = 0;
        for (; at <= key.length - Long.BYTES; at += Long.BYTES) {
            hash = mix(hash ^ (long) LONG.get(key, at));
        }
        long rest = 0;
        for (; at < key.length; at++) {
            rest = (rest << Byte.SIZE) | (key[at] & 0xFF);
        }
        return mix(hash ^ rest);
    }

    private long mix(long value) {
        return Math.multiplyHigh(value, factor) ^ (value * factor);
    }

    boolean equal(byte[] one, byte[] other) {
        return Arrays.equals(one, other);
    }

    /** Orders keys by their unsigned bytes. */
    int compare(byte[] one, byte[] other) {
        return Arrays.compareUnsigned(one, other);
    }
}
