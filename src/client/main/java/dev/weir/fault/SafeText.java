package dev.weir.fault;

/** Words for people, who see them on one line whatever somebody wrote into them. */
public final class SafeText {

    private SafeText() {}

    /** The whole text, with codes in place of what cannot be seen. JSON without line ends stays the same JSON. */
    public static String of(String text) {
        return of(text, Integer.MAX_VALUE);
    }

    /** The text, cut off after so many characters, with codes in place of what cannot be seen. */
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

    /** As JSON writes it: beyond 16 bits as two. */
    private static String code(int c) {
        StringBuilder code = new StringBuilder(12);
        for (char unit : Character.toChars(c)) {
            code.append(String.format("\\u%04x", (int) unit));
        }
        return code.toString();
    }

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
