package dev.weir.fuzz;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Mutations of bytes, as by corruption or an attacker. */
final class BytesMutation {

    /** Extreme values of an Avro length, count, index or number. */
    private static final long[] NUMBERS = {
        0,
        1,
        -1,
        64,
        -64,
        255,
        10_000,
        10_001,
        -10_000,
        65_536,
        1 << 20,
        16 << 20,
        (16 << 20) + 1,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE,
        Long.MAX_VALUE,
        Long.MIN_VALUE
    };

    private static final byte[][] PIECES = {
        {(byte) 0xC0, (byte) 0x80},
        {(byte) 0xED, (byte) 0xA0, (byte) 0x80},
        {(byte) 0xFF},
        {(byte) 0xF4, (byte) 0x90, (byte) 0x80, (byte) 0x80},
        {0, 0, 0, 0},
        {(byte) 0xC3, 1}
    };

    private static final int AVRO_HEADER = 10;

    private BytesMutation() {}

    static byte[] of(List<byte[]> valid, SplittableRandom random) {
        byte[] bytes = any(valid, random).clone();
        if (random.nextInt(20) == 0) {
            byte[] noise = noise(random, 300);
            return random.nextBoolean() ? noise : join(Arrays.copyOf(bytes, AVRO_HEADER), noise);
        }
        for (int steps = 1 + random.nextInt(4); steps > 0; steps--) {
            bytes = step(bytes, valid, random);
        }
        return bytes;
    }

    private static byte[] step(byte[] bytes, List<byte[]> valid, SplittableRandom random) {
        int at = place(bytes, random);
        int to = at + random.nextInt(Math.min(20, bytes.length - at) + 1);
        byte[] head = Arrays.copyOf(bytes, at);
        byte[] tail = Arrays.copyOfRange(bytes, at, bytes.length);
        byte[] rest = Arrays.copyOfRange(bytes, to, bytes.length);
        return switch (random.nextInt(9)) {
            case 0 -> flipped(bytes, at, random);
            case 1 -> head;
            case 2 -> join(head, noise(random, 16), tail);
            case 3 -> join(head, rest);
            case 4 -> join(head, cut(any(valid, random), random));
            case 5, 6 ->
                join(head, number(random), at < bytes.length ? Arrays.copyOfRange(tail, 1, tail.length) : tail);
            case 7 -> join(head, PIECES[random.nextInt(PIECES.length)], tail);
            default -> join(Arrays.copyOf(bytes, to), tail);
        };
    }

    /** Returns a position, mostly after the header. */
    private static int place(byte[] bytes, SplittableRandom random) {
        boolean inHeader = bytes.length <= AVRO_HEADER || random.nextInt(16) == 0;
        return inHeader
                ? random.nextInt(bytes.length + 1)
                : AVRO_HEADER + random.nextInt(bytes.length - AVRO_HEADER + 1);
    }

    private static byte[] flipped(byte[] bytes, int at, SplittableRandom random) {
        if (at < bytes.length) {
            bytes[at] ^= (byte) (1 << random.nextInt(8));
        }
        return bytes;
    }

    private static byte[] cut(byte[] bytes, SplittableRandom random) {
        return Arrays.copyOfRange(bytes, random.nextInt(bytes.length + 1), bytes.length);
    }

    /** Returns a number in the encoding of Avro: zigzag, seven bits per byte. */
    private static byte[] number(SplittableRandom random) {
        long value = random.nextInt(8) == 0 ? random.nextLong() : NUMBERS[random.nextInt(NUMBERS.length)];
        long left = (value << 1) ^ (value >> 63);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        while ((left & ~0x7FL) != 0) {
            out.write((int) ((left & 0x7F) | 0x80));
            left >>>= 7;
        }
        out.write((int) left);
        return out.toByteArray();
    }

    static byte[] noise(SplittableRandom random, int longest) {
        byte[] bytes = new byte[random.nextInt(longest + 1)];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] any(List<byte[]> valid, SplittableRandom random) {
        return valid.get(random.nextInt(valid.size()));
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }
}
