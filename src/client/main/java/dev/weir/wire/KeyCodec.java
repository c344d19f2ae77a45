package dev.weir.wire;

import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.RequestKey;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes the keys of state stores as bytes whose unsigned order is the order of the keys. A state's key is the client,
 * the policy and the further values; the key of one of its segments adds the id of its log and its number. A store of
 * idempotent answers contains first the eviction entries, ordered by number, and then the answers, ordered by client,
 * kind and requestId.
 *
 * <p>A text ends with the byte 0, and a 0 inside a text is followed by 255, with which no text begins.
 */
public final class KeyCodec {

    private static final byte NUMBER = 0;
    private static final byte ANSWER = 1;

    private KeyCodec() {}

    /**
     * Encodes the key of a state.
     *
     * @param key a key
     * @return the bytes
     */
    public static byte[] encode(StateKey key) {
        int length = length(key.client()) + length(key.policyId());
        for (String value : key.namesAndValues()) {
            length += length(value);
        }
        byte[] bytes = new byte[length];
        int at = write(bytes, write(bytes, 0, key.client()), key.policyId());
        for (String value : key.namesAndValues()) {
            at = write(bytes, at, value);
        }
        return bytes;
    }

    /** Returns the number of bytes of a text with its end. */
    private static int length(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (!isOneByte(text.charAt(i))) {
                return bytes(text).length;
            }
        }
        return text.length() + 1;
    }

    /** Writes a text. Returns the position after it. */
    private static int write(byte[] to, int start, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!isOneByte(c)) {
                byte[] bytes = bytes(text);
                System.arraycopy(bytes, 0, to, start, bytes.length);
                return start + bytes.length;
            }
            to[start + i] = (byte) c;
        }
        to[start + text.length()] = 0;
        return start + text.length() + 1;
    }

    private static boolean isOneByte(char c) {
        return c > 0 && c < 0x80;
    }

    private static byte[] bytes(String text) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        write(out, text);
        return out.toByteArray();
    }

    /**
     * Returns the bytes with which the keys of all states of a client begin. The keys of clients whose names continue
     * with the character 0 begin with them, too.
     *
     * @param client the client
     * @return the bytes
     */
    public static byte[] prefix(String client) {
        return bytes(client);
    }

    /**
     * Decodes the key of a state.
     *
     * @param key bytes from {@link #encode(StateKey)}
     * @return the key
     */
    public static StateKey decode(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        String client = readText(in);
        String policyId = readText(in);
        List<String> others = new ArrayList<>();
        while (in.hasRemaining()) {
            others.add(readText(in));
        }
        return new StateKey(client, policyId, others);
    }

    /**
     * Returns the key of a segment of a state.
     *
     * @param state the encoded key of the state
     * @param logId the id of the log, unique within the state
     * @param number the number of the segment in its log
     * @return the bytes
     */
    public static byte[] segment(byte[] state, int logId, long number) {
        return ByteBuffer.allocate(state.length + Integer.BYTES + Long.BYTES)
                .put(state)
                .putInt(logId)
                .putLong(number)
                .array();
    }

    /**
     * Encodes the key of the idempotent answer to a request.
     *
     * @param key a key
     * @return the bytes
     */
    public static byte[] encode(RequestKey key) {
        String kind = key.kind().name();
        byte[] bytes = new byte[1 + length(key.client()) + length(kind) + length(key.requestId())];
        bytes[0] = ANSWER;
        write(bytes, write(bytes, write(bytes, 1, key.client()), kind), key.requestId());
        return bytes;
    }

    /**
     * Decodes the key of the idempotent answer to a request, or of a reservation.
     *
     * @param key bytes from {@link #encode(RequestKey)}
     * @return the key
     */
    public static RequestKey decodeAnswer(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key, 1, key.length - 1);
        return new RequestKey(readText(in), RequestKind.valueOf(readText(in)), readText(in));
    }

    /**
     * Encodes the key of an entry that is ordered by its number alone: an eviction entry of an idempotency cache, or a
     * request that waits for a lease.
     *
     * @param number the number of the entry, 0 or more
     * @return the bytes
     */
    public static byte[] encodeNumber(long number) {
        return ByteBuffer.allocate(1 + Long.BYTES).put(NUMBER).putLong(number).array();
    }

    /**
     * Returns whether a key is a number, and not that of an answer.
     *
     * @param key the key of an entry of an idempotency cache
     * @return whether it is a number
     */
    public static boolean isNumber(byte[] key) {
        return key[0] == NUMBER;
    }

    /**
     * Returns the client of the key of an idempotent answer.
     *
     * @param key bytes from {@link #encode(RequestKey)}
     * @return the client
     */
    public static String clientOfAnswer(byte[] key) {
        return readText(ByteBuffer.wrap(key, 1, key.length - 1));
    }

    /**
     * Decodes the key of an entry that is ordered by its number.
     *
     * @param key bytes from {@link #encodeNumber}
     * @return the number
     */
    public static long decodeNumber(byte[] key) {
        return ByteBuffer.wrap(key).getLong(1);
    }

    /**
     * Writes a text with its end.
     *
     * @param out where to write
     * @param text the text
     */
    public static void write(ByteArrayOutputStream out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int from = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == 0) {
                out.write(bytes, from, i + 1 - from);
                out.write(0xFF);
                from = i + 1;
            }
        }
        out.write(bytes, from, bytes.length - from);
        out.write(0);
    }

    /**
     * Reads a text that {@link #write(ByteArrayOutputStream, String)} wrote.
     *
     * @param in the bytes; its position is moved behind the text
     * @return the text
     */
    public static String readText(ByteBuffer in) {
        int from = in.position();
        int end = from;
        while (end < in.limit() && in.get(end) != 0) {
            end++;
        }
        boolean isPlain = end < in.limit() && (end + 1 == in.limit() || in.get(end + 1) != (byte) 0xFF);
        if (!isPlain || !in.hasArray()) {
            return readEscaped(in);
        }
        in.position(end + 1);
        return new String(in.array(), in.arrayOffset() + from, end - from, StandardCharsets.UTF_8);
    }

    private static String readEscaped(ByteBuffer in) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        for (byte next = in.get(); next != 0 || isEscaped(in); next = in.get()) {
            text.write(next);
        }
        return text.toString(StandardCharsets.UTF_8);
    }

    /** Returns whether the 0 that was just read is part of the text. Then a 255 follows, which this method skips. */
    private static boolean isEscaped(ByteBuffer in) {
        boolean escaped = in.hasRemaining() && in.get(in.position()) == (byte) 0xFF;
        if (escaped) {
            in.get();
        }
        return escaped;
    }
}
