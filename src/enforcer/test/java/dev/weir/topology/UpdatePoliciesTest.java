package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.processor.policy.UpdatePolicies;
import dev.weir.testing.CapturedLog;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Kind;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UpdatePoliciesTest {

    @Test
    void a_bad_record_cannot_control_the_terminal_that_shows_the_log(@TempDir Path directory) {
        String id = "\u001b[2J\n12:00:00.000 INFO all is well";
        List<String> logged;
        try (CapturedLog log = new CapturedLog(UpdatePolicies.class);
                TopologyHarness weir = new TopologyHarness(directory.resolve("weir-state"))) {
            weir.policy(id, new PolicyAvro().encode(new PolicyAvro.Applied(Kind.POLICY, id, 1, "{}", 0)));
            weir.policy("a", new PolicyAvro().encode(new PolicyAvro.Applied(Kind.POLICY, id, 1, "{}", 0)));
            logged = log.lines().stream().map(CapturedLog.Line::text).toList();
        }
        assertThat(logged).hasSize(2).allSatisfy(line -> assertThat(line)
                .contains("\\u001b[2J\\u000a12:00:00.000 INFO")
                .doesNotContain("\u001b", "\n"));
        assertThat(logged.get(0)).contains(":1: id: is required; ");
    }
}
