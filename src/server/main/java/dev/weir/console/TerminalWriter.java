package dev.weir.console;

import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * A writer to standard output that finds out, when a command needs it, whether that is a terminal. Other writers are
 * not terminals.
 */
public final class TerminalWriter extends PrintWriter {

    private final BooleanSupplier terminal;
    private final Map<String, String> environment;
    private Boolean isTerminal;

    /**
     * Creates a writer that is flushed after each line.
     *
     * @param terminal returns whether the stream is a terminal; called once at most
     * @param environment the environment variables
     */
    public TerminalWriter(OutputStream out, BooleanSupplier terminal, Map<String, String> environment) {
        super(out, true, StandardCharsets.UTF_8);
        this.terminal = terminal;
        this.environment = environment;
    }

    /** Returns whether a writer writes to a terminal. */
    public static boolean isTerminal(PrintWriter out) {
        return out instanceof TerminalWriter writer && writer.isTerminal();
    }

    /**
     * Returns the style for a writer: colours on a terminal, unless the environment variable {@code NO_COLOR} is set and
     * not empty (https://no-color.org), or {@code TERM} is {@code dumb}; otherwise plain.
     */
    public static TextStyle style(PrintWriter out) {
        return out instanceof TerminalWriter writer && writer.isColoured() ? TextStyle.COLOURED : TextStyle.PLAIN;
    }

    private boolean isTerminal() {
        if (isTerminal == null) {
            isTerminal = terminal.getAsBoolean();
        }
        return isTerminal;
    }

    private boolean isColoured() {
        return environment.getOrDefault("NO_COLOR", "").isEmpty()
                && !"dumb".equals(environment.get("TERM"))
                && isTerminal();
    }
}
