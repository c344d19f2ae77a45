package dev.weir.console;

import java.util.Locale;
import picocli.CommandLine.Option;

/** The option for the format of the log. */
public final class LogOption {

    @Option(
            names = "--log-format",
            paramLabel = "FORMAT",
            defaultValue = "text",
            description = "The format of the log: text, or json with one object per line (default: ${DEFAULT-VALUE}).")
    private LogFormat logFormat;

    private enum LogFormat {
        TEXT,
        JSON;

        /** Returns the value in lower case, as the completion of a shell offers it. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public boolean isJson() {
        return logFormat == LogFormat.JSON;
    }
}
