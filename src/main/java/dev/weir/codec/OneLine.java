package dev.weir.codec;

/** Words for people, who see them on one line whatever somebody wrote into them. */
public final class OneLine {

    private OneLine() {}

    /** The text, cut off after so many characters, with codes in place of what cannot be seen. */
    public static String of(String text, int maxLength) {
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
