package dev.weir.gateway.envoy.mapping;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Shortens values that users of the proxy can choose, such as paths and keys. An error would let their requests pass: by
 * default, Envoy allows requests that the rate limit service does not answer.
 */
final class ShortenedText {

    private static final int HASH_LENGTH = 32; // hexadecimal digits, of 128 bits

    /** The shortest maximum length. */
    static final int MIN_LENGTH = 2 * HASH_LENGTH;

    private ShortenedText() {}

    /**
     * Returns the text or, if it is longer than the maximum, its beginning, a tilde and 32 digits of its SHA-256. Equal
     * texts have equal results, and different ones different results.
     *
     * @param maxLength the maximum length in code points, at least {@link #MIN_LENGTH}
     */
    static String of(String text, int maxLength) {
        if (text.length() <= maxLength || text.codePointCount(0, text.length()) <= maxLength) {
            return text;
        }
        int end = text.offsetByCodePoints(0, maxLength - HASH_LENGTH - 1);
        return text.substring(0, end) + "~" + hash(text);
    }

    private static String hash(String text) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash, 0, HASH_LENGTH / 2);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
    }
}
