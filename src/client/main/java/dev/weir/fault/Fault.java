package dev.weir.fault;

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

    public static final int MAX_PATH = 200;
    public static final int MAX_MESSAGE = 500;

    /** Makes the path and the message fit on one line. */
    public Fault {
        path = SafeText.of(path, MAX_PATH);
        message = SafeText.of(message, MAX_MESSAGE);
    }

    @Override
    public String toString() {
        return file + ":" + line + ": " + (path.isEmpty() ? "" : path + ": ") + message;
    }
}
