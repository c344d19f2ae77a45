package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.PolicyAvro;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Applies, lists and deletes queues and their policies with {@code weir policies}. */
class QueuesOnTopicTest {

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
                policy\tfree\t1\t{"id":"free","queue":"sms"}
                queue\tsms\t1\t{"id":"sms","limit":100,"per":"1s"}
                """));
        assertThat(apply("policies: [{id: gold, queue: sms}]")) // the queue is on the topic
                .isEqualTo(done("added      gold (version 1)\n"));
        assertThat(apply("policies: [{id: gold, queue: sns}]").err())
                .endsWith("queue 'sns' is not defined; did you mean \"sms\"?\n");

        assertThat(policies("delete", "--queue", "sms"))
                .isEqualTo(failed("weir policies delete: nothing was changed: policies free, gold send to queue sms,"
                        + " which would be deleted\n"));
        assertThat(apply("policies: [{id: gold, queue: sms}]", "--prune"))
                .isEqualTo(failed("weir policies apply: nothing was changed: policy gold sends to queue sms, which"
                        + " would be deleted\n"));
        assertThat(policies("list").out()).hasLineCount(3);

        assertThat(policies("delete", "free", "gold").exit()).isZero();
        assertThat(policies("delete", "sms")).isEqualTo(failed("weir policies delete: no policy sms\n"));
        assertThat(policies("delete", "--queue", "sms"))
                .isEqualTo(done("deleted    queue sms (version 1): denies new requests; waiting requests drain\n"));
        assertThat(policies("delete", "--queue", "sms")).isEqualTo(failed("weir policies delete: no queue sms\n"));
        assertThat(policies("list")).isEqualTo(done(""));
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
                .matches("3\t" + now + "\t\tcarol\tno longer needed\tdeleted\n"
                        + "2\t" + now + "\t2999-01-01T00:00:00Z\t" + user + "\t\t\\{.*}\n"
                        + "1\t" + now + "\t\t" + user + "\t\t\\{.*}\n");
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
        String line =
                "{\"id\":\"raw\",\\u000a\"match\":{\"client\":\"\\u009b2J\"},\"limits\":[{\"unlimited\":true}]}\n";
        assertThat(policies("list").out()).contains("policy\traw\t1\t" + line);
        assertThat(policies("history", "raw").out()).isEqualTo("1\t1970-01-01T00:00:00Z\t\t\t\t" + line);
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
        assertThat(policies("list").out()).contains("policy\tdiff\t1\t").contains("\"limit\":5");
        assertThat(apply(rules.replace("5", "7"))).isEqualTo(done(reported));
        assertThat(apply(rules.replace("5", "7"), "--dry-run"))
                .isEqualTo(done("unchanged  diff (version 2)\nnothing was written: this was a dry run\n"));
        assertThat(policies("delete", "diff").exit()).isZero();
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
        String[] all = new String[args.length + 3];
        all[0] = "policies";
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
