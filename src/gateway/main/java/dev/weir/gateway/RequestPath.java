package dev.weir.gateway;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.regex.Pattern;

/** Normalizes paths, so that a caller cannot avoid a limit with another spelling of the same path. */
final class RequestPath {

    private static final int HEX = 16;
    private static final Pattern PARAMETERS = Pattern.compile(";[^/]*");

    private RequestPath() {}

    /**
     * Returns the normal form of a path (RFC 3986, section 6.2.2): unreserved characters are not percent-encoded, other
     * escapes are in upper case, and there are no segments {@code .} and {@code ..}. As many servers do, it also
     * decodes slashes, merges adjacent ones, and drops what follows a semicolon in a segment.
     *
     * @param raw a path without its query
     * @return a path that begins with a slash
     */
    static String normalize(String raw) {
        String decoded = withoutParameters(decodeUnreserved(raw));
        boolean isNormal = decoded.startsWith("/") && !decoded.contains("//") && !decoded.contains("/.");
        if (isNormal) {
            return decoded;
        }
        Deque<String> segments = new ArrayDeque<>();
        String last = "";
        for (String segment : decoded.split("/", -1)) {
            last = segment;
            if (segment.equals("..")) {
                segments.pollLast();
            } else if (!segment.isEmpty() && !segment.equals(".")) {
                segments.addLast(segment);
            }
        }
        boolean isDirectory = last.isEmpty() || last.equals(".") || last.equals("..");
        return "/" + String.join("/", segments) + (isDirectory && !segments.isEmpty() ? "/" : "");
    }

    /** Returns the path without the parameters of its segments: {@code /api;v=1/a} is {@code /api/a}. */
    private static String withoutParameters(String path) {
        return path.indexOf(';') < 0 ? path : PARAMETERS.matcher(path).replaceAll("");
    }

    /** Decodes unreserved characters and slashes. A semicolon in an escape is part of a name and stays. */
    private static String decodeUnreserved(String raw) {
        if (raw.indexOf('%') < 0) {
            return raw;
        }
        StringBuilder text = new StringBuilder(raw.length());
        for (int i = 0; i < raw.length(); i++) {
            char c = raw.charAt(i);
            int decoded = c == '%' ? escape(raw, i) : -1;
            if (decoded < 0) {
                text.append(c);
            } else {
                text.append(
                        isUnreserved(decoded) || decoded == '/'
                                ? String.valueOf((char) decoded)
                                : raw.substring(i, i + 3).toUpperCase(Locale.ROOT));
                i += 2;
            }
        }
        return text.toString();
    }

    /** Returns the byte of the escape at an index, -1 if there is none. */
    private static int escape(String raw, int index) {
        if (index + 2 >= raw.length()) {
            return -1;
        }
        int high = Character.digit(raw.charAt(index + 1), HEX);
        int low = Character.digit(raw.charAt(index + 2), HEX);
        return high < 0 || low < 0 ? -1 : high * HEX + low;
    }

    private static boolean isUnreserved(int c) {
        return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || "-._~".indexOf(c) >= 0;
    }

    /** Decodes the name or value of a query parameter. Invalid escapes are kept. */
    static String decodeParameter(String text) {
        byte[] bytes = new byte[text.length() * 3];
        int length = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int decoded = c == '%' ? escape(text, i) : -1;
            if (decoded >= 0) {
                bytes[length++] = (byte) decoded;
                i += 2;
            } else if (c == '+') {
                bytes[length++] = ' ';
            } else {
                byte[] utf8 = String.valueOf(c).getBytes(StandardCharsets.UTF_8);
                System.arraycopy(utf8, 0, bytes, length, utf8.length);
                length += utf8.length;
            }
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }
}
