package dev.weir.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.APPEND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.assertj.core.data.Index.atIndex;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.testing.Effort;
import dev.weir.testing.RandomPolicyFiles;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
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
@Tag("full")
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
    void printed_policies_can_be_applied_again_and_change_nothing() throws IOException {
        for (int seed = 0; seed < Effort.times(2); seed++) {
            String random = new RandomPolicyFiles(new Random(seed)).next(20, 4);
            assertThat(apply(random, "--prune").exit()).as("seed " + seed).isZero();
            for (String format : List.of("yaml", "json")) {
                String exported = policies("export", "-o", format).out();
                assertThat(exported.lines()).allMatch(line -> line.equals(SafeText.of(line)));
                assertThat(withoutWarnings(apply(exported, "--prune")))
                        .as(exported)
                        .allMatch(line -> line.startsWith("unchanged  "))
                        .contains("unchanged  24 policies and queues");
            }
            for (String id : List.of("true", "1e5", "p12")) {
                assertThat(withoutWarnings(apply(policies("get", id).out())))
                        .containsExactly("unchanged  " + id + " (version " + version(policies("history", id)) + ")");
            }
            assertThat(apply(policies("get", "--queue", "null", "a").out())
                            .out()
                            .lines())
                    .hasSize(2)
                    .allMatch(line -> line.startsWith("unchanged  queue "));
            deletePolicies(); // otherwise, the next seed could change the key of a queue
            assertThat(policies("delete", "--queue", "a", "true", "null", "1").exit())
                    .isZero();
        }
    }

    /** Returns what is printed but warnings: a random policy may never apply. */
    private static List<String> withoutWarnings(CapturedRun run) {
        return run.out()
                .lines()
                .filter(line -> !line.startsWith("    warning: "))
                .toList();
    }

    private static String version(CapturedRun history) {
        return history.out().lines().skip(1).findFirst().orElseThrow().split(" ", 2)[0];
    }

    private static void deletePolicies() {
        List<String> words = new ArrayList<>(List.of("delete"));
        policies("list")
                .out()
                .lines()
                .filter(line -> line.startsWith("policy "))
                .forEach(line -> words.add(line.split(" +", 3)[1]));
        assertThat(policies(words.toArray(String[]::new)).exit()).isZero();
    }

    @Test
    void a_policy_is_printed_with_its_version_and_restored() throws IOException {
        String rules = "policies: [{id: back, limits: [{algorithm: gcra, limit: 5, per: 1m}]}]";
        apply(rules);
        apply(rules.replace("5", "7"), "--author", "carol", "--reason", "more # \u202e");
        assertThat(policies("get", "back").out())
                .matches(
                        "policies:\n  # version 2, applied \\S+Z by carol: more # \\\\u202e\n  - id: back\n    limits:\n"
                                + "      - \\{algorithm: gcra, limit: 7, per: 1m}\n");
        assertThat(policies("get", "back", "--at-version", "1").out()).contains("limit: 5");
        assertThat(policies("get", "back", "-o", "json"))
                .isEqualTo(done("{\"policies\":[{\"id\":\"back\",\"limits\":[{\"algorithm\":\"gcra\",\"limit\":7,"
                        + "\"per\":\"1m\"}]}],\"queues\":[]}\n"));

        String restored = """
                changed    back (version 3)
                    limits[0].limit: 7 -> 5
                    gcra 5/1m: counts the current usage of gcra 7/1m, rounded up, as used at the change, and a client that \
                has used up the limit waits up to 12s
                """;
        assertThat(policies("restore", "back", "1", "--dry-run"))
                .isEqualTo(done(restored + "nothing was written: this was a dry run\n"));
        assertThat(policies("restore", "back", "1", "--author", "dave")).isEqualTo(done(restored));
        assertThat(policies("history", "back").out()).containsPattern("\n3 .*  dave +Restore version 1  \\{");
        assertThat(policies("restore", "back", "1")).isEqualTo(done("unchanged  back (version 3)\n"));

        assertThat(policies("delete", "back").exit()).isZero();
        assertThat(policies("get", "back"))
                .isEqualTo(failed("weir policies get: no policy back is in force; see its versions with:"
                        + " weir policies history back\n"));
        assertThat(policies("restore", "back", "4"))
                .isEqualTo(failed("weir policies restore: version 4 is the deletion of policy back; see the other"
                        + " versions with: weir policies history back\n"));
        assertThat(policies("restore", "back", "2")).isEqualTo(done("added      back (version 5)\n"));
        assertThat(policies("restore", "back", "9"))
                .isEqualTo(failed("weir policies restore: version 9 of policy back is not in the history, which has"
                        + " versions 1 to 5\n"));
        assertThat(policies("restore", "--queue", "back", "2"))
                .isEqualTo(failed("weir policies restore: no queue back\n"));
        assertThat(policies("delete", "back").exit()).isZero();
    }

    @Test
    void a_policy_is_not_restored_without_its_queue() throws IOException {
        apply("policies: [{id: queued, queue: gone}]\nqueues: [{id: gone, limit: 1, per: 1s}]");
        apply("policies: [{id: queued, limits: [{unlimited: true}]}]");
        assertThat(policies("delete", "--queue", "gone").exit()).isZero();
        assertThat(policies("restore", "queued", "1"))
                .isEqualTo(failed("version 1 of policy queued:1: queue: queue 'gone' is not defined\n"));
        assertThat(policies("restore", "--queue", "gone", "1").exit()).isZero();
        assertThat(policies("restore", "queued", "1").out()).startsWith("changed    queued (version 3)\n");
        policies("delete", "queued");
        policies("delete", "--queue", "gone");
    }

    @Test
    void a_version_in_force_before_a_scheduled_one_is_named() throws IOException {
        String now = "policies: [{id: soon, limits: [{unlimited: true}]}]";
        apply(now);
        apply(now.replace("}]}", "}], effective-from: 2999-01-01T00:00:00Z}"));
        assertThat(policies("get", "soon").out())
                .contains("\n  # version 1 is in force until a later one takes effect; it is not part of this file\n")
                .contains("effective-from: \"2999-01-01T00:00:00Z\"\n");
        policies("delete", "soon");
    }

    @Test
    void decisions_are_watched_by_outcome_policy_reason_and_tier() {
        WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        DecisionCodec codec = new DecisionCodec();
        Properties settings = new Properties();
        settings.put("bootstrap.servers", broker.bootstrapServers());
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            for (String tier : List.of("free", "gold")) {
                for (Reason reason : List.of(Reason.WITHIN_LIMITS, Reason.LIMIT_EXCEEDED, Reason.TOO_LARGE)) {
                    Outcome outcome = reason == Reason.WITHIN_LIMITS ? Outcome.ALLOWED : Outcome.DENIED;
                    Decision decision = new Decision(
                                    new Decision.Identity(
                                            tier + "-" + reason, "watched", tier, new Request.Source(0, 0)),
                                    new Decision.Status(outcome, reason, 200),
                                    Decision.Timing.passed(1))
                            .withLimit(new PolicyVersion("p-" + tier, 1), null);
                    var unused = producer.send(
                            new ProducerRecord<>(Topics.of(config).decisions(), 0, "watched", codec.encode(decision)));
                }
            }
        }
        assertThat(watched(6)).hasSize(6);
        assertThat(watched(2, "--outcome", "allowed")).containsExactly("free-WITHIN_LIMITS", "gold-WITHIN_LIMITS");
        assertThat(watched(2, "--reason", "too_large,within_limits", "--tier", "gold"))
                .containsExactly("gold-WITHIN_LIMITS", "gold-TOO_LARGE");
        assertThat(watched(2, "--policy", "p-free", "--outcome", "denied"))
                .containsExactly("free-LIMIT_EXCEEDED", "free-TOO_LARGE");
    }

    /** Returns the ids of the requests of the first decisions that are selected, among those of the client. */
    private static List<String> watched(int count, String... filter) {
        List<String> words = new ArrayList<>(List.of("decisions", "--client", "watched", "--from-beginning"));
        words.addAll(List.of("--timeout", "1m", "--count", String.valueOf(count)));
        words.addAll(List.of(filter));
        return run("watch", words.toArray(String[]::new))
                .out()
                .lines()
                .map(line -> Json.read(line).get("requestId").asText())
                .toList();
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
                        + "3 +" + now + " +- +carol +no longer needed  deleted\n"
                        + "2 +" + now + " +2999-01-01T00:00:00Z +" + user + " +- +\\{.*}\n"
                        + "1 +" + now + " +- +" + user + " +- +\\{.*}\n");
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
