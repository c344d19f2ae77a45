package dev.weir.fault;

/** Makes text safe to print on one line of a terminal or a log, whatever it contains. */
public final class SafeText {

    private SafeText() {}

    /**
     * Returns the text, with escapes for characters that are not {@linkplain #isLegible legible}. JSON without line
     * breaks keeps its value.
     *
     * @param text any text
     * @return the text on one line
     */
    public static String of(String text) {
        return of(text, Integer.MAX_VALUE);
    }

    /**
     * Returns the text, with escapes for characters that are not {@linkplain #isLegible legible}, and shortened.
     *
     * @param text any text
     * @param maxLength the length at which the text is cut off, at least 1. The result can be longer by an escape and
     *     an ellipsis
     * @return the text on one line
     */
    public static String of(String text, int maxLength) {
        StringBuilder line = new StringBuilder(Math.min(text.length(), maxLength - 1) + 1);
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            if (line.length() >= maxLength) {
                return line.append('…').toString();
            }
            int c = text.codePointAt(i);
            if (isLegible(c)) {
                line.appendCodePoint(c);
            } else {
                line.append(code(c));
            }
        }
        return line.toString();
    }

    /** Returns the JSON escape of a code point, which is two escapes above 16 bits. */
    private static String code(int c) {
        StringBuilder code = new StringBuilder(12);
        for (char unit : Character.toChars(c)) {
            code.append(String.format("\\u%04x", (int) unit));
        }
        return code.toString();
    }

    /**
     * Returns whether a character is visible and does not control a terminal.
     *
     * @param c a code point
     * @return whether it can be printed as it is
     */
    public static boolean isLegible(int c) {
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
