package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.testing.AclTable;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What {@code security.md} has for the reader to copy. */
class SecurityPageTest {

    private static final Pattern YAML = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);

    @Test
    void the_commands_grant_what_the_table_does() throws IOException {
        assertThat(Files.readString(AclTable.PAGE)).contains("""
                        ```
                        acls="kafka-acls.sh --bootstrap-server kafka-1:9093 --command-config admin.properties --add"
                        %s
                        ```
                        """.formatted(
                        AclTable.read().stream().map(AclTable.Line::command).collect(Collectors.joining("\n"))));
    }

    @Test
    void its_configuration_is_one_and_hides_what_is_secret() throws Exception {
        String yaml = YAML.matcher(Files.readString(AclTable.PAGE))
                .results()
                .map(MatchResult::group)
                .collect(Collectors.joining())
                .replaceAll("```.*", "");
        WeirConfig config = ConfigFile.read("weir.yaml", yaml, Map.of("WEIR_JAAS", "a secret"));
        assertThat(config.kafka())
                .containsEntry("sasl.jaas.config", "a secret")
                .containsEntry("ssl.truststore.password", "${file:/run/secrets/weir.properties:truststore}");
        assertThat(config.toString()).contains("SCRAM-SHA-512").doesNotContain("a secret", "truststore}");
    }
}
