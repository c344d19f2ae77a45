package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Audits a real run, and copies of it without the records that retention has deleted. */
@Tag("full")
class AuditTest {

    private static AuditHarness audits;
    private static TracedRun run;

    @BeforeAll
    static void run() throws Exception {
        run = TracedRun.shared();
        audits = AuditHarness.shared();
    }

    @Test
    void recomputed_decisions_equal_the_recorded_ones() throws Exception {
        CapturedRun result = audits.audit("-o", "json");
        assertThat(result.err()).isEmpty();
        JsonNode counts = AuditHarness.document(result);
        assertThat(counts.get("mismatches").asLong()).isZero();
        assertThat(result.exit()).isZero();
        assertThat(counts.get("requests").asLong()).isEqualTo(TracedRun.ROUNDS * (TracedRun.A_ROUND + 2));
        assertThat(counts.get("deadLetters").asLong()).isGreaterThan(2 * TracedRun.ROUNDS);
        assertThat(counts.get("equal").asLong()).isGreaterThan(TracedRun.ROUNDS * TracedRun.A_ROUND / 2);
        assertThat(counts.get("sentToQueue").asLong()).isPositive();
    }

    @Test
    void a_range_is_judged_with_the_usage_before_it() throws Exception {
        JsonNode late = AuditHarness.document(
                audits.audit("-o", "json", "--from", run.middle().toString()));
        JsonNode early = AuditHarness.document(
                audits.audit("-o", "json", "--to", run.middle().toString()));
        for (JsonNode counts : List.of(early, late)) {
            assertThat(counts.get("mismatches").asLong()).isZero();
            assertThat(counts.get("equal").asLong()).isPositive();
            assertThat(counts.get("notJudged").has("RELEASE_UNMATCHED")).isFalse();
        }
        assertThat(early.get("requests").asLong() + late.get("requests").asLong())
                .isEqualTo(TracedRun.ROUNDS * (TracedRun.A_ROUND + 2));
    }

    @Test
    void a_table_shows_the_counts() {
        CapturedRun result = audits.audit();
        assertThat(result.exit()).isZero();
        assertThat(result.out().lines())
                .anyMatch(line -> line.matches(" +4,016  requests"))
                .anyMatch(line -> line.matches(" +0  mismatches"));
    }

    @Test
    void decisions_that_depend_on_deleted_requests_are_not_judged() throws Exception {
        audits.copy("late.", (topic, partition, index) -> null);
        audits.delete("late.requests", 0, 300);
        audits.delete("late.requests", 1, 300);
        CapturedRun result = audits.audit("-o", "json", "-c", audits.configFile("late."));
        JsonNode counts = AuditHarness.document(result);
        assertThat(counts.get("mismatches").asLong()).isZero();
        assertThat(result.exit()).isZero();
        assertThat(counts.get("requests").asLong()).isEqualTo(TracedRun.ROUNDS * (TracedRun.A_ROUND + 2) - 600);
        assertThat(counts.get("notJudged").get("BEFORE_RETENTION").asLong()).isPositive();
    }

    @Test
    void a_release_of_a_deleted_request_does_not_end_a_later_wait_of_its_id() throws Exception {
        Decision end = audits.read("weir.decisions", 0).stream()
                .map(AuditHarness.Copied::decision)
                .filter(decision -> decision.queueing() != null && decision.endsWait())
                .filter(decision -> decision.source().offset() >= 300)
                .findFirst()
                .orElseThrow();
        byte[] old = new ReleaseCodec()
                .encode(Release.builder(
                                end.requestId(), end.client(), end.queueing().queue())
                        .build());
        audits.copy(
                "reused.",
                (topic, partition, index) -> (topic + partition).equals("releases0") && index == 0
                        ? List.of(old, audits.read("weir.releases", 0).get(0).value())
                        : null);
        audits.delete("reused.requests", 0, 300);
        JsonNode counts = AuditHarness.document(audits.audit("-o", "json", "-c", audits.configFile("reused.")));
        assertThat(counts.get("mismatches").asInt()).isZero();
        assertThat(counts.get("notJudged").get("RELEASE_UNMATCHED").asInt()).isPositive();
    }

    @Test
    void records_deleted_during_an_audit_are_no_mismatch() throws Exception {
        audits.copy(
                "passing.",
                (topic, partition, index) ->
                        (topic + partition).equals("decisions0") && index == 0 ? List.of(new byte[] {1}) : null);
        WeirConfig passing = audits.config("passing.");
        AuditRange all = new AuditRange(null, null, Duration.ofSeconds(30));
        List<Mismatch.Kind> found = new ArrayList<>();
        AuditSummary totals = Audit.run(
                passing,
                all,
                mismatch -> { // of partition 0, before partition 1 is read
                    found.add(mismatch.kind());
                    audits.delete("passing.requests", 1, 300);
                });
        assertThat(found).containsExactlyInAnyOrder(Mismatch.Kind.UNREADABLE, Mismatch.Kind.UNDECIDED);
        assertThat(totals.unverified().get(UnverifiedReason.BEFORE_RETENTION)).isPositive();

        assertThatThrownBy(() -> Audit.run(passing, all, mismatch -> audits.delete("passing.releases", 0, 1)))
                .isInstanceOf(UnreachableException.class)
                .hasMessage("the beginning of the topic passing.releases was deleted while it was read; try again");
    }

    @Test
    void a_dead_letter_that_may_have_been_deleted_is_not_missing() throws Exception {
        List<AuditHarness.Copied> letters = audits.read("weir.dead-letters", 0);
        int missing = letters.size() * 3 / 4;
        int left = letters.size() / 2;
        audits.copy(
                "unlettered.",
                (topic, partition, index) ->
                        (topic + partition).equals("dead-letters0") && index == missing ? List.of() : null);
        ConsumerRecord<byte[], byte[]> first = letters.get(0).from();
        audits.send("unlettered.dead-letters", 1, first, AuditHarness.letterHeaders(first, "unlettered."));
        audits.delete("unlettered.dead-letters", 0, left);
        CapturedRun result = audits.audit("-o", "json", "-c", audits.configFile("unlettered."));
        JsonNode counts = AuditHarness.document(result);
        assertThat(counts.get("mismatchesByKind")).hasToString("{\"DEAD_LETTER\":1}");
        assertThat(counts.get("firstMismatches").get(0).get("sourceOffset").asText())
                .isEqualTo(AuditHarness.header(letters.get(missing), DeadLetterHeaders.OFFSET));
        assertThat(counts.get("notJudged").get("NOT_RETAINED").asInt()).isEqualTo(left - 1);
    }

    @Test
    void a_failed_audit_prints_one_line_and_exits_with_2() throws Exception {
        assertThat(audits.audit("-c", audits.configFile("nowhere.")))
                .isEqualTo(new CapturedRun(
                        2, "", "weir audit: topic nowhere.decisions does not exist; `weir run` creates it\n"));
        assertThat(audits.audit("--from", "yesterday").exit()).isEqualTo(2);
        assertThat(audits.audit("--from", "2026-11-21T00:00:00Z", "--to", "2026-11-20T00:00:00Z")
                        .exit())
                .isEqualTo(2);
    }
}
