package dev.weir.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic.Expected;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class PolicyChangeSetTest {

    private static final PolicyAvro.Kind POLICY = PolicyAvro.Kind.POLICY;
    private static final PolicyAvro.Kind QUEUE = PolicyAvro.Kind.QUEUE;
    private static final Options PRUNE = Options.DEFAULTS.withPrune(true);

    private static final String LIMITED = "{id: a, limits: [{unlimited: true}]}";
    private static final String SMS = "{id: sms, limit: 100, per: 1s}";
    private static final String MAIL = "{id: mail, limit: 5, per: 1s}";

    /** The records on the topic, by key. */
    private final Map<String, PolicyAvro.Applied> topic = new LinkedHashMap<>();

    /** The last versions in the history, by key. */
    private final Map<String, Long> past = new HashMap<>();

    @Test
    void queues_are_written_before_policies() throws FaultsException {
        assertThat(apply("policies: [{id: a, queue: sms}, {id: b, queue: mail}]\nqueues: [" + SMS + ", " + MAIL + "]"))
                .containsExactly("queue/sms 1", "queue/mail 1", "policy/a 1", "policy/b 1");
    }

    @Test
    void policies_are_deleted_before_queues_and_after_other_writes() throws FaultsException {
        apply("policies: [{id: a, queue: sms}, {id: b, queue: sms}]\nqueues: [" + SMS + "]");
        assertThat(prune("policies: [{id: a, queue: mail}]\nqueues: [" + MAIL + "]"))
                .containsExactly("queue/mail 1", "policy/a 2", "policy/b 2 deleted", "queue/sms 2 deleted");
    }

    @Test
    void unchanged_definitions_are_not_written_and_versions_are_never_reused() throws FaultsException {
        String file = "policies: [" + LIMITED + "]\nqueues: [" + SMS + "]";
        apply(file);
        PolicyChangeSet same = update();
        same.apply(PolicyFile.read("f", file), PRUNE);
        assertThat(same.records()).isEmpty();
        assertThat(same.changes())
                .extracting(PolicyTopic.Change::id, PolicyTopic.Change::effect, PolicyTopic.Change::version)
                .containsExactly(
                        tuple("sms", PolicyTopic.Effect.UNCHANGED, 1L), tuple("a", PolicyTopic.Effect.UNCHANGED, 1L));
        assertThat(same.changes()).allMatch(change -> change.before().equals(change.after()));

        assertThat(delete(QUEUE, "sms", "sms", "a")).containsExactly("queue/sms 2 deleted");
        assertThat(delete(QUEUE, "sms")).isEmpty();
        assertThat(apply("queues: [" + SMS + "]")).containsExactly("queue/sms 3");
    }

    @Test
    void a_policy_and_a_queue_may_have_the_same_id() throws FaultsException {
        apply("policies: [{id: sms, queue: sms}]\nqueues: [" + SMS + "]");
        assertThat(delete(POLICY, "sms")).containsExactly("policy/sms 2 deleted");
        assertThat(delete(QUEUE, "sms")).containsExactly("queue/sms 2 deleted");
    }

    @Test
    void a_queue_is_not_deleted_while_a_policy_sends_to_it() throws FaultsException {
        apply("policies: [{id: free-sms, queue: sms}, " + LIMITED + "]\nqueues: [" + SMS + "]");
        assertThatThrownBy(() -> delete(QUEUE, "sms"))
                .isInstanceOf(RefusedChangeException.class)
                .hasMessage("nothing was changed: policy free-sms sends to queue sms, which would be deleted");
        for (int i = 1; i <= 7; i++) {
            apply("policies: [{id: p" + i + ", queue: sms}]");
        }
        assertThatThrownBy(() -> delete(QUEUE, "sms"))
                .hasMessage("nothing was changed: policies free-sms, p1, p2, p3, p4 and 3 more send to queue sms, which"
                        + " would be deleted");
        delete(POLICY, "free-sms", "p1", "p2", "p3", "p4", "p5", "p6", "p7");
        assertThat(delete(QUEUE, "sms")).containsExactly("queue/sms 2 deleted");
    }

    @Test
    void the_key_of_a_queue_does_not_change_while_it_exists() throws FaultsException {
        String keyed = "queues: [{id: hooks, key: [tenant, model], limit: 5, per: 1s}]";
        apply(keyed);
        for (String key : List.of("", "key: tenant, ", "key: [tenant, model, region], ")) {
            String other = "queues: [{id: hooks, " + key + "limit: 5, per: 1s}]";
            assertThatThrownBy(() -> apply(other))
                    .isInstanceOf(RefusedChangeException.class)
                    .hasMessageContaining("the key of queue hooks is [tenant, model] and would be [")
                    .hasMessageEndingWith("; give the new queue another id, or delete this one first: requests are then"
                            + " denied (NO_QUEUE) until those that wait have left");
        }
        assertThat(apply("queues: [{id: hooks, key: [model, tenant], limit: 9, per: 1s}]"))
                .containsExactly("queue/hooks 2"); // the order of the key fields does not matter
        delete(QUEUE, "hooks");
        assertThat(apply("queues: [{id: hooks, key: region, limit: 5, per: 1s}]"))
                .containsExactly("queue/hooks 4");
    }

    @Test
    void a_policy_that_now_limits_frees_its_queue() throws FaultsException {
        apply("policies: [{id: a, queue: sms}]\nqueues: [" + SMS + "]");
        assertThat(prune("policies: [" + LIMITED + "]")).containsExactly("policy/a 2", "queue/sms 2 deleted");
    }

    @Test
    void pruning_does_not_take_the_queue_of_a_policy_in_the_file() throws FaultsException {
        apply("queues: [" + SMS + "]");
        String file = "policies: [{id: a, queue: sms}]";
        assertThatThrownBy(() -> prune(file))
                .isInstanceOf(RefusedChangeException.class)
                .hasMessage("nothing was changed: policy a sends to queue sms, which would be deleted");
        assertThat(apply(file)).containsExactly("policy/a 1");
        assertThatThrownBy(() -> prune(file)).isInstanceOf(RefusedChangeException.class);
    }

    @Test
    void a_queue_deleted_since_the_file_was_read_is_a_fault() throws FaultsException {
        assertThatThrownBy(() -> apply("policies: [{id: a, queue: sms}]"))
                .isInstanceOf(RefusedChangeException.class)
                .hasMessage("nothing was changed: policy a sends to queue sms, which does not exist");
        apply("queues: [" + SMS + "]");
        delete(QUEUE, "sms");
        assertThatThrownBy(() -> apply("policies: [{id: a, queue: sms}]")).hasMessageEndingWith("does not exist");
    }

    @Test
    void an_unreadable_definition_does_not_protect_a_queue() throws FaultsException {
        apply("queues: [" + SMS + "]");
        PolicyAvro.Applied newer = new PolicyAvro.Applied(POLICY, "a", 1, "{\"id\":\"a\",\"queues\":[\"sms\"]}", 0);
        topic.put(newer.key(), newer);
        assertThat(delete(QUEUE, "sms")).containsExactly("queue/sms 2 deleted");
    }

    @Test
    void a_definition_no_longer_on_the_topic_continues_its_versions() throws FaultsException {
        past.put("policy/a", 5L);
        past.put("queue/a", 9L);
        assertThat(delete(POLICY, "a")).isEmpty();
        assertThat(apply("policies: [" + LIMITED + ", {id: b, limits: [{unlimited: true}]}]"))
                .containsExactly("policy/a 6", "policy/b 1");
        past.put("policy/a", 7L);
        assertThat(delete(POLICY, "a")).as("the version on the topic counts").containsExactly("policy/a 7 deleted");
    }

    @Test
    void the_history_is_not_read_for_definitions_on_the_topic() throws FaultsException {
        apply("policies: [" + LIMITED + "]");
        PolicyChangeSet update = new PolicyChangeSet(
                topic,
                () -> {
                    throw new AssertionError("read");
                },
                5,
                ChangeAuthor.UNKNOWN);
        update.apply(
                PolicyFile.read("f", "policies: [{id: a, limits: [{algorithm: gcra, limit: 1, per: 1s}]}]"),
                Options.DEFAULTS);
        update.delete(POLICY, List.of("a"), Options.DEFAULTS);
        assertThat(write(update)).containsExactly("policy/a 2", "policy/a 3 deleted");
    }

    @Test
    void an_unexpected_version_is_a_conflict_that_names_the_version_in_force() throws FaultsException {
        assertConflict(new Expected.Version(1), OptionalLong.empty(), "nothing was changed: there is no policy a");
        assertConflict(new Expected.Present(), OptionalLong.empty(), "nothing was changed: there is no policy a");
        assertConflict(new Expected.Never(), OptionalLong.empty(), "nothing was changed: there is no policy a");
        apply("policies: [" + LIMITED + "]");
        assertConflict(new Expected.Absent(), OptionalLong.of(1), "nothing was changed: policy a has version 1");
        assertConflict(new Expected.Version(2), OptionalLong.of(1), "nothing was changed: policy a has version 1");
        assertConflict(new Expected.Never(), OptionalLong.of(1), "nothing was changed: policy a has version 1");
        PolicyChangeSet update = update();
        update.apply(
                PolicyFile.read("f", "policies: [" + LIMITED + "]"),
                Options.DEFAULTS.withExpected(new Expected.Version(1)));
        update.delete(POLICY, List.of("a"), Options.DEFAULTS.withExpected(new Expected.Present()));
        assertThat(write(update)).containsExactly("policy/a 2 deleted");
        assertConflict(new Expected.Version(2), OptionalLong.empty(), "nothing was changed: there is no policy a");
        update().delete(POLICY, List.of("a"), Options.DEFAULTS.withExpected(new Expected.Absent()));
    }

    private void assertConflict(Expected expected, OptionalLong current, String message) throws FaultsException {
        Options options = Options.DEFAULTS.withExpected(expected);
        PolicyFile.Contents contents = PolicyFile.read("f", "policies: [" + LIMITED + "]");
        for (ThrowingCallable change : List.<ThrowingCallable>of(
                () -> update().apply(contents, options), () -> update().delete(POLICY, List.of("a"), options))) {
            assertThatThrownBy(change)
                    .isInstanceOfSatisfying(ConflictException.class, conflict -> {
                        assertThat(conflict.current()).isEqualTo(current);
                        assertThat(conflict.key()).hasToString("policy/a");
                    })
                    .hasMessage(message);
        }
    }

    private PolicyChangeSet update() {
        return new PolicyChangeSet(topic, () -> past, 5, ChangeAuthor.UNKNOWN);
    }

    @Test
    void a_policy_that_throttles_conflicts_with_one_on_the_topic_that_shapes() throws FaultsException {
        String slow = "{id: slow, layer: a, on-exceed: throttle, max-delay: 1d,"
                + " limits: [{algorithm: gcra, limit: 1, per: 10s}]}";
        String waits = "{id: waits, layer: b, queue: sms}";
        String message =
                "nothing was changed: policy 'slow' in layer 'a' throttles requests that policy 'waits' in layer 'b'"
                        + " sends to a queue: ";
        apply("policies: [" + waits + "]\nqueues: [" + SMS + "]");
        assertThatThrownBy(() -> apply("policies: [" + slow + "]"))
                .isInstanceOf(RefusedChangeException.class)
                .hasMessageStartingWith(message);
        assertThat(prune("policies: [" + slow + "]")).startsWith("policy/slow 1");
        apply("queues: [" + SMS + "]");
        assertThatThrownBy(() -> apply("policies: [" + waits + "]")).hasMessageStartingWith(message);
        assertThat(apply("policies: [" + LIMITED + "]")).hasSize(1);
    }

    private List<String> apply(String yaml) throws FaultsException {
        PolicyChangeSet update = update();
        update.apply(PolicyFile.read("f", yaml, () -> Set.of("sms")), Options.DEFAULTS);
        return write(update);
    }

    private List<String> prune(String yaml) throws FaultsException {
        PolicyChangeSet update = update();
        update.apply(PolicyFile.read("f", yaml, () -> Set.of("sms")), PRUNE);
        return write(update);
    }

    private List<String> delete(PolicyAvro.Kind kind, String... ids) {
        PolicyChangeSet update = update();
        update.delete(kind, List.of(ids), Options.DEFAULTS);
        return write(update);
    }

    private List<String> write(PolicyChangeSet update) {
        update.requireConsistent();
        update.records().forEach(record -> topic.put(record.key(), record));
        return update.records().stream()
                .map(record -> record.key() + " " + record.version() + (record.isDeleted() ? " deleted" : ""))
                .toList();
    }
}
