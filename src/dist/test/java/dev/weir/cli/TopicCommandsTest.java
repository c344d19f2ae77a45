package dev.weir.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.APPEND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.assertj.core.data.Index.atIndex;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.PolicyAvro;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the commands that read and change topics, with a real broker. */
@Tag("broker")
class TopicCommandsTest {

    private static final String SMS = "queues: [{id: sms, limit: 100, per: 1s}]\n";

    private static EmbeddedBroker broker;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() {
        broker = EmbeddedBroker.start();
        WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @Test
    void queues_are_applied_listed_protected_while_used_and_deleted() throws IOException {
        assertThat(apply("policies: [{id: free, queue: sms}]"))
                .isEqualTo(failed(directory.resolve("f.yaml") + ":1: policies[0].queue: queue 'sms' is not defined\n"));
        assertThat(apply(SMS + "policies: [{id: free, queue: sms}]"))
                .isEqualTo(done("added      queue sms (version 1)\nadded      free (version 1)\n"));
        assertThat(policies("list")).isEqualTo(done("""
                KIND    ID    VERSION  DEFINITION
                policy  free  1        {"id":"free","queue":"sms"}
                queue   sms   1        {"id":"sms","limit":100,"per":"1s"}
                """));
        JsonNode listed = Shell.document("policies", "list", "-b", broker.bootstrapServers());
        assertThat(listed.at("/policies/0/definition")).hasToString("{\"id\":\"free\",\"queue\":\"sms\"}");
        assertThat(listed.at("/queues/0/id").asText()).isEqualTo("sms");
        assertThat(apply("policies: [{id: gold, layer: gold, queue: sms}]")) // the queue is on the topic
                .isEqualTo(done("added      gold (version 1)\n"));
        assertThat(apply("policies: [{id: gold, layer: gold, queue: sns}]").err())
                .endsWith("queue 'sns' is not defined; did you mean \"sms\"?\n");

        assertThat(policies("delete", "--queue", "sms"))
                .isEqualTo(failed("weir policies delete: nothing was changed: policies free, gold send to queue sms,"
                        + " which would be deleted\n"));
        assertThat(apply("policies: [{id: gold, layer: gold, queue: sms}]", "--prune"))
                .isEqualTo(failed("weir policies apply: nothing was changed: policy gold sends to queue sms, which"
                        + " would be deleted\n"));
        assertThat(policies("list").out()).hasLineCount(4);

        assertThat(policies("delete", "free", "gold").exit()).isZero();
        assertThat(policies("delete", "sms")).isEqualTo(failed("weir policies delete: no policy sms\n"));
        assertThat(policies("delete", "--queue", "sms"))
                .isEqualTo(done("deleted    queue sms (version 2): denies new requests; waiting requests drain\n"));
        assertThat(policies("delete", "--queue", "sms")).isEqualTo(failed("weir policies delete: no queue sms\n"));
        assertThat(policies("list")).isEqualTo(done("no policies and no queues\n"));
    }

    @Test
    void a_list_in_json_has_the_author_and_the_reason_of_each_version_in_force() throws IOException {
        Path file =
                Files.writeString(directory.resolve("f.yaml"), "policies: [{id: who, limits: [{unlimited: true}]}]");
        policies("apply", "--author", "ann", "--reason", "first", file.toString());
        Files.writeString(
                file, "policies: [{id: who, limits: [{unlimited: true}], effective-from: 2999-01-01T00:00:00Z}]");
        policies("apply", "--author", "bob", "--reason", "later", file.toString());
        JsonNode listed = Shell.document("policies", "list", "-b", broker.bootstrapServers());
        List<String> changes = new ArrayList<>();
        listed.get("policies").forEach(policy -> {
            if (policy.get("id").asText().equals("who")) {
                changes.add(policy.get("version") + " " + policy.get("author").asText() + " "
                        + policy.get("reason").asText());
            }
        });
        assertThat(changes).containsExactly("1 ann first", "2 bob later");
        assertThat(policies("delete", "who")).isEqualTo(done("deleted    who (version 3)\n"));
        assertThat(Shell.document("policies", "history", "who", "-b", broker.bootstrapServers())
                        .at("/versions/0/version")
                        .asInt())
                .isEqualTo(3);
    }

    @Test
    void a_dry_run_warns_of_policies_that_never_apply_and_of_key_fields_that_no_request_has() throws IOException {
        Path requests = Files.writeString(
                directory.resolve("r.ndjson"),
                "{\"requestId\":\"k\",\"client\":\"c\",\"attributes\":{\"e\":\"keyed\",\"tenant\":\"t\"}}\n");
        assertThat(Shell.run("send", "-b", broker.bootstrapServers(), requests.toString())
                        .exit())
                .isZero();
        String both = "policies: [{id: a1, match: {e: keyed}, key: [tenants], limits: [{unlimited: true}]},"
                + " {id: a2, match: {e: keyed}, limits: [{unlimited: true}]}]";
        assertThat(apply(both, "--dry-run")).isEqualTo(done("""
                added      a1 (version 1)
                added      a2 (version 1)
                    warning: policy 'a2' never applies: policy 'a1' of the same layer ('client') goes first by its id, with \
                the same priority, and matches all of its requests; give 'a2' a higher priority or another layer, or narrow \
                the match of 'a1'
                warning: policy 'a1': the last request that it applies to had no 'tenants', which its key has, so they \
                share one count; did you mean "tenant"?
                nothing was written: this was a dry run
                """));
        assertThat(apply("policies: [{id: b2, match: {e: b}, limits: [{unlimited: true}]}]"))
                .isEqualTo(done("added      b2 (version 1)\n"));
        assertThat(apply("policies: [{id: b1, match: {e: b}, limits: [{unlimited: true}]}]")
                        .out())
                .contains("    warning: policy 'b2' never applies: policy 'b1' ");
        assertThat(policies("delete", "b1", "b2").exit()).isZero();
    }

    @Test
    void watching_ends_at_its_timeout() {
        assertThat(Shell.run("watch", "decisions", "-b", broker.bootstrapServers(), "--timeout", "100ms"))
                .isEqualTo(done(""));
        assertThat(Shell.run("watch", "releases", "-b", broker.bootstrapServers(), "--timeout", "100ms", "-n", "2"))
                .isEqualTo(new CapturedRun(
                        1, "", "weir watch releases: timed out after 100ms; 0 of 2 records were there\n"));
    }

    @Test
    void past_versions_are_listed() throws IOException {
        String later = "policies: [{id: old, limits: [{unlimited: true}], effective-from: 2999-01-01T00:00:00Z}]";
        apply("policies: [{id: old, limits: [{unlimited: true}]}]");
        assertThat(apply(later, "--dry-run").out()).startsWith("changed    old (version 2)\n");
        assertThat(apply(later).out()).startsWith("changed    old (version 2)\n");
        policies("delete", "--author", "carol", "--reason", "no longer needed", "old");
        assertThat(policies("delete", "--author", " ", "old"))
                .isEqualTo(failed("weir policies delete: --author, --reason: the author must not be blank\n"));
        String user = Pattern.quote(System.getProperty("user.name"));
        String now = "\\d{4}-\\d{2}-\\d{2}T[0-9:.]+Z";
        assertThat(policies("history", "old").out())
                .matches("VERSION  CHANGED AT +EFFECTIVE FROM +AUTHOR +REASON +DEFINITION\n"
                        + "3 +" + now + "  - +carol +no longer needed  deleted\n"
                        + "2 +" + now + "  2999-01-01T00:00:00Z +" + user + " +- +\\{.*}\n"
                        + "1 +" + now + "  - +" + user + " +- +\\{.*}\n");
        JsonNode history = Shell.document("policies", "history", "old", "-b", broker.bootstrapServers());
        assertThat(history.at("/versions/0/reason").asText()).isEqualTo("no longer needed");
        assertThat(history.at("/versions/0/definition").isNull()).isTrue();
        assertThat(history.at("/versions/1/definition/effective-from").asText()).isEqualTo("2999-01-01T00:00:00Z");
        assertThat(policies("history", "--queue", "old")).isEqualTo(failed("weir policies history: no queue old\n"));
    }

    @Test
    void each_definition_is_listed_on_one_line() throws Exception {
        String definition = "{\"id\":\"raw\",\n\"match\":{\"client\":\"\u009b2J\"},\"limits\":[{\"unlimited\":true}]}";
        byte[] record =
                new PolicyAvro().encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "raw", 1, definition, 0));
        Properties settings = new Properties();
        settings.put("bootstrap.servers", broker.bootstrapServers());
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>("weir.policies", 0, "policy/raw", record))
                    .get();
            producer.send(new ProducerRecord<>("weir.policy-history", 0, "policy/raw/1", record))
                    .get();
        }
        String line = "{\"id\":\"raw\",\"match\":{\"client\":\"\\u009b2J\"},\"limits\":[{\"unlimited\":true}]}\n";
        assertThat(policies("list").out()).contains("policy  raw  1        " + line);
        assertThat(policies("history", "raw").out())
                .endsWith("\n1        1970-01-01T00:00:00Z  -               -       -       " + line);
        assertThat(Shell.document("policies", "history", "raw", "-b", broker.bootstrapServers())
                        .at("/versions/0/definition/match/client")
                        .asText())
                .isEqualTo("\u009b2J");
        assertThat(policies("delete", "raw").exit()).isZero();
    }

    @Test
    void a_change_is_printed_with_the_usage_that_it_carries_over() throws IOException {
        String rules = "policies: [{id: diff, limits: [{algorithm: gcra, limit: 5, per: 1m}]}]";
        apply(rules);
        assertThat(apply(rules)).isEqualTo(done("unchanged  diff (version 1)\n"));
        String reported = """
                changed    diff (version 2)
                    limits[0].limit: 5 -> 7
                    gcra 7/1m: counts the current usage of gcra 5/1m, rounded up, as used at the change
                """;
        for (int i = 0; i < 2; i++) {
            assertThat(apply(rules.replace("5", "7"), "--dry-run"))
                    .isEqualTo(done(reported + "nothing was written: this was a dry run\n"));
        }
        assertThat(policies("list").out()).contains("policy  diff  1  ").contains("\"limit\":5");
        assertThat(apply(rules.replace("5", "7"))).isEqualTo(done(reported));
        assertThat(apply(rules.replace("5", "7"), "--dry-run"))
                .isEqualTo(done("unchanged  diff (version 2)\nnothing was written: this was a dry run\n"));
        assertThat(policies("delete", "diff").exit()).isZero();
    }

    @Test
    void dead_letters_are_listed_and_replayed() throws Exception {
        assertThat(deadLetters("list")).isEqualTo(done("no dead letters\n"));
        Properties settings = new Properties();
        settings.put("bootstrap.servers", broker.bootstrapServers());
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            for (String[] letter :
                    new String[][] {{"weir.requests", "NOT_JSON"}, {"weir.policies", "INVALID_POLICY"}}) {
                ProducerRecord<String, byte[]> record =
                        new ProducerRecord<>("weir.dead-letters", 1, "alice", new byte[] {'{', 0x1b});
                record.headers()
                        .add("weir.source.topic", letter[0].getBytes(UTF_8))
                        .add("weir.source.partition", "0".getBytes(UTF_8))
                        .add("weir.source.offset", "7".getBytes(UTF_8))
                        .add("weir.reason", letter[1].getBytes(UTF_8))
                        .add("weir.detail", "it is \u009b2J wrong".getBytes(UTF_8));
                producer.send(record).get();
            }
        }
        String listed = deadLetters("list", "--reason", "NOT_JSON").out();
        assertThat(listed.lines())
                .hasSize(2)
                .last(STRING)
                .matches("1:0 +\\S+Z +NOT_JSON +weir.requests:0:7 +alice +\\{\\\\u001b +it is \\\\u009b2J wrong");
        JsonNode newest = Shell.document("dead-letters", "list", "--most", "1", "-b", broker.bootstrapServers());
        assertThat(newest.at("/deadLetters/0/position").asText()).isEqualTo("1:1");
        assertThat(newest.at("/deadLetters/0/value/text").asText()).isEqualTo("{\u001b");
        assertThat(newest.get("complete").asBoolean()).isFalse();
        assertThat(deadLetters("list", "--most", "1").err()).isEqualTo("there are older dead letters\n");
        assertThat(deadLetters("replay", "1:0", "1:9"))
                .isEqualTo(new CapturedRun(
                        0,
                        "1 replayed, 1 skipped\n",
                        "skipped 1:9: there is no such dead letter, or it was deleted\n"));
        String policy = "skipped 1:1: it is a policy or queue; apply a corrected one with: weir policies apply\n";
        assertThat(deadLetters("replay", "--all"))
                .isEqualTo(new CapturedRun(
                        0,
                        "0 replayed, 2 skipped\n",
                        policy + "skipped 1 that were replayed before; to replay them again, add --again\n"));
        assertThat(deadLetters("replay", "1:0").err()).isEqualTo("skipped 1:0: it was replayed before\n");
        assertThat(deadLetters("replay", "--all", "--again"))
                .isEqualTo(new CapturedRun(0, "1 replayed, 1 skipped\n", policy));
        assertThat(deadLetters("replay").err()).contains("name the positions of dead letters, or use --all");
        assertThat(deadLetters("replay", "--all", "1:0").exit()).isEqualTo(2);
        assertThat(deadLetters("replay", "--reason", "NOT_JSON", "1:0").err()).contains("--reason needs --all");
        assertThat(deadLetters("replay", "x").err()).contains("such as 0:42, not 'x'");
        assertThat(deadLetters("list", "--reason", "x").err()).contains("--reason: reason must be one of ");
    }

    @Test
    void send_stops_at_an_invalid_line_and_says_what_was_sent() throws IOException {
        Path file = Files.writeString(directory.resolve("r.ndjson"), request("s1") + "{}\n" + request("s2"));
        assertThat(run("send", file.toString()))
                .isEqualTo(
                        failed("weir send: " + file + ":2: requestId is required (the request before it was sent)\n"));
    }

    @Test
    void send_skips_and_reports_invalid_lines() throws IOException {
        Path file = directory.resolve("r.ndjson");
        Files.write(file, request("s3").getBytes(UTF_8));
        Files.write(file, new byte[] {'{', (byte) 0xC3, 0x28, '\n'}, APPEND);
        Files.writeString(file, "{\"\u009b\":1}\n{}\n" + request("s4"), APPEND);
        CapturedRun run = run("send", "--skip-invalid", file.toString());
        assertThat(run.exit()).isZero();
        assertThat(run.err().lines())
                .hasSize(4)
                .startsWith("skipped " + file + ":2: is not valid UTF-8")
                .satisfies(
                        line -> assertThat(line)
                                .startsWith("skipped " + file + ":3: ")
                                .contains("\\u009b"),
                        atIndex(1))
                .endsWith("skipped " + file + ":4: requestId is required", "2 sent, 3 skipped");
    }

    @Test
    void send_reports_a_bounded_number_of_invalid_lines() throws IOException {
        Path file = Files.writeString(directory.resolve("r.ndjson"), "{}\n".repeat(25) + request("s5"));
        CapturedRun run = run("send", "--skip-invalid", file.toString());
        assertThat(run.exit()).isZero();
        assertThat(run.err().lines())
                .hasSize(22)
                .endsWith("skipped " + file + ":20: requestId is required", "skipped 5 more", "1 sent, 25 skipped");
    }

    private static String request(String id) {
        return "{\"requestId\":\"%s\",\"client\":\"alice\",\"tier\":\"free\"}\n".formatted(id);
    }

    @Test
    void run_rejects_a_policy_whose_queue_does_not_exist() throws IOException {
        Path file = Files.writeString(directory.resolve("f.yaml"), "policies: [{id: a, queue: nowhere}]");
        assertThat(Shell.run("run", "-b", broker.bootstrapServers(), "-p", file.toString()))
                .isEqualTo(failed(file + ":1: policies[0].queue: queue 'nowhere' is not defined\n"));
    }

    private CapturedRun apply(String yaml, String... options) throws IOException {
        Path file = Files.writeString(directory.resolve("f.yaml"), yaml);
        String[] args = new String[options.length + 2];
        args[0] = "apply";
        System.arraycopy(options, 0, args, 1, options.length);
        args[args.length - 1] = file.toString();
        return policies(args);
    }

    private static CapturedRun policies(String... args) {
        return run("policies", args);
    }

    private static CapturedRun deadLetters(String... args) {
        return run("dead-letters", args);
    }

    private static CapturedRun run(String command, String... args) {
        String[] all = new String[args.length + 3];
        all[0] = command;
        System.arraycopy(args, 0, all, 1, args.length);
        all[args.length + 1] = "-b";
        all[args.length + 2] = broker.bootstrapServers();
        return Shell.run(all);
    }

    private static CapturedRun done(String out) {
        return new CapturedRun(0, out, "");
    }

    private static CapturedRun failed(String err) {
        return new CapturedRun(2, "", err);
    }
}
