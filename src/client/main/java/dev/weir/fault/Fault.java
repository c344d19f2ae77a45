package dev.weir.fault;

/**
 * A fault in a text, with its place. Its string is a single line, whatever the text contains:
 *
 * <pre>
 *   policies.yaml:12: policies[3].limits[0].per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'soon'
 * </pre>
 *
 * @param file the file, or another source of the text
 * @param line the number of the line, from 1
 * @param path the path of the value, empty for the text as a whole; shortened to {@value #MAX_PATH} characters
 * @param message what is wrong; shortened to {@value #MAX_MESSAGE} characters
 */
public record Fault(String file, int line, String path, String message) {

    /** The maximum length of a path, in characters. */
    public static final int MAX_PATH = 200;

    /** The maximum length of a message, in characters. */
    public static final int MAX_MESSAGE = 500;

    /**
     * Escapes and shortens the path and the message, so that they fit on one line.
     *
     * @param file the file, or another source of the text
     * @param line the number of the line, from 1
     * @param path the path of the value, empty for the text as a whole; shortened to {@value #MAX_PATH} characters
     * @param message what is wrong; shortened to {@value #MAX_MESSAGE} characters
     */
    public Fault {
        path = SafeText.of(path, MAX_PATH);
        message = SafeText.of(message, MAX_MESSAGE);
    }

    /**
     * Returns the fault as {@code file:line: path: message}, on one line.
     *
     * @return the line
     */
    @Override
    public String toString() {
        return file + ":" + line + ": " + (path.isEmpty() ? "" : path + ": ") + message;
    }
}
