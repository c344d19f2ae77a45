package dev.weir.testing;

import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

/** Captures the log of a class, from {@code INFO} up, instead of writing it to standard error. Thread-safe. */
public final class CapturedLog implements AutoCloseable {

    /** A line of the log. */
    public record Line(String level, String text) {}

    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final String logger;
    private final List<Line> lines = new ArrayList<>();

    public CapturedLog(Class<?> logging) {
        logger = logging.getName();
        AbstractAppender appender = new AbstractAppender("lines", null, null, false, Property.EMPTY_ARRAY) {
            @Override
            public void append(LogEvent event) {
                synchronized (lines) {
                    lines.add(
                            new Line(event.getLevel().name(), event.getMessage().getFormattedMessage()));
                }
            }
        };
        appender.start();
        LoggerConfig settings = new LoggerConfig(logger, Level.INFO, false);
        settings.addAppender(appender, null, null);
        context.getConfiguration().addLogger(logger, settings);
        context.updateLoggers();
    }

    /** Returns the lines since the last call of {@link #take}. */
    public List<Line> lines() {
        synchronized (lines) {
            return List.copyOf(lines);
        }
    }

    /** Returns the lines since the last call, and forgets them. */
    public List<Line> take() {
        synchronized (lines) {
            List<Line> taken = List.copyOf(lines);
            lines.clear();
            return taken;
        }
    }

    @Override
    public void close() {
        context.getConfiguration().removeLogger(logger);
        context.updateLoggers();
    }
}
