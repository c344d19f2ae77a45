package dev.weir.deadletter;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The beginning of a key or value of a record.
 *
 * @param size the size of the whole, in bytes
 * @param text the first {@value #MAX_BYTES} bytes, if they are UTF-8; null if they are not
 * @param hex the first {@value #MAX_BYTES} bytes as hexadecimal digits
 */
public record RecordPreview(int size, String text, String hex) {

    /** The most bytes that are shown. */
    public static final int MAX_BYTES = 1_024;

    /** @param bytes the whole; null returns null */
    static RecordPreview of(byte[] bytes) {
        if (bytes == null) {
            return null;
        }
        byte[] start = Arrays.copyOf(bytes, Math.min(bytes.length, MAX_BYTES));
        return new RecordPreview(
                bytes.length,
                text(start, bytes.length > MAX_BYTES),
                HexFormat.of().formatHex(start));
    }

    /** @param isCut whether the bytes can end within a character */
    private static String text(byte[] bytes, boolean isCut) {
        CharsetDecoder utf8 = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        CharBuffer text = CharBuffer.allocate(bytes.length);
        boolean isText = !utf8.decode(ByteBuffer.wrap(bytes), text, !isCut).isError();
        return isText ? text.flip().toString() : null;
    }
}
