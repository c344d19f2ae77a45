package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.processor.UpdatePolicies;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Kind;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UpdatePoliciesTest {

    @Test
    void a_bad_record_cannot_control_the_terminal_that_shows_the_log(@TempDir Path directory) {
        String id = "\u001b[2J\n12:00:00.000 INFO all is well";
        List<String> logged = new ArrayList<>();
        Configurator.setLevel(UpdatePolicies.class.getName(), Level.WARN); // another test may have changed the level
        Logger logger = (Logger) LogManager.getLogger(UpdatePolicies.class);
        AbstractAppender appender = new AbstractAppender("memory", null, null, true, Property.EMPTY_ARRAY) {
            @Override
            public void append(LogEvent event) {
                logged.add(event.getMessage().getFormattedMessage());
            }
        };
        appender.start();
        logger.addAppender(appender);
        try (TopologyHarness weir = new TopologyHarness(directory.resolve("weir-state"))) {
            weir.policy(id, new PolicyAvro().encode(new PolicyAvro.Applied(Kind.POLICY, id, 1, "{}", 0)));
            weir.policy("a", new PolicyAvro().encode(new PolicyAvro.Applied(Kind.POLICY, id, 1, "{}", 0)));
        } finally {
            logger.removeAppender(appender);
        }
        assertThat(logged).hasSize(2).allSatisfy(line -> assertThat(line)
                .contains("\\u001b[2J\\u000a12:00:00.000 INFO")
                .doesNotContain("\u001b", "\n"));
        assertThat(logged.get(0)).contains(":1: id: is required; ");
    }
}
