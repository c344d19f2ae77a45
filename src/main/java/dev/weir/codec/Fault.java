package dev.weir.codec;

/**
 * One thing that is wrong with a text that somebody wrote, and where. Printed on one line, whatever the text holds:
 *
 * <pre>
 *   policies.yaml:12: policies[3].limits[0].per: must be a duration such as 500ms, 11s, 1m, 2h or 1d, is 'soon'
 * </pre>
 *
 * @param file the file, or where else the text is from
 * @param line from 1
 * @param path the value at fault, empty for the text as a whole
 * @param message what is wrong with it
 */
public record Fault(String file, int line, String path, String message) {

    private static final int MAX_PATH = 200;
    private static final int MAX_MESSAGE = 500;

    /** Makes the path and the message fit on one line. */
    public Fault {
        path = onOneLine(path, MAX_PATH);
        message = onOneLine(message, MAX_MESSAGE);
    }

    @Override
    public String toString() {
        return file + ":" + line + ": " + (path.isEmpty() ? "" : path + ": ") + message;
    }

    private static String onOneLine(String text, int maxLength) {
        StringBuilder line = new StringBuilder(Math.min(text.length(), maxLength + 1));
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            if (line.length() >= maxLength) {
                return line.append('…').toString();
            }
            int c = text.codePointAt(i);
            if (isLegible(c)) {
                line.appendCodePoint(c);
            } else {
                line.append(String.format("\\u%04x", c));
            }
        }
        return line.toString();
    }

    private static boolean isLegible(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED -> false;
            default -> true;
        };
    }
}
