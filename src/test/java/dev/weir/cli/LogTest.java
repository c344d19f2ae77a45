package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;

class LogTest {

    @Test
    void nothing_that_is_logged_is_obeyed_by_a_terminal() {
        String logged = LoggerContext.getContext(false)
                .getConfiguration()
                .getAppender("stderr")
                .getLayout()
                .toSerializable(Log4jLogEvent.newBuilder()
                        .setLevel(Level.WARN)
                        .setLoggerName("a.Name")
                        .setMessage(new SimpleMessage("two\n\tlines of Grüße \u001b[2J\u009b2J\u007f\r"))
                        .setThrown(new IllegalStateException("of \u001b[2J", new RuntimeException("cause \u001b[2J")))
                        .build())
                .toString();
        assertThat(logged)
                .contains(" WARN  Name two\n\tlines of Grüße ?[2J?2J??\n")
                .containsOnlyOnce("RuntimeException: cause ?[2J")
                .containsOnlyOnce("IllegalStateException: of ?[2J")
                .doesNotContainPattern("[\\x00-\\x08\\x0B-\\x1F\\x7F-\\x9F]");
    }
}
