package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile;
import dev.weir.event.Outcome;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.wire.PolicyAvro;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that queues on the policies topic come into force. */
class LiveQueuesTest {

    private static final String SMS = "queues: [{id: sms, limit: 100, per: 1s, tiers: {gold: {weight: 4}}}]";

    @TempDir
    Path directory;

    private TopologyHarness weir;

    @BeforeEach
    void open() {
        weir = new TopologyHarness(directory.resolve("weir-state"));
    }

    @AfterEach
    void close() {
        weir.close();
    }

    @Test
    void an_applied_queue_is_in_force() throws Exception {
        assertThat(weir.live.queue("sms")).isNull();
        long before = weir.live.queueChanges();

        weir.apply(SMS, 3);

        assertThat(weir.live.queue("sms"))
                .isEqualTo(QueueRules.builder("sms", 100, 1000)
                        .version(3)
                        .tiers(Map.of("gold", new TierShare(0, 4)))
                        .build());
        assertThat(weir.live.queueChanges()).isGreaterThan(before);
        assertThat(weir.stored(Stores.POLICIES)).isEqualTo(1);
    }

    @Test
    void a_changed_queue_replaces_the_previous_one() throws Exception {
        weir.apply(SMS, 1);
        long before = weir.live.queueChanges();
        weir.apply(SMS.replace("100", "50"), 2);
        assertThat(weir.live.queue("sms").limit()).isEqualTo(50);
        assertThat(weir.live.queue("sms").version()).isEqualTo(2);
        assertThat(weir.live.queueChanges()).isGreaterThan(before);
    }

    @Test
    void a_deleted_queue_is_out_of_force() throws Exception {
        weir.apply(SMS, 1);
        long before = weir.live.queueChanges();
        weir.rules(
                "queue/sms", new PolicyAvro().encode(new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, "sms", 2, null, 0)));
        assertThat(weir.live.queue("sms")).isNull();
        assertThat(weir.live.queueChanges()).isGreaterThan(before);
        weir.apply(SMS, 3);
        weir.rules("queue/sms", null);
        assertThat(weir.live.queue("sms")).isNull();
    }

    @Test
    void a_queue_and_a_policy_may_have_the_same_id() throws Exception {
        weir.apply("policies: [{id: sms, limits: [{algorithm: gcra, limit: 0}]}]", 1);
        long before = weir.live.queueChanges();
        weir.apply(SMS, 1);
        weir.rules("queue/sms", null);
        assertThat(weir.ask("alice", 1_000).outcome()).isEqualTo(Outcome.DENIED);
        weir.apply(SMS, 2);
        weir.policy("sms", null);
        assertThat(weir.live.queue("sms").version()).isEqualTo(2);
        assertThat(weir.live.queueChanges()).isEqualTo(before + 3);
        assertThat(weir.ask("alice", 1_000).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void policies_and_queues_in_force_are_listed_by_id() throws Exception {
        weir.apply("policies: [{id: z, queue: sms}, {id: sms, queue: sms}]\n" + SMS, 1);
        weir.apply("queues: [{id: a, limit: 1, per: 1s}]", 4);
        assertThat(weir.live.applied(PolicyAvro.Kind.POLICY))
                .extracting(PolicyAvro.Applied::key)
                .containsExactly("policy/sms", "policy/z");
        assertThat(weir.live.applied(PolicyAvro.Kind.QUEUE))
                .extracting(PolicyAvro.Applied::key)
                .containsExactly("queue/a", "queue/sms");
        assertThat(weir.live.size(PolicyAvro.Kind.POLICY)).isEqualTo(2);
        assertThat(weir.live.size(PolicyAvro.Kind.QUEUE)).isEqualTo(2);
        assertThat(weir.live.applied(PolicyAvro.Kind.QUEUE, "a").version()).isEqualTo(4);
        assertThat(weir.live.applied(PolicyAvro.Kind.POLICY, "a")).isNull();
        weir.rules("queue/a", new PolicyAvro().encode(new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, "a", 5, null, 0)));
        assertThat(weir.live.applied(PolicyAvro.Kind.QUEUE, "a")).isNull();
        assertThat(weir.live.size(PolicyAvro.Kind.QUEUE)).isEqualTo(1);
        weir.policy("z", null);
        weir.policy("z", null);
        assertThat(weir.live.size(PolicyAvro.Kind.POLICY)).isEqualTo(1);
    }

    @Test
    void an_unreadable_record_leaves_the_previous_queue_in_force() throws Exception {
        weir.apply(SMS, 1);
        QueueRules before = weir.live.queue("sms");
        long changes = weir.live.queueChanges();
        PolicyAvro avro = new PolicyAvro();
        String definition = PolicyFile.read("f", SMS).queues().get(0).json();
        weir.rules("queue/sms", "nonsense".getBytes(StandardCharsets.UTF_8));
        weir.rules("queue/sms", queue(avro, "sms", "{\"id\":\"sms\"}"));
        weir.rules("queue/sms", queue(avro, "sms", definition.replace("sms", "mail")));
        weir.rules("queue/sms", queue(avro, "mail", definition));
        weir.rules("queue/sms", queue(avro, "sms", "{\"id\":\"sms\",\"limits\":[{\"unlimited\":true}]}"));
        weir.rules("queues/sms", queue(avro, "sms", definition));
        weir.rules("sms", null);
        assertThat(weir.live.queue("sms")).isEqualTo(before);
        assertThat(weir.live.queue("mail")).isNull();
        assertThat(weir.live.queueChanges()).isEqualTo(changes);
        assertThat(weir.stored(Stores.POLICIES)).isEqualTo(1);
    }

    private static byte[] queue(PolicyAvro avro, String id, String definition) {
        return avro.encode(new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, id, 2, definition, 0));
    }
}
