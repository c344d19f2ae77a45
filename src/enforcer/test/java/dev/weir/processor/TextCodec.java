package dev.weir.processor;

import dev.weir.storage.codec.WriteBackCodec;
import java.nio.charset.StandardCharsets;

/** A codec of texts. Texts that start with # are cached in decoded form and count as one byte per character. */
public final class TextCodec implements WriteBackCodec<String, String> {

    @Override
    public byte[] encodeKey(String key) {
        return key.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] encode(String value) {
        return value.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public String decode(byte[] key, byte[] value, int length) {
        return new String(value, 0, length, StandardCharsets.UTF_8);
    }

    @Override
    public boolean isKeptDecoded(String value) {
        return value.startsWith("#");
    }

    @Override
    public int heapBytes(String value) {
        return value.length();
    }
}
