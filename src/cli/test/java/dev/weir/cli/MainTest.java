package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.wire.json.Json;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class MainTest {

    private static final String RULES =
            "policies:\n  - id: p\n    limits:\n      - {algorithm: fixed-window, limit: 1, per: 1s}\n";

    @TempDir
    Path directory;

    /** Returns the names of all commands, also nested ones. */
    static List<String> commands() {
        List<String> names = new ArrayList<>();
        addCommands(new CommandLine(new Main()), "", names);
        assertThat(names).contains("", "top", "policies restore", "watch decisions");
        return names;
    }

    private static void addCommands(CommandLine command, String name, List<String> names) {
        names.add(name.strip());
        command.getSubcommands().values().stream()
                .distinct()
                .forEach(nested -> addCommands(nested, name + " " + nested.getCommandName(), names));
    }

    @ParameterizedTest
    @MethodSource("commands")
    void every_command_explains_itself(String command) {
        String[] args = (command + " --help").strip().split(" ");
        CapturedRun result = Shell.run(args);
        assertThat(result.exit()).isZero();
        assertThat(result.out()).contains("Usage: " + ("weir " + command).strip());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "run", "policies", "policies apply", "watch decisions"})
    void help_names_a_command_at_any_depth(String command) {
        String[] help = ("help " + command).strip().split(" ");
        String[] option = (command + " --help").strip().split(" ");
        assertThat(Shell.run(help)).isEqualTo(Shell.run(option));
    }

    @Test
    void policy_and_queue_are_other_names_of_policies_and_queues() throws IOException {
        String file = write("rules.yaml", RULES);
        assertThat(Shell.run("policy", "validate", file)).isEqualTo(Shell.run("policies", "validate", file));
        assertThat(Shell.run("queue", "--key", "a=b")).isEqualTo(Shell.run("queues", "--key", "a=b"));
        assertThat(Shell.run("policy", "--help").out()).startsWith("Usage: weir policies");
    }

    @Test
    void a_policy_file_is_a_parameter_or_an_option_or_standard_input() throws IOException {
        String file = write("rules.yaml", RULES);
        CapturedRun valid = new CapturedRun(0, file + ": 1 policy, no faults\n", "");
        assertThat(Shell.run("policies", "validate", file)).isEqualTo(valid);
        assertThat(Shell.run("policies", "validate", "-f", file)).isEqualTo(valid);
        assertThat(Shell.run("policies", "validate", "--file", file)).isEqualTo(valid);
        String requests = write("requests.ndjson", "{\"requestId\":\"a\",\"client\":\"alice\",\"timestamp\":5}\n");
        assertThat(Shell.run("backtest", "-f", file, "-r", requests).out()).contains("  p ");
        assertThat(Shell.run("run", "-f", write("empty.yaml", ""), "--dev").err())
                .endsWith("empty.yaml: has no policies and no queues\n");
        assertThat(Shell.run("backtest", "-f", "-", "-r", "-"))
                .isEqualTo(new CapturedRun(
                        2, "", "weir backtest: --policies and --requests cannot both be standard input\n"));
    }

    @Test
    void a_policy_file_on_standard_input_is_read_and_its_faults_are_named() {
        assertThat(onInput(RULES, "policies", "validate", "-"))
                .isEqualTo(new CapturedRun(0, "-: 1 policy, no faults\n", ""));
        assertThat(onInput(RULES.replace("1s", "soon"), "policies", "validate", "-f", "-")
                        .err())
                .startsWith("standard input:4: policies[0].limits[0].per: ");
        assertThat(onInput("", "policies", "validate", "-").err())
                .isEqualTo("weir policies validate: standard input: has no policies and no queues\n");
    }

    private static CapturedRun onInput(String text, String... args) {
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        try {
            return Shell.run(args);
        } finally {
            System.setIn(before);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bogus",
                "backtest",
                "run --devport 1",
                "run --service-port x",
                "usage",
                "policies",
                "watch",
                "policies apply"
            })
    void wrong_usage_is_one_line_and_exit_2(String command) {
        CapturedRun result = Shell.run(command.split(" "));
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err().lines()).hasSize(1).allMatch(line -> line.startsWith("weir"));
    }

    @Test
    void without_a_command_the_help_is_printed() {
        CapturedRun run = Shell.run();
        assertThat(run.exit()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run).isEqualTo(Shell.run("--help"));
    }

    @Test
    void options_that_contradict_each_other_are_named() {
        assertThat(Shell.run("run", "--dev", "-b", "localhost:1"))
                .isEqualTo(new CapturedRun(
                        2,
                        "",
                        "weir run: --dev starts a broker of its own, and --bootstrap-server names others: leave out one of"
                                + " them (try weir run --help)\n"));
        assertThat(Shell.run("run", "--dev-port", "0", "-b", "localhost:1"))
                .isEqualTo(new CapturedRun(
                        2,
                        "",
                        "weir run: --dev-port is the port of an embedded broker: add --dev (try weir run --help)\n"));
    }

    @Test
    void a_policy_that_never_applies_and_misspelled_fields_are_warnings() throws IOException {
        String file = write("rules.yaml", """
                policies:
                  - {id: one, match: {e: x}, limits: [{algorithm: gcra, limit: 5, per: 1s}]}
                  - {id: two, match: {e: x}, limits: [{algorithm: gcra, limit: 100, per: 1m}]}
                  - {id: three, layer: t, match: {tenant: "*"}, key: [tenantt], limits: [{unlimited: true}]}
                  - {id: four, layer: q, match: {tenant: "*"}, queue: q}
                queues:
                  - {id: q, limit: 1, per: 1s, fair-by: tenent}
                  - {id: r, limit: 1, per: 1s, fair-by: tenant}
                """);
        assertThat(Shell.run("policies", "validate", file))
                .isEqualTo(new CapturedRun(
                        0,
                        file + ": 4 policies, 2 queues, no faults\n" + file
                                + ": warning: policy 'two' never applies: policy 'one' of the same layer ('client') goes"
                                + " first by its id, with the same priority, and matches all of its requests; give 'two' a"
                                + " higher priority or another layer, or narrow the match of 'one'\n" + file
                                + ": warning: policy 'three': its key has 'tenantt', which its match does not have; did"
                                + " you mean \"tenant\"? All requests without 'tenantt' share one count\n" + file
                                + ": warning: queue 'q': its fair-by is 'tenent', which no policy that sends to it matches;"
                                + " did you mean \"tenant\"? All requests without 'tenent' share as one\n",
                        ""));
    }

    @Test
    void a_valid_policy_file_passes() throws IOException {
        String file = write("rules.yaml", RULES);
        assertThat(Shell.run("policies", "validate", file))
                .isEqualTo(new CapturedRun(0, file + ": 1 policy, no faults\n", ""));
    }

    @Test
    void a_valid_policy_file_with_queues_passes() throws IOException {
        String queues = "queues:\n  - {id: sms, limit: 100, per: 1s}\n";
        String file = write("rules.yaml", RULES + "  - {id: s, layer: queues, queue: sms}\n" + queues);
        assertThat(Shell.run("policies", "validate", file))
                .isEqualTo(new CapturedRun(0, file + ": 2 policies, 1 queue, no faults\n", ""));
        write("rules.yaml", queues + "  - {id: mail, limit: 1, per: 1s}\n");
        assertThat(Shell.run("policies", "validate", file))
                .isEqualTo(new CapturedRun(0, file + ": 0 policies, 2 queues, no faults\n", ""));
        write("rules.yaml", "policies: [{id: s, queue: sms}]");
        assertThat(Shell.run("policies", "validate", file))
                .isEqualTo(new CapturedRun(2, "", file + ":1: policies[0].queue: queue 'sms' is not defined\n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "# nothing yet\n", "policies: []\n", "policies:\nqueues: []\n"})
    void an_empty_policy_file_is_a_fault(String text) throws Exception {
        Path file = Files.writeString(directory.resolve("empty.yaml"), text);
        for (List<String> command : List.of(
                List.of("policies", "validate"),
                List.of("policies", "apply", "--prune", "-b", "localhost:1"),
                List.of("run", "--dev", "--policies"),
                List.of("backtest", "--requests", file.toString(), "--policies"))) {
            List<String> words = new ArrayList<>(command);
            words.add(file.toString());
            CapturedRun run = Shell.run(words.toArray(String[]::new));
            assertThat(run.exit()).isEqualTo(2);
            assertThat(run.out()).isEmpty();
            assertThat(run.err())
                    .endsWith(": " + file + ": has no policies and no queues\n")
                    .hasLineCount(1);
        }
    }

    @Test
    void every_fault_of_a_policy_file_is_a_line_and_the_exit_is_2() throws IOException {
        String file = write("rules.yaml", RULES.replace("per: 1s", "per: soon").replace("id: p", "id: 'a b'"));
        CapturedRun result = Shell.run("policies", "validate", file);
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err().lines())
                .satisfiesExactlyInAnyOrder(
                        line -> assertThat(line).startsWith(file + ":2: policies[0].id: "),
                        line -> assertThat(line).startsWith(file + ":4: policies[0].limits[0].per: "));
    }

    @Test
    void a_missing_file_is_named() {
        CapturedRun result = Shell.run("policies", "validate", "nowhere.yaml");
        assertThat(result).isEqualTo(new CapturedRun(2, "", "weir policies validate: nowhere.yaml: no such file\n"));
    }

    @Test
    void backtest_prints_decisions_and_who_is_limited() throws IOException {
        String rules = write("rules.yaml", RULES);
        String requests = write(
                "requests.ndjson",
                "{\"requestId\":\"a\",\"client\":\"alice\",\"timestamp\":5}\n{\"requestId\":\"b\",\"client\":\"alice\",\"timestamp\":6}\n");
        Path decisions = directory.resolve("decisions.ndjson");
        CapturedRun result = Shell.run("backtest", "-p", rules, "-r", requests, "-d", decisions.toString());
        assertThat(result.exit()).isZero();
        assertThat(result.out().lines()).anyMatch(line -> line.matches("  p +2 +1 +0 +1 +50\\.0%"));
        assertThat(result.out().lines()).anyMatch(line -> line.matches("  alice +1"));
        assertThat(Files.readAllLines(decisions)).hasSize(2);
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "-d", "-").out())
                .isEqualTo(Files.readString(decisions));
    }

    @Test
    void the_counts_of_a_backtest_are_a_document() throws IOException {
        String rules = write(
                "rules.yaml",
                RULES + "    match: {tier: free}\n  - {id: s, match: {tier: pro}, queue: sms}\n"
                        + "queues: [{id: sms, limit: 2, per: 1s, key: [client]}]\n");
        StringBuilder lines = new StringBuilder();
        for (String tier : List.of("free", "pro")) {
            for (int i = 0; i < 3; i++) {
                lines.append("{\"requestId\":\"%s%d\",\"client\":\"alice\",\"tier\":\"%s\",\"timestamp\":5}\n"
                        .formatted(tier, i, tier));
            }
        }
        String requests = write("requests.ndjson", lines.toString());
        assertThat(Shell.document("backtest", "-p", rules, "-r", requests)).isEqualTo(Json.read("""
                {"requests":6,"allowed":1,"queued":3,"denied":2,"observed":0,"delayed":0,"repeated":0,
                 "policies":[
                  {"policy":"p","requests":3,"allowed":1,"queued":0,"denied":2,"observed":0,"delayed":0,"repeated":0},
                  {"policy":"s","requests":3,"allowed":0,"queued":3,"denied":0,"observed":0,"delayed":0,"repeated":0}],
                 "tiers":[
                  {"tier":"free","requests":3,"allowed":1,"queued":0,"denied":2,"observed":0,"delayed":0,"repeated":0},
                  {"tier":"pro","requests":3,"allowed":0,"queued":3,"denied":0,"observed":0,"delayed":0,"repeated":0}],
                 "queues":[
                  {"queue":"sms","queued":3,"refused":0,"released":3,"expired":0,"evicted":0,"cancelled":0,
                   "waitMs":{"p50":500,"p99":1000},"tiers":[
                    {"tier":"pro","queued":3,"refused":0,"released":3,"expired":0,"evicted":0,"cancelled":0,
                     "waitMs":{"p50":500,"p99":1000}}],
                   "tokensPerSecond":2.0,"rate":{"limit":2,"perMs":1000},"total":null,"keys":1,
                   "gapMs":{"min":499.968,"p50":500.223}}],
                 "clients":[{"client":"alice","denied":2}],"shared":[]}"""));
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "-d", "-", "-o", "json"))
                .isEqualTo(new CapturedRun(
                        2,
                        "",
                        "weir backtest: --output cannot be used with decisions or releases on standard output\n"));
    }

    @Test
    void an_unknown_format_is_wrong_usage() {
        CapturedRun run = Shell.run("queues", "-o", "csv");
        assertThat(run.exit()).isEqualTo(2);
        assertThat(run.err()).contains("--output", "table, json, yaml", "'csv'").hasLineCount(1);
    }

    @Test
    void names_from_a_file_cannot_control_the_terminal() throws IOException {
        String rules = write("rules.yaml", RULES);
        String request =
                "{\"requestId\":\"a\",\"client\":\"al\\u001b[2J\\nice\\u009b\",\"tier\":\"\\u202e\\r\",\"timestamp\":5}\n";
        String requests = write("requests.ndjson", request + request);
        CapturedRun result = Shell.run("backtest", "-p", rules, "-r", requests);
        assertThat(result.out().lines())
                .anyMatch(line -> line.matches("  al\\\\u001b\\[2J\\\\u000aice\\\\u009b +1"))
                .anyMatch(line -> line.startsWith("  \\u202e\\u000d "));
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "-d", "-").out())
                .contains("\"client\":\"al\\u001B[2J\\nice\\u009b\"")
                .doesNotContain("\u009b");
    }

    @Test
    void a_backtest_drains_queues_and_writes_their_releases() throws IOException {
        String rules = write("rules.yaml", "policies: [{id: s, queue: sms}]\nqueues: [{id: sms, limit: 1, per: 1s}]");
        String requests = write("requests.ndjson", "{\"requestId\":\"a\",\"client\":\"alice\",\"timestamp\":5}\n");
        Path same = directory.resolve("same");
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "--releases", "-")
                        .out())
                .startsWith("{\"requestId\":\"a\"")
                .contains("\"releaseAt\":5,");
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "-d", "-", "--releases", "-")
                        .exit())
                .isEqualTo(2);
        assertThat(Shell.run(
                        "backtest",
                        "-p",
                        rules,
                        "-r",
                        requests,
                        "-d",
                        same.toString(),
                        "--releases",
                        directory + "/./same"))
                .isEqualTo(new CapturedRun(2, "", "weir backtest: --decisions and --releases must not be the same\n"));
        assertThat(same).doesNotExist();
    }

    @Test
    void a_backtest_does_not_overwrite_its_input() throws IOException {
        String rules = write("rules.yaml", RULES);
        String requests = write("requests.ndjson", "{\"requestId\":\"a\",\"client\":\"alice\"}\n");
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "-d", requests)
                        .exit())
                .isEqualTo(2);
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests, "-d", rules)
                        .exit())
                .isEqualTo(2);
        assertThat(Files.size(Path.of(requests))).isPositive();
        assertThat(Files.size(Path.of(rules))).isPositive();
    }

    @Test
    void a_wrong_kafka_setting_is_named() throws IOException {
        String config = write("weir.yaml", "kafka: {max.poll.records: many}\n");
        CapturedRun result = Shell.run("policies", "list", "-c", config);
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err())
                .contains("the kafka section", "max.poll.records")
                .hasLineCount(1);
    }

    @Test
    void an_invalid_request_ends_a_backtest_and_its_line_is_named() throws IOException {
        String rules = write("rules.yaml", RULES);
        String requests =
                write("requests.ndjson", "{\"requestId\":\"a\",\"client\":\"alice\"}\n{\"requestId\":\"b\"}\n");
        CapturedRun result = Shell.run("backtest", "-p", rules, "-r", requests);
        assertThat(result).isEqualTo(new CapturedRun(2, "", "weir backtest: " + requests + ":2: client is required\n"));
    }

    @Test
    void a_binary_file_ends_a_backtest_and_its_line_is_named() throws IOException {
        String rules = write("rules.yaml", RULES);
        String requests = Files.write(directory.resolve("requests.ndjson"), new byte[] {'\n', (byte) 0xC3, 0x28})
                .toString();
        assertThat(Shell.run("backtest", "-p", rules, "-r", requests))
                .isEqualTo(new CapturedRun(2, "", "weir backtest: " + requests + ":2: is not valid UTF-8\n"));
    }

    @Test
    void a_wrong_setting_is_named_with_its_key() throws IOException {
        String config = write("weir.yaml", "threads: 0\n");
        CapturedRun result = Shell.run("policies", "list", "-c", config);
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err())
                .startsWith(config + ":1: threads")
                .endsWith("\n")
                .hasLineCount(1);
    }

    @Test
    void an_unreachable_broker_is_one_line_and_exit_1() throws IOException {
        String config = write(
                "weir.yaml",
                "kafka: {bootstrap.servers: \"localhost:1\", request.timeout.ms: 1000, default.api.timeout.ms: 1000}\n");
        CapturedRun result = Shell.run("run", "--service-port", "0", "-c", config);
        assertThat(result.exit()).isEqualTo(1);
        assertThat(result.err()).startsWith("weir run: ").hasLineCount(1);
    }

    private String write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text).toString();
    }

    @Test
    void run_rejects_an_unsafe_state_directory_before_it_connects() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        Path config = Files.writeString(directory.resolve("weir.yaml"), "state: {directory: '" + file + "'}");
        assertThat(Shell.run("run", "-b", "127.0.0.1:1", "-c", config.toString()))
                .isEqualTo(new CapturedRun(
                        2,
                        "",
                        "weir run: state.directory " + file + ": " + file
                                + " is not a directory; set state.directory to another path\n"));
    }
}
