package dev.weir.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Kind;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The earlier versions that are kept. Times are seconds since the epoch. */
class PolicyVersionsTest {

    private static final int NONE = -1;

    private final Map<String, PolicyAvro.Applied> topic = new TreeMap<>();

    @Test
    void a_future_version_keeps_those_in_force_until_then() throws FaultsException {
        assertThat(apply(NONE, 5)).isEqualTo("1");
        assertThat(apply(100, 5)).isEqualTo("2 1");
        assertThat(apply(200, 5)).isEqualTo("3 2 1");
        assertThat(topic.get("policy/a").before())
                .extracting(PolicyAvro.Earlier::appliedAtMs)
                .containsExactly(5_000L, 5_000L);
    }

    @Test
    void an_immediate_version_replaces_all() throws FaultsException {
        apply(NONE, 5);
        apply(100, 5);
        assertThat(apply(NONE, 5)).isEqualTo("3");
    }

    @Test
    void an_earlier_or_equal_effective_from_replaces_future_versions() throws FaultsException {
        apply(NONE, 5);
        apply(100, 5);
        apply(200, 5);
        assertThat(apply(200, 5)).isEqualTo("4 2 1");
        assertThat(apply(150, 5)).isEqualTo("5 2 1");
        assertThat(apply(50, 5)).isEqualTo("6 1");
    }

    @Test
    void past_versions_are_retained_for_lagging_partitions() throws FaultsException {
        apply(NONE, 5);
        apply(100, 5);
        assertThat(apply(200, 150)).isEqualTo("3 2 1");
        assertThat(apply(180, 300)).as("effective in the past").isEqualTo("4 2 1");
    }

    @Test
    void the_oldest_past_versions_are_removed_if_they_do_not_fit() throws FaultsException {
        for (int n = 0; n <= 8; n++) {
            apply(100 * n, 5);
        }
        assertThat(apply(900, 150)).isEqualTo("10 9 8 7 6 5 4 3 2");
        assertThat(apply(1000, 250)).isEqualTo("11 10 9 8 7 6 5 4 3");
        assertThatThrownBy(() -> apply(1100, 250))
                .isInstanceOf(RefusedChangeException.class)
                .hasMessage("nothing was changed: policy a has too many versions that are in force or take effect"
                        + " later: at most 8 besides the newest, 1000000 bytes in all");
        assertThat(apply(1000, 250)).as("effective at the same time").isEqualTo("12 10 9 8 7 6 5 4 3");
    }

    @Test
    void all_versions_together_fit_in_a_record() throws FaultsException {
        String patterns = "[" + String.join(", ", Collections.nCopies(1_000, "x".repeat(240))) + "]";
        String large = "match: {client: " + patterns + ", endpoint: " + patterns + "}, limits: [{unlimited: true}]";
        apply(large, 5);
        assertThat(apply(large + ", effective-from: " + time(100), 5)).isEqualTo("2 1");
        String next = large + ", effective-from: " + time(200);
        assertThatThrownBy(() -> apply(next, 99)).isInstanceOf(RefusedChangeException.class);
        assertThat(apply(next, 100)).isEqualTo("3 2");
        assertThat(new PolicyAvro().encode(topic.get("policy/a")).length).isLessThan(PolicyAvro.MAX_BYTES);
    }

    @Test
    void a_change_is_compared_with_the_version_that_it_replaces() throws FaultsException {
        apply(NONE, 5);
        apply(100, 5);
        PolicyAvro.Applied applied = topic.get("policy/a");
        String first = applied.before().get(0).definition();
        assertThat(PolicyVersions.inForceAt(applied, 99_999)).isEqualTo(first);
        assertThat(PolicyVersions.inForceAt(applied, 100_000)).isEqualTo(applied.definition());
        assertThat(PolicyVersions.inForceFrom(applied, 99_999))
                .extracting(PolicyAvro.Applied::version)
                .containsExactly(1L, 2L);
        assertThat(PolicyVersions.inForceFrom(applied, 100_000))
                .extracting(PolicyAvro.Applied::version)
                .containsExactly(2L);

        PolicyChangeSet update = new PolicyChangeSet(topic, Map::of, 6_000, ChangeAuthor.UNKNOWN);
        update.apply(PolicyFile.read("test", "policies: [{id: a, limits: [{unlimited: true}]}]"), Options.DEFAULTS);
        assertThat(update.changes().get(0).before()).isEqualTo(first);
    }

    @Test
    void a_deleted_policy_leaves_nothing_behind() throws FaultsException {
        apply(NONE, 5);
        apply(100, 5);
        PolicyChangeSet update = new PolicyChangeSet(topic, Map::of, 5_000, ChangeAuthor.UNKNOWN);
        update.delete(Kind.POLICY, List.of("a"), Options.DEFAULTS);
        assertThat(write(update)).isEqualTo("3");
        assertThat(apply(100, 5)).isEqualTo("4");
    }

    @Test
    void a_queue_is_protected_while_a_current_or_future_version_uses_it() throws FaultsException {
        PolicyChangeSet queues = new PolicyChangeSet(topic, Map::of, 0, ChangeAuthor.UNKNOWN);
        queues.apply(
                PolicyFile.read("f", "queues: [{id: x, limit: 1, per: 1s}, {id: y, limit: 1, per: 1s}]"),
                Options.DEFAULTS);
        queues.records().forEach(record -> topic.put(record.key(), record));
        apply("queue: x", 5);
        apply("queue: y, effective-from: " + time(100), 5);
        for (String queue : List.of("x", "y")) {
            assertThatThrownBy(() -> deleteQueue(queue, 99))
                    .hasMessage("nothing was changed: policy a sends to queue " + queue + ", which would be deleted");
        }
        deleteQueue("x", 100);
        assertThatThrownBy(() -> deleteQueue("y", 100)).isInstanceOf(RefusedChangeException.class);
    }

    private void deleteQueue(String id, int nowSeconds) {
        PolicyChangeSet update = new PolicyChangeSet(topic, Map::of, nowSeconds * 1000L, ChangeAuthor.UNKNOWN);
        update.delete(Kind.QUEUE, List.of(id), Options.DEFAULTS);
        update.requireConsistent();
    }

    /** Applies a new version. Returns the versions that are kept, newest first. */
    private String apply(int effectiveFrom, int now) throws FaultsException {
        String limit = "limits: [{algorithm: gcra, limit: " + (topic.size() + 1 + version()) + ", per: 1s}]";
        return apply(limit + (effectiveFrom == NONE ? "" : ", effective-from: " + time(effectiveFrom)), now);
    }

    private String apply(String rest, int now) throws FaultsException {
        PolicyChangeSet update = new PolicyChangeSet(topic, Map::of, now * 1000L, ChangeAuthor.UNKNOWN);
        update.apply(
                PolicyFile.read("f", "policies: [{id: a, " + rest + "}]", () -> Set.of("x", "y")), Options.DEFAULTS);
        return write(update);
    }

    private long version() {
        return topic.containsKey("policy/a") ? topic.get("policy/a").version() : 0;
    }

    private String write(PolicyChangeSet update) {
        update.records().forEach(record -> topic.put(record.key(), record));
        PolicyAvro.Applied policy = topic.get("policy/a");
        StringBuilder versions = new StringBuilder().append(policy.version());
        policy.before().forEach(earlier -> versions.append(' ').append(earlier.version()));
        return versions.toString();
    }

    private static String time(int seconds) {
        return "\"" + Instant.ofEpochSecond(seconds) + "\"";
    }
}
