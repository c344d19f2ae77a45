package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.InputStream;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** Tests that the loggers with a filter of their own exist: a library can move its classes. */
class LogFiltersTest {

    @Test
    void each_logger_is_a_class() throws Exception {
        Properties settings = new Properties();
        try (InputStream in = Main.class.getResourceAsStream("/log4j2.properties")) {
            settings.load(in);
        }
        List<String> loggers = settings.stringPropertyNames().stream()
                .filter(name -> name.matches("logger\\.\\w+\\.name"))
                .map(settings::getProperty)
                .toList();
        for (String logger : loggers) {
            assertThatCode(() -> Class.forName(logger, false, Main.class.getClassLoader()))
                    .as(logger)
                    .doesNotThrowAnyException();
        }
    }
}
