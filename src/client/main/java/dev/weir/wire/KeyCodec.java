package dev.weir.wire;

import dev.weir.event.StateKey;
import dev.weir.policy.RequestKey;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Keys of the stores as bytes whose order is the keys' order: client, policy, further values; behind them shelf and
 * number for a segment; in a store of first answers, notes by number before answers by client, kind and id of the
 * request. A text ends in 0, and a 0 within it is followed by 255, with which no text begins.
 */
public final class KeyCodec {

    private static final byte NOTE = 0;
    private static final byte ANSWER = 1;

    private KeyCodec() {}

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

    /** How many bytes a text has with its end. */
    private static int length(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (!isOneByte(text.charAt(i))) {
                return bytes(text).length;
            }
        }
        return text.length() + 1;
    }

    /** Returns where the next text comes. */
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

    /** What the keys of all states of a client start with; behind them, those of clients do that go on with a 0. */
    public static byte[] prefix(String client) {
        return bytes(client);
    }

    /** Reads what {@link #encode} wrote. */
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

    /** The key of one segment of the state that {@code state} is the key of. */
    public static byte[] segment(byte[] state, int shelf, long number) {
        return ByteBuffer.allocate(state.length + Integer.BYTES + Long.BYTES)
                .put(state)
                .putInt(shelf)
                .putLong(number)
                .array();
    }

    /** The key of the first answer to a request. */
    public static byte[] encode(RequestKey key) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        out.write(ANSWER);
        write(out, key.client());
        write(out, key.kind().name());
        write(out, key.requestId());
        return out.toByteArray();
    }

    /** The key of the note of a first answer, by its number of 0 or more. */
    public static byte[] note(long number) {
        return ByteBuffer.allocate(1 + Long.BYTES).put(NOTE).putLong(number).array();
    }

    /** Reads what {@link #note} wrote. */
    public static long readNote(byte[] key) {
        return ByteBuffer.wrap(key).getLong(1);
    }

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

    public static String readText(ByteBuffer in) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        for (byte next = in.get(); next != 0 || isEscaped(in); next = in.get()) {
            text.write(next);
        }
        return text.toString(StandardCharsets.UTF_8);
    }

    /** Whether the 0 that was just read is part of the text: then a 255 follows, which is read too. */
    private static boolean isEscaped(ByteBuffer in) {
        boolean escaped = in.hasRemaining() && in.get(in.position()) == (byte) 0xFF;
        if (escaped) {
            in.get();
        }
        return escaped;
    }
}
