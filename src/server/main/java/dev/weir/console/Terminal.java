package dev.weir.console;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;

/** Finds out whether the streams of this process are terminals, and how large the terminal is. */
public final class Terminal {

    private static final Size DEFAULT_SIZE = new Size(24, 80);

    private Terminal() {}

    /** The size of a terminal in characters. */
    public record Size(int rows, int columns) {}

    /**
     * Returns whether standard error is a terminal; false if that is unknown, for example because there is no {@code
     * sh}. {@link System#console} depends on standard input and output instead.
     */
    public static boolean isStandardError() {
        return run(new ProcessBuilder("sh", "-c", "test -t 2").redirectError(Redirect.INHERIT)) != null;
    }

    /** Returns the same as {@link #isStandardError} for standard output. */
    static boolean isStandardOutput() {
        return run(new ProcessBuilder("sh", "-c", "test -t 1").redirectOutput(Redirect.INHERIT)) != null;
    }

    /** Returns the size of the terminal of this process; that of most terminals if it is unknown. */
    public static Size size() {
        String size = run(new ProcessBuilder("sh", "-c", "stty size < /dev/tty"));
        if (size == null || !size.strip().matches("[1-9][0-9]{0,4} [1-9][0-9]{0,4}")) {
            return DEFAULT_SIZE;
        }
        String[] numbers = size.strip().split(" ", -1);
        return new Size(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
    }

    /** Returns the output of a short command; null unless it succeeds. */
    private static String run(ProcessBuilder command) {
        try {
            Process process = command.start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return process.waitFor() == 0 ? output : null;
        } catch (IOException e) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }
}
