package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Earlier;
import dev.weir.wire.PolicyAvro.Kind;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests policy versions that come into force at a record's time. */
class EffectiveFromTest {

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
    void the_newest_version_that_is_effective_at_the_time_of_a_request_applies() {
        apply(3, from("00:00:20"), new Earlier(2, from("00:00:10"), 0), new Earlier(1, from(null), 0));
        assertThat(versionsAt(9_999, 10_000, 19_999, 20_000, 9_000)).containsExactly(1L, 2L, 2L, 3L, 1L);
        assertThat(weir.live.applied(Kind.POLICY, "p").before()).hasSize(2);
    }

    @Test
    void a_version_without_effective_from_applies_to_all_times_at_once() {
        apply(2, from("00:00:10"), new Earlier(1, from(null), 0));
        apply(3, from(null));
        assertThat(versionsAt(0, 10_000)).containsExactly(3L, 3L);
    }

    @Test
    void a_policy_does_not_apply_before_its_first_version_is_effective() {
        apply(1, from("00:00:10"));
        assertThat(versionsAt(9_999, 10_000)).containsExactly(null, 1L);
    }

    @Test
    void an_override_ends_at_its_effective_until() throws Exception {
        weir.apply("""
                policies:
                  - {id: usual, limits: [{algorithm: fixed-window, limit: 1, per: 1d}]}
                  - {id: launch, priority: 9, effective-until: "1970-01-01T00:00:10Z", limits: [{unlimited: true}]}
                """, 1);
        assertThat(weir.ask("alice", 9_999).policyId()).isEqualTo("launch");
        assertThat(weir.ask("alice", 10_000).policyId()).isEqualTo("usual");
        assertThat(weir.ask("alice", 10_000).httpStatus()).isEqualTo(429);
    }

    @Test
    void a_deletion_takes_effect_at_once() {
        apply(2, from("00:00:10"), new Earlier(1, from(null), 0));
        weir.policy("p", new PolicyAvro().encode(new PolicyAvro.Applied(Kind.POLICY, "p", 3, null, 0)));
        assertThat(versionsAt(9_999, 10_000)).containsExactly(null, null);
        assertThat(weir.live.applied(Kind.POLICY)).isEmpty();
    }

    @Test
    void a_bad_record_leaves_all_versions_in_force() {
        apply(2, from("00:00:10"), new Earlier(1, from(null), 0));
        weir.policy("p", "nonsense".getBytes(StandardCharsets.UTF_8));
        apply(1, from(null)); // an outdated version
        assertThat(versionsAt(9_999, 10_000)).containsExactly(1L, 2L);
    }

    @Test
    void usage_under_the_previous_version_counts() {
        String two = from(null).replace("1000", "2");
        apply(2, from("00:00:10").replace("1000", "3"), new Earlier(1, two, 0));
        assertThat(weir.ask("alice", 9_999).remaining()).isEqualTo(1);
        assertThat(weir.ask("alice", 9_999).remaining()).isZero();
        assertThat(weir.ask("alice", 10_000).remaining()).isZero();
        assertThat(weir.ask("alice", 10_000).httpStatus()).isEqualTo(429);
    }

    @Test
    void late_records_never_return_to_earlier_terms() {
        String before = terms(null, "100", "1d");
        apply(2, terms("12:00:00", "5", "1s"), new Earlier(1, before, 0));
        long noonMs = 12 * 3_600_000;
        long byVersion1 = 0;
        for (int round = 0; round < 6; round++) {
            for (int i = 0; i < 130; i++) {
                Decision late = weir.ask("alice", noonMs - 1);
                byVersion1 += late.outcome() == Outcome.ALLOWED && late.policyVersion() == 1 ? 1 : 0;
                assertThat(late.policyVersion()).isEqualTo(round == 0 ? 1 : 2);
            }
            weir.ask("alice", noonMs + 2_000 + round * 4_000L);
            Decision later = weir.ask("alice", noonMs + 4_000 + round * 4_000L);
            assertThat(later).returns(2L, Decision::policyVersion).returns(Outcome.ALLOWED, Decision::outcome);
            Decision late = weir.ask("alice", noonMs - 1);
            assertThat(late).returns(2L, Decision::policyVersion).returns(later.decidedAtMs(), Decision::decidedAtMs);
        }
        assertThat(byVersion1).as("allowed by the limit of 100 a day").isEqualTo(100);
        assertThat(weir.ask("bob", noonMs - 1).policyVersion())
                .as("another client's decision")
                .isEqualTo(1);
    }

    @Test
    void late_records_never_return_to_earlier_terms_with_another_key() {
        String before = terms(null, "2", "1d");
        String after =
                terms("12:00:00", "2", "1d").replace("{\"id\":\"p\",", "{\"id\":\"p\",\"key\":[\"client\",\"ip\"],");
        apply(2, after, new Earlier(1, before, 0));
        long noonMs = 12 * 3_600_000;
        assertThat(weir.ask("alice", noonMs - 1).policyVersion()).isEqualTo(1);
        assertThat(weir.ask("alice", noonMs).policyVersion()).isEqualTo(2);
        assertThat(weir.ask("alice", noonMs - 1))
                .returns(2L, Decision::policyVersion)
                .returns(noonMs, Decision::decidedAtMs);
    }

    private static String terms(String time, String limit, String per) {
        return from(time)
                .replace("sliding-window-log", "fixed-window")
                .replace("1000", limit)
                .replace("1h", per);
    }

    private void apply(long version, String definition, Earlier... before) {
        weir.policy(
                "p",
                new PolicyAvro()
                        .encode(new PolicyAvro.Applied(Kind.POLICY, "p", version, definition, 0)
                                .withBefore(List.of(before))));
    }

    private static String from(String time) {
        String limits = "\"limits\":[{\"algorithm\":\"sliding-window-log\",\"limit\":1000,\"per\":\"1h\"}]";
        String from = time == null ? "" : ",\"effective-from\":\"1970-01-01T" + time + "Z\"";
        return "{\"id\":\"p\"," + limits + from + "}";
    }

    private List<Long> versionsAt(long... timesMs) {
        return LongStream.of(timesMs)
                .mapToObj(timeMs -> weir.ask("client" + timeMs, timeMs))
                .map(Decision::policyVersion)
                .toList();
    }
}
