package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.stream.IntStream;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.Filter;
import org.apache.logging.log4j.core.Layout;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;

class LogTest {

    private static final String MESSAGE = "two\n\tlines of \"Grüße\" \u001b[2J\u009b2J\u007f\r";

    @Test
    void log_lines_contain_no_terminal_control_characters() {
        String logged = logged(LoggerContext.getContext(false)
                .getConfiguration()
                .getAppender("stderr")
                .getLayout());
        assertThat(logged)
                .contains(" WARN  Name two\n\tlines of \"Grüße\" ?[2J?2J??\n")
                .containsOnlyOnce("RuntimeException: cause ?[2J")
                .containsOnlyOnce("IllegalStateException: of ?[2J")
                .doesNotContainPattern("[\\x00-\\x08\\x0B-\\x1F\\x7F-\\x9F]");
    }

    @Test
    void the_json_format_writes_one_object_per_line() throws Exception {
        Configuration settings = LoggerContext.getContext(false).getConfiguration();
        String line = logged(PatternLayout.newBuilder()
                .withPattern(settings.getStrSubstitutor().replace("${json}"))
                .withAlwaysWriteExceptions(false)
                .build());
        assertThat(line).endsWith("}\n").hasLineCount(1);
        assertThat(line.stripTrailing()).doesNotContainPattern("[\\x00-\\x1F\\x7F-\\x9F]");
        JsonNode read = new ObjectMapper().readTree(line);
        assertThat(read.get("message").asText()).isEqualTo(MESSAGE);
        assertThat(read.get("logger").asText()).isEqualTo("a.Name");
        assertThat(read.get("error").asText()).contains("RuntimeException: cause \u001b[2J", "LogTest.java:");
    }

    private static String logged(Layout<?> layout) {
        return layout.toSerializable(Log4jLogEvent.newBuilder()
                        .setLevel(Level.WARN)
                        .setLoggerName("a.Name")
                        .setMessage(new SimpleMessage(MESSAGE))
                        .setThrown(new IllegalStateException("of \u001b[2J", new RuntimeException("cause \u001b[2J")))
                        .build())
                .toString();
    }

    @Test
    void an_unreachable_broker_is_logged_a_few_times() throws Exception {
        LoggerContext context = new LoggerContext("of this test");
        context.setConfigLocation(
                LogTest.class.getResource("/log4j2.properties").toURI());
        context.start();
        Filter network = context.getConfiguration()
                .getLoggerConfig("org.apache.kafka.clients.NetworkClient")
                .getAppenderRefs()
                .get(0)
                .getFilter();
        LogEvent event = Log4jLogEvent.newBuilder()
                .setLevel(Level.WARN)
                .setMessage(new SimpleMessage("Connection to node 1 (/127.0.0.1:9092) could not be established."))
                .build();
        long reported = IntStream.range(0, 1_000)
                .filter(i -> network.filter(event) != Filter.Result.DENY)
                .count();
        context.stop();
        assertThat(reported).isBetween(10L, 20L);
    }
}
