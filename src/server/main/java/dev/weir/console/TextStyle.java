package dev.weir.console;

/** Marks texts by colours, which escape sequences of ANSI select, or leaves them as they are. */
public enum TextStyle {
    PLAIN,
    COLOURED;

    public String heading(String text) {
        return marked("1", text);
    }

    public String good(String text) {
        return marked("32", text);
    }

    public String warning(String text) {
        return marked("33", text);
    }

    public String bad(String text) {
        return marked("31", text);
    }

    /** Returns the text with a code of ANSI's "select graphic rendition". */
    private String marked(String code, String text) {
        return this == PLAIN || text.isEmpty() ? text : "\u001b[" + code + "m" + text + "\u001b[0m";
    }
}
