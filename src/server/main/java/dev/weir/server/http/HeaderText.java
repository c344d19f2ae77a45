package dev.weir.server.http;

import java.nio.charset.StandardCharsets;

/** Decodes the values of headers. Jetty decodes them as ISO 8859-1, while most callers send UTF-8. */
public final class HeaderText {

    private static final int FIRST_NOT_ASCII = 0x80;

    private HeaderText() {}

    /** Returns the text of a value that Jetty has decoded: that in UTF-8, or the value itself if it is not UTF-8. */
    public static String of(String value) {
        if (isAscii(value)) {
            return value;
        }
        String utf8 = new String(value.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        return utf8.indexOf('\uFFFD') < 0 ? utf8 : value;
    }

    private static boolean isAscii(String value) {
        for (int i = 0; i < value.length(); i++) {
            if (value.charAt(i) >= FIRST_NOT_ASCII) {
                return false;
            }
        }
        return true;
    }
}
