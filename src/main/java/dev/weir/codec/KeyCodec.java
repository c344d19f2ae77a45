package dev.weir.codec;

import dev.weir.policy.StateKey;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Keys of the stores as bytes whose order is the keys' order: client, policy, further values; behind them shelf and
 * number for a segment. A text ends in 0, and a 0 within it is followed by 255, so no text is another's start.
 */
public final class KeyCodec {

    private KeyCodec() {}

    public static byte[] encode(StateKey key) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        write(out, key.client());
        write(out, key.policyId());
        for (String value : key.others()) {
            write(out, value);
        }
        return out.toByteArray();
    }

    /** The key of one segment of the state that {@code state} is the key of. */
    public static byte[] segment(byte[] state, int shelf, long number) {
        return ByteBuffer.allocate(state.length + Integer.BYTES + Long.BYTES)
                .put(state)
                .putInt(shelf)
                .putLong(number)
                .array();
    }

    static void write(ByteArrayOutputStream out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (byte b : bytes) {
            out.write(b);
            if (b == 0) {
                out.write(0xFF);
            }
        }
        out.write(0);
    }
}
