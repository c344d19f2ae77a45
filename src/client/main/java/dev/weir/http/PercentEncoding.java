package dev.weir.http;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Percent-encoding (RFC 3986, section 2.1). */
public final class PercentEncoding {

    static final int ESCAPE_LENGTH = 3;

    private static final int HEX = 16;
    private static final int BYTE = 0xff;

    private PercentEncoding() {}

    /** Returns the byte of the escape at an index, -1 if there is none. */
    static int escaped(String text, int index) {
        if (index + 2 >= text.length() || text.charAt(index) != '%') {
            return -1;
        }
        int high = digit(text.charAt(index + 1));
        int low = digit(text.charAt(index + 2));
        return high < 0 || low < 0 ? -1 : high * HEX + low;
    }

    /** Returns the value of a hexadecimal digit of ASCII, -1 for any other character. */
    private static int digit(char c) {
        return c < 0x80 ? Character.digit(c, HEX) : -1;
    }

    /** Returns the escape of a byte, with digits in upper case. */
    static String escape(int value) {
        return String.format(Locale.ROOT, "%%%02X", value & BYTE);
    }

    /** Appends bytes as UTF-8 text. Bytes that are not UTF-8 are appended as escapes. */
    static void appendUtf8(byte[] bytes, int length, StringBuilder text) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        ByteBuffer from = ByteBuffer.wrap(bytes, 0, length);
        CharBuffer to = CharBuffer.allocate(length);
        CoderResult result = decoder.decode(from, to, true);
        while (result.isError()) {
            text.append(to.flip());
            to.clear();
            for (int i = 0; i < result.length(); i++) {
                text.append(escape(from.get()));
            }
            result = decoder.reset().decode(from, to, true);
        }
        text.append(to.flip());
    }

    /**
     * Decodes the name or value of a query parameter, in which a plus sign is a space. Invalid escapes are kept, and
     * bytes that are not UTF-8 become the replacement character.
     *
     * @param text a name or value as sent
     * @return the decoded text
     */
    public static String decodeParameter(String text) {
        if (text.indexOf('%') < 0 && text.indexOf('+') < 0) {
            return text;
        }
        byte[] bytes = new byte[text.length() * ESCAPE_LENGTH];
        int length = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int decoded = escaped(text, i);
            if (decoded >= 0) {
                bytes[length++] = (byte) decoded;
                i += 2;
            } else if (c == '+') {
                bytes[length++] = ' ';
            } else {
                int end = Character.isHighSurrogate(c)
                                && i + 1 < text.length()
                                && Character.isLowSurrogate(text.charAt(i + 1))
                        ? i + 2
                        : i + 1;
                byte[] utf8 = text.substring(i, end).getBytes(StandardCharsets.UTF_8);
                System.arraycopy(utf8, 0, bytes, length, utf8.length);
                length += utf8.length;
                i = end - 1;
            }
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }
}
