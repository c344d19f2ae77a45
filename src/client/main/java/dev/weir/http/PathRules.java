package dev.weir.http;

import java.util.Locale;

/**
 * Normalizes the paths of HTTP requests, so that a caller cannot avoid a limit with another spelling of a path. The
 * normal form is decoded and has neither empty segments nor path parameters. A path that servers understand in
 * different ways has no normal form.
 *
 * @param encodedSlash how the server that handles the requests understands {@code %2F}
 * @param doubleSlash how it understands {@code //}
 * @param foldCase whether it ignores case. The normal form is then in lower case
 */
// The normal form must be the same for all spellings that a server maps to one resource. Servers disagree, so what is
// ambiguous is rejected unless a setting says what the server does:
//
//   /pay/../free/x     nginx and Java servers serve /free/x, while Flask and Express serve their route /pay/*
//   /pay%2Fx           Flask, Go and nginx serve /pay/x, while Express and Spring serve a segment with a slash in it
//   /pay\x             Node's new URL() and IIS serve /pay/x, while other servers serve a segment with a backslash
//   /pay/;/x           Java servers serve /pay//x, while other servers serve /pay/* with the segment ";"
//
// What remains after that is not ambiguous for a limit: an escaped character is that character, a path parameter is
// removed, and slashes are merged. If a server keeps path parameters, its /pay/x;v=1 is counted like /pay/x. An escape
// is decoded once: %252F is the text %2F, which stays escaped as %252F. So do escapes of characters that have a meaning
// in a path. See RFC 3986, section 6.2.2, and for other implementations Envoy's path_with_escaped_slashes_action and
// Spring Security's StrictHttpFirewall.
public record PathRules(EncodedSlash encodedSlash, DoubleSlash doubleSlash, boolean foldCase) {

    /** What {@code %2F} in a path is. */
    public enum EncodedSlash {
        /** The path is rejected. */
        REJECT,
        /** A slash: {@code /pay%2Fx} is {@code /pay/x}. The path {@code /pay%5Cx} is rejected. */
        DECODE,
        /** A character of a segment. The normal form has {@code %2F} and {@code %5C}. */
        KEEP
    }

    /** What {@code //} in a path is. */
    public enum DoubleSlash {
        /** One slash. */
        MERGE,
        /** The path is rejected. */
        REJECT
    }

    /** Rejects encoded slashes, merges adjacent slashes, and does not ignore case. */
    public static final PathRules DEFAULTS = new PathRules(EncodedSlash.REJECT, DoubleSlash.MERGE, false);

    private static final int DELETE = 0x7f;
    private static final int FIRST_NOT_ASCII = 0x80;

    /** Characters that stay escaped, because they would have a meaning in a path. */
    private static final String ESCAPED = "%;?#";

    /**
     * Returns the normal form of a path.
     *
     * <ul>
     *   <li>Escapes are decoded once, as UTF-8. Those of {@code % ; ? #}, and of bytes that are not UTF-8, stay, in
     *       upper case.
     *   <li>What follows a semicolon in a segment is removed.
     *   <li>Empty segments are removed, except for one at the end: {@code /a/} is not {@code /a}.
     *   <li>Dots and spaces at the end are removed, as Windows and Caddy do.
     * </ul>
     *
     * @param path a path without its query, as sent. It may lack its first slash
     * @return a path that begins with a slash; its own normal form is itself
     * @throws UnclearPathException if the path has a segment {@code .} or {@code ..}, a backslash, a number sign, an
     *     invalid escape, a control character, or parameters without a name before them; an encoded or double slash
     *     that these rules reject; or an encoded slash in a parameter that these rules decode
     */
    public String normalize(String path) {
        if (isNormal(path)) {
            return path;
        }
        String normal = new Segments(path).read();
        return foldCase ? normal.toLowerCase(Locale.ROOT) : normal;
    }

    /** Returns true if the path is its normal form. If it returns false, the path may still be. */
    private boolean isNormal(String path) {
        if (!path.startsWith("/") || path.endsWith(".")) {
            return false;
        }
        char before = 'a';
        for (int i = 0; i < path.length(); i++) {
            char c = path.charAt(i);
            boolean isPlain = c >= 'a' && c <= 'z'
                    || c >= '0' && c <= '9'
                    || c >= 'A' && c <= 'Z' && !foldCase
                    || c == '-'
                    || c == '_'
                    || (c == '/' || c == '.') && before != '/';
            if (!isPlain) {
                return false;
            }
            before = c;
        }
        return true;
    }

    /** Reads the segments of one path. */
    private final class Segments {

        private final String path;
        private final StringBuilder normal = new StringBuilder();
        private final StringBuilder segment = new StringBuilder();
        private boolean isParameter; // behind a semicolon
        private int at;

        Segments(String path) {
            this.path = path;
            at = path.startsWith("/") ? 1 : 0;
        }

        String read() {
            while (at < path.length()) {
                char c = path.charAt(at);
                switch (c) {
                    case '/' -> endSegment();
                    case ';' -> isParameter = true;
                    case '%' -> readEscape();
                    case '\\' -> throw new UnclearPathException("the path has a backslash");
                    case '#' -> throw new UnclearPathException("the path has a number sign");
                    default -> {
                        if (isControl(c)) {
                            throw new UnclearPathException("the path has a control character");
                        }
                        append(c);
                    }
                }
                at++;
            }
            requireName();
            int length = segment.length();
            while (length > 0 && ". ".indexOf(segment.charAt(length - 1)) >= 0) {
                length--;
            }
            return normal.append('/').append(segment, 0, length).toString();
        }

        private void endSegment() {
            requireName();
            if (segment.isEmpty() && isParameter) {
                throw new UnclearPathException("the path has a segment with parameters only");
            }
            if (segment.isEmpty() && doubleSlash == DoubleSlash.REJECT) {
                throw new UnclearPathException("the path has a double slash");
            }
            if (!segment.isEmpty()) {
                normal.append('/').append(segment);
            }
            segment.setLength(0);
            isParameter = false;
        }

        private void requireName() {
            boolean isDots = segment.length() == 1 && segment.charAt(0) == '.'
                    || segment.length() == 2 && segment.charAt(0) == '.' && segment.charAt(1) == '.';
            if (isDots) {
                throw new UnclearPathException("the path has a dot segment");
            }
        }

        /** Reads an escape, or adjacent ones of bytes that are not ASCII, and stops at the last character. */
        private void readEscape() {
            int value = PercentEncoding.escaped(path, at);
            if (value < 0) {
                throw new UnclearPathException("the path has a percent sign that begins no valid escape");
            }
            if (value >= FIRST_NOT_ASCII) {
                readText();
                return;
            }
            at += PercentEncoding.ESCAPE_LENGTH - 1;
            if (isControl(value)) {
                throw new UnclearPathException(
                        "the path has an escaped control character, " + PercentEncoding.escape(value));
            }
            if (value == '/' || value == '\\') {
                readEncodedSlash(value);
            } else if (ESCAPED.indexOf(value) >= 0) {
                append(PercentEncoding.escape(value));
            } else {
                append(String.valueOf((char) value));
            }
        }

        private void readEncodedSlash(int value) {
            switch (encodedSlash) {
                case KEEP -> append(PercentEncoding.escape(value));
                case DECODE -> {
                    if (value == '\\' || isParameter) {
                        throw new UnclearPathException(
                                value == '\\'
                                        ? "the path has an encoded backslash, %5C"
                                        : "the path has an encoded slash, %2F, in a parameter");
                    }
                    endSegment();
                }
                case REJECT ->
                    throw new UnclearPathException(
                            value == '\\'
                                    ? "the path has an encoded backslash, %5C"
                                    : "the path has an encoded slash, %2F");
            }
        }

        private void readText() {
            byte[] bytes = new byte[(path.length() - at) / PercentEncoding.ESCAPE_LENGTH];
            int length = 0;
            int next = at;
            for (int value = PercentEncoding.escaped(path, next);
                    value >= FIRST_NOT_ASCII;
                    value = PercentEncoding.escaped(path, next)) {
                bytes[length++] = (byte) value;
                next += PercentEncoding.ESCAPE_LENGTH;
            }
            at = next - 1;
            if (!isParameter) {
                PercentEncoding.appendUtf8(bytes, length, segment);
            }
        }

        private void append(char c) {
            if (!isParameter) {
                segment.append(c);
            }
        }

        private void append(String text) {
            if (!isParameter) {
                segment.append(text);
            }
        }

        private static boolean isControl(int c) {
            return c < ' ' || c == DELETE;
        }
    }
}
