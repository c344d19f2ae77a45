package dev.weir.fuzz;

import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

/** An appender that captures the log of a class instead of writing it to standard error. */
final class CapturedLog extends AbstractAppender implements AutoCloseable {

    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final String logger;
    private final List<String> lines = new ArrayList<>();

    CapturedLog(Class<?> logging) {
        super("lines", null, null, false, Property.EMPTY_ARRAY);
        logger = logging.getName();
        LoggerConfig settings = new LoggerConfig(logger, Level.WARN, false);
        settings.addAppender(this, null, null);
        start();
        context.getConfiguration().addLogger(logger, settings);
        context.updateLoggers();
    }

    @Override
    public void append(LogEvent event) {
        lines.add(event.getMessage().getFormattedMessage());
    }

    /** Returns the lines since the last call. */
    List<String> take() {
        List<String> taken = List.copyOf(lines);
        lines.clear();
        return taken;
    }

    @Override
    public void close() {
        context.getConfiguration().removeLogger(logger);
        context.updateLoggers();
    }
}
