package dev.weir.event;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;

/**
 * Names one attempt of a released request. A release has it as a {@linkplain #text text}, which its worker copies to
 * the answer. It stays valid when the bucket is forgotten and created again, and when the requestId is used again: no
 * other attempt ever has the same receipt.
 *
 * @param queue the queue of the request
 * @param key the values of the queue's key fields, by name; empty if it has none
 * @param flow the flow in which the request waited
 * @param position the position of the request in its flow, 0 or more; later requests can have it too
 * @param source the position at which the request was read
 * @param attempt the number of the attempt, from 1
 */
public record Receipt(
        String queue, Map<String, String> key, FlowName flow, long position, Request.Source source, int attempt) {

    /** The most characters of a text. */
    public static final int MAX_LENGTH = 65_536;

    private static final byte VERSION = 1;

    /** The tier, and the value of the field by which it shares; each is empty if the request has none. */
    public record FlowName(String tier, String value) {}

    public Receipt {
        key = Map.copyOf(key);
    }

    /** Returns the receipt of the first attempt of the same request. */
    public Receipt ofFirstAttempt() {
        return new Receipt(queue, key, flow, position, source, 1);
    }

    /** Returns the receipt as text, of the characters {@code A-Z a-z 0-9 - _}. */
    public String text() {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        out.write(VERSION);
        write(out, queue);
        writeNumber(out, key.size());
        new TreeMap<>(key).forEach((name, value) -> {
            write(out, name);
            write(out, value);
        });
        write(out, flow.tier);
        write(out, flow.value);
        writeNumber(out, position);
        writeNumber(out, source.partition() + 1L);
        writeNumber(out, source.offset() + 1);
        writeNumber(out, attempt);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(out.toByteArray());
    }

    /**
     * Reads a receipt.
     *
     * @throws IllegalArgumentException if the text is not a receipt
     */
    public static Receipt parse(String text) {
        if (text.length() > MAX_LENGTH) {
            throw notReceipt();
        }
        try {
            ByteBuffer in = ByteBuffer.wrap(Base64.getUrlDecoder().decode(text));
            if (in.get() != VERSION) {
                throw notReceipt();
            }
            String queue = readText(in);
            Map<String, String> key = new TreeMap<>();
            for (long left = readNumber(in); left > 0; left--) {
                key.put(readText(in), readText(in));
            }
            FlowName flow = new FlowName(readText(in), readText(in));
            long position = readNumber(in);
            long partition = readNumber(in) - 1;
            long offset = readNumber(in) - 1;
            long attempt = readNumber(in);
            if (in.hasRemaining()
                    || position < 0
                    || partition != (int) partition
                    || attempt < 1
                    || attempt > Integer.MAX_VALUE) {
                throw notReceipt();
            }
            return new Receipt(queue, key, flow, position, new Request.Source((int) partition, offset), (int) attempt);
        } catch (IllegalArgumentException | BufferUnderflowException e) {
            throw notReceipt();
        }
    }

    private static IllegalArgumentException notReceipt() {
        return new IllegalArgumentException("receipt must be copied unchanged from the release");
    }

    private static void write(ByteArrayOutputStream out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        writeNumber(out, bytes.length);
        out.writeBytes(bytes);
    }

    /** Writes a number of 0 or more in groups of seven bits, the least significant ones first. */
    private static void writeNumber(ByteArrayOutputStream out, long number) {
        long left = number;
        for (; left > 0x7F; left >>>= 7) {
            out.write((int) (left & 0x7F | 0x80));
        }
        out.write((int) left);
    }

    private static String readText(ByteBuffer in) {
        long length = readNumber(in);
        if (length > in.remaining() || length < 0) {
            throw notReceipt();
        }
        byte[] bytes = new byte[(int) length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static long readNumber(ByteBuffer in) {
        long number = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            byte group = in.get();
            number |= (long) (group & 0x7F) << shift;
            if (group >= 0) {
                return number;
            }
        }
        throw notReceipt();
    }
}
