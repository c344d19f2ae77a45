package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.testing.AclTable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Checks the commands and the configuration on the page {@code how-to/secure.md}. */
@Tag("full")
class SecurityPageTest {

    private static final Pattern SCRIPT = Pattern.compile("```bash\n(.*?)```", Pattern.DOTALL);
    private static final Pattern COMMAND = Pattern.compile("kafka-acls.sh --bootstrap-server kafka-1:9093"
            + " --command-config admin.properties --add --allow-principal (\\S+) --operation (\\S+) --(\\S+) (\\S+)"
            + " --resource-pattern-type (\\S+)");
    private static final Pattern YAML = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);

    /** The page has a script that prints a command for each line of its table. */
    @Test
    void the_commands_grant_what_the_table_lists() throws Exception {
        String script = SCRIPT.matcher(Files.readString(AclTable.PAGE))
                .results()
                .map(fence -> fence.group(1))
                .filter(text -> text.contains("kafka-acls.sh"))
                .findFirst()
                .orElseThrow();
        Process shell = new ProcessBuilder("bash", "-c", script)
                .directory(AclTable.PAGE.getParent().toFile())
                .redirectErrorStream(true)
                .start();
        List<String> printed = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();
        assertThat(printed)
                .map(SecurityPageTest::binding)
                .containsExactlyElementsOf(
                        AclTable.read().stream().map(AclTable.Line::binding).toList());
    }

    /** Reads a command as {@code kafka-acls.sh} does. */
    private static AclBinding binding(String command) {
        Matcher matcher = COMMAND.matcher(command);
        assertThat(matcher.matches()).as(command).isTrue();
        return new AclBinding(
                new ResourcePattern(
                        ResourceType.fromString(matcher.group(3).replace('-', '_')),
                        matcher.group(4),
                        PatternType.fromString(matcher.group(5).toUpperCase(Locale.ROOT))),
                new AccessControlEntry(matcher.group(1), "*", operation(matcher.group(2)), AclPermissionType.ALLOW));
    }

    private static AclOperation operation(String nameInCommand) {
        return Stream.of(AclOperation.values())
                .filter(one -> one.name().replace("_", "").equalsIgnoreCase(nameInCommand.replace("_", "")))
                .findAny()
                .orElseThrow();
    }

    @Test
    void its_configuration_is_valid_and_hides_secrets() throws Exception {
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
