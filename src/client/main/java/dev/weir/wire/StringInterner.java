package dev.weir.wire;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A cache of short texts that occur often, with their UTF-8 bytes. A text stays until another with the same hash
 * replaces it. Thread-safe: threads may see different entries in a place, but each is consistent.
 */
final class StringInterner {

    private static final int PLACES = 256;
    private static final int MAX_LENGTH = 64;

    private final Word[] read = new Word[PLACES];
    private final Word[] written = new Word[PLACES];

    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Word(byte[] bytes, String text) {}

    /** Returns the text of UTF-8 bytes. */
    String text(byte[] bytes, int from, int length) {
        if (length > MAX_LENGTH) {
            return new String(bytes, from, length, StandardCharsets.UTF_8);
        }
        int place = place(hash(bytes, from, length));
        Word word = read[place];
        if (word == null || !Arrays.equals(word.bytes, 0, word.bytes.length, bytes, from, from + length)) {
            byte[] copy = Arrays.copyOfRange(bytes, from, from + length);
            word = new Word(copy, new String(copy, StandardCharsets.UTF_8));
            read[place] = word;
        }
        return word.text;
    }

    /** Returns the UTF-8 bytes of a text, which must not be changed. */
    byte[] bytes(String text) {
        if (text.length() > MAX_LENGTH) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        int place = place(text.hashCode());
        Word word = written[place];
        if (word == null || !word.text.equals(text)) {
            word = new Word(text.getBytes(StandardCharsets.UTF_8), text);
            written[place] = word;
        }
        return word.bytes;
    }

    private static int hash(byte[] bytes, int from, int length) {
        int hash = length;
        for (int at = from; at < from + length; at++) {
            hash = 31 * hash + bytes[at];
        }
        return hash;
    }

    private static int place(int hash) {
        return (hash ^ hash >>> 8 ^ hash >>> 16) & (PLACES - 1);
    }
}
