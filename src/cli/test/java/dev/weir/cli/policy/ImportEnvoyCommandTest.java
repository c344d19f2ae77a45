package dev.weir.cli.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.CapturedRun;
import dev.weir.cli.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImportEnvoyCommandTest {

    private static final String CONFIG = """
            domain: d
            descriptors:
              - {key: a, rate_limit: {unit: day, requests_per_unit: 1}}
            """;
    private static final String POLICIES = """
            policies:
              # config.yaml:3
              - id: d.a
                layer: envoy
                priority: 0
                match: {domain: d, keys: a, a: "**"}
                key: [client, a]
                limits:
                  - {algorithm: fixed-window, limit: 1, per: 1d}
            """;

    @TempDir
    Path directory;

    private Path config;

    @BeforeEach
    void writeConfig() throws IOException {
        config = Files.writeString(directory.resolve("config.yaml"), CONFIG);
    }

    private CapturedRun run(String... options) {
        String[] args = new String[options.length + 3];
        args[0] = "policies";
        args[1] = "import-envoy";
        System.arraycopy(options, 0, args, 2, options.length);
        args[args.length - 1] = config.toString();
        return Shell.run(args);
    }

    private String policies(String text) {
        return text.replaceFirst("#.*\n", "").replace(directory + "/", "");
    }

    @Test
    void a_policy_file_is_printed_or_written() throws IOException {
        CapturedRun printed = run();
        assertThat(printed.exit()).isZero();
        assertThat(printed.err()).isEmpty();
        assertThat(policies(printed.out())).isEqualTo(POLICIES);

        Path rules = directory.resolve("rules.yaml");
        assertThat(run("-o", rules.toString())).isEqualTo(new CapturedRun(0, "", ""));
        assertThat(policies(Files.readString(rules))).isEqualTo(POLICIES);
        assertThat(Shell.run("policies", "validate", rules.toString()).out())
                .isEqualTo(rules + ": 1 policy, no faults\n");
    }

    @Test
    void options_set_the_layer_leases_and_the_attribute_for_keys() {
        assertThat(policies(run("--layer", "edge", "--lease", "--keys-attribute", "all")
                        .out()))
                .isEqualTo("""
                policies:
                  # config.yaml:3
                  - id: d.a
                    layer: edge
                    priority: 0
                    match: {domain: d, all: a, a: "**"}
                    key: [client, a]
                    limits:
                      - {algorithm: fixed-window, limit: 1, per: 1d}
                    lease: client
                """);
        assertThat(run("--keys-attribute", "none").out()).contains("priority: 10\n    match: {domain: d, a: \"**\"}");
    }

    /** The gateway's tests apply these policies and call a gateway without a configuration. */
    @Test
    void the_guide_shows_what_its_example_is_converted_to() throws IOException {
        List<String> blocks = Pattern.compile("(?s)```yaml\n(.*?)```")
                .matcher(Files.readString(Path.of("topology-docs/how-to/migrate.md")))
                .results()
                .map(block -> block.group(1))
                .toList();
        Files.writeString(config, blocks.get(0));
        CapturedRun converted = run();
        assertThat(converted.err()).isEmpty();
        assertThat(policies(converted.out())).isEqualTo(blocks.get(1));
    }

    @Test
    void what_decides_in_another_way_sets_the_exit_code_and_what_is_ignored_does_not() throws IOException {
        Files.writeString(config, CONFIG + "    detailed_metric: true\n".substring(2));
        assertThat(run().exit()).isEqualTo(2);
        Files.writeString(config, CONFIG.replace("key: a,", "key: a, detailed_metric: true,"));
        CapturedRun ignored = run();
        assertThat(ignored.exit()).isZero();
        assertThat(ignored.err()).contains("config.yaml:3: descriptors[0].detailed_metric: is ignored");
        Files.writeString(config, CONFIG.replace("key: a,", "key: a, quota_mode: true,"));
        CapturedRun different = run();
        assertThat(different.exit()).isEqualTo(1);
        assertThat(different.err()).contains("config.yaml:3: descriptors[0].quota_mode: is converted to a limit");
        assertThat(policies(different.out())).isEqualTo(POLICIES);
    }

    @Test
    void an_invalid_configuration_prints_its_faults_and_no_policies() throws IOException {
        Files.writeString(config, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: fortnight}}]\n");
        assertThat(run())
                .isEqualTo(new CapturedRun(
                        2,
                        "",
                        config + ":2: descriptors[0].rate_limit.unit: must be one of second, minute, hour, day, week,"
                                + " month, year, is 'fortnight'\n"));
    }

    @Test
    void an_output_that_is_an_input_is_rejected() throws IOException {
        assertThat(run(
                        "-o",
                        directory
                                .resolve("../" + directory.getFileName() + "/config.yaml")
                                .toString()))
                .isEqualTo(new CapturedRun(
                        2, "", "weir policies import-envoy: --output would overwrite " + config + "\n"));
        assertThat(Files.readString(config)).isEqualTo(CONFIG);
    }

    @Test
    void a_layer_that_is_no_name_is_rejected() {
        assertThat(run("--layer", "a b").err())
                .isEqualTo("weir policies import-envoy: --layer must be 1 to 128 letters, digits or . _ -, is 'a b'\n");
    }
}
