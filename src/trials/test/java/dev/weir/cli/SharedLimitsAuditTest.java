package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Audits a run with shared limits, for which some requests wait, among other limits of the same clients. */
@Tag("full")
class SharedLimitsAuditTest {

    private static final int ROUNDS = 6;
    private static final int A_ROUND = 200;
    private static final int LIMIT = 300;
    private static final String RULES = """
            policies:
              - id: own
                match: {endpoint: [/a, /b, /c]}
                limits: [{algorithm: sliding-window-log, limit: 8, per: 1s}]
              - id: all
                layer: shared
                match: {endpoint: [/a, /o]}
                key: []
                max-wait: 2s
                limits: [{algorithm: sliding-window-log, limit: 300, per: 1h}]
              - id: step
                layer: shared
                match: {endpoint: /b}
                key: [endpoint]
                limits:
                  - {algorithm: token-bucket, limit: 20, per: 1s, burst: 30}
                  - {algorithm: sliding-window-counter, limit: 40, per: 2s}
                idempotency: 10m
            """;
    private static final String CHANGES = """
            policies:
              - id: own
                match: {endpoint: [/a, /b, /c]}
                limits: [{algorithm: sliding-window-log, limit: 9, per: 1s}]
              - id: step
                layer: shared
                match: {endpoint: /b}
                key: [endpoint]
                limits: [{algorithm: gcra, limit: 10, per: 1s, burst: 15}]
                idempotency: 10m
            """;

    private static AuditHarness audits;
    private static WeirConfig sharing;

    /**
     * Runs requests for shared quota, some of which wait for it, among other requests of the same
     * clients; then policies change.
     */
    @BeforeAll
    static void run() throws Exception {
        audits = AuditHarness.shared();
        sharing = audits.config("weir-shared", "shared.");
        audits.create(sharing, RULES);
        Random random = new Random(1);
        try (Enforcer enforcer = Enforcer.start(sharing);
                RequestSender sender = new RequestSender(sharing)) {
            enforcer.awaitRunning(AuditHarness.PATIENCE);
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < A_ROUND; i++) {
                    sender.send(sharedRequest(random, round * A_ROUND + i));
                }
                sender.flush();
                audits.awaitAnswers(sharing, (round + 1) * A_ROUND);
                if (round == ROUNDS - 2) {
                    audits.apply(sharing, CHANGES);
                }
            }
        }
    }

    /** Returns a request whose id starts with its endpoint. */
    private static Request sharedRequest(Random random, int number) {
        String endpoint = List.of("a", "a", "b", "c", "c", "o").get(random.nextInt(6));
        int draw = endpoint.equals("b") ? random.nextInt(10) : 9;
        RequestKind kind = draw == 0 ? RequestKind.PEEK : draw == 1 ? RequestKind.SETTLE : RequestKind.CONSUME;
        boolean isAgain = endpoint.equals("b") && draw > 6;
        return Request.builder(
                        endpoint + (isAgain ? number / 50 : number), "client-" + (isAgain ? 1 : random.nextInt(20)))
                .kind(kind)
                .cost(kind == RequestKind.SETTLE ? random.nextInt(7) - 3 : 1)
                .attributes(Map.of("endpoint", "/" + endpoint))
                .timestampMs(System.currentTimeMillis())
                .source(0, 0)
                .build();
    }

    @Test
    void shared_limits_are_judged_by_totals_and_others_recomputed() throws Exception {
        List<Mismatch> found = new ArrayList<>();
        AuditSummary totals = Audit.run(sharing, AuditHarness.ALL, found::add);
        assertThat(found).isEmpty();
        assertThat(totals.requests()).isEqualTo(ROUNDS * A_ROUND);
        assertThat(totals.summed()).isPositive();
        assertThat(totals.unverified().keySet()).isSubsetOf(UnverifiedReason.LIMIT_CHANGED);
        assertThat(totals.equal()).isGreaterThan(totals.requests() / 2);
        assertThat(sharedDecisions().stream().filter(one -> isShared(one) && one.outcome() == Outcome.DENIED))
                .isNotEmpty();
        assertThat(overtaken(0) + overtaken(1)).isPositive();
    }

    /** Returns how many requests were decided after a later one of their partition. */
    private static int overtaken(int partition) {
        long furthest = -1;
        int overtaken = 0;
        for (AuditHarness.Copied record : audits.read("shared.decisions", partition)) {
            long offset = record.decision().source().offset();
            overtaken += offset < furthest ? 1 : 0;
            furthest = Math.max(furthest, offset);
        }
        return overtaken;
    }

    @Test
    void excess_usage_of_a_shared_limit_is_found_with_its_position() throws Exception {
        List<Decision> all = sharedDecisions();
        long allowed = all.stream()
                .filter(one -> one.outcome() == Outcome.ALLOWED && isOfAll(one))
                .count();
        List<Request.Source> denied = all.stream()
                .filter(one ->
                        one.outcome() == Outcome.DENIED && one.requestId().startsWith("o"))
                .map(Decision::source)
                .toList();
        int left = (int) (LIMIT - allowed);
        assertThat(denied).hasSizeGreaterThan(left);

        assertThat(auditShared("full.", denied.subList(0, left), SharedLimitsAuditTest::allowed))
                .isEmpty();
        List<Mismatch> found = auditShared("above.", denied.subList(0, left + 1), SharedLimitsAuditTest::allowed);
        assertThat(found).singleElement().satisfies(mismatch -> {
            assertThat(mismatch.kind()).isEqualTo(Mismatch.Kind.ABOVE_SHARED_LIMIT);
            assertThat(mismatch.note()).startsWith("policy all: 301 of 300 by sliding-window-log 300/1h at ");
            Mismatch.RecordPosition place = mismatch.answer();
            Decision last = audits.read("above.decisions", place.partition())
                    .get((int) place.offset())
                    .decision();
            assertThat(last.source()).isEqualTo(mismatch.request());
            assertThat(isOfAll(last)).isTrue();
        });
    }

    @Test
    void a_limit_beside_a_shared_one_is_recomputed() throws Exception {
        List<Decision> all = sharedDecisions();
        for (Outcome outcome : List.of(Outcome.ALLOWED, Outcome.DENIED)) {
            Decision any = all.stream()
                    .filter(one -> one.outcome() == outcome
                            && one.requestId().startsWith("a")
                            && "own".equals(one.policyId())
                            && one.policyVersion() == 1)
                    .findFirst()
                    .orElseThrow();
            List<Mismatch> found = auditShared(
                    outcome + ".",
                    List.of(any.source()),
                    one -> outcome == Outcome.DENIED
                            ? allowed(one)
                            : with(one, Outcome.DENIED, Reason.LIMIT_EXCEEDED, 1_000, 429));
            assertThat(found).isNotEmpty();
            assertThat(found.get(0).kind()).isEqualTo(Mismatch.Kind.DIFFERS);
            assertThat(found.get(0).request()).isEqualTo(any.source());
            assertThat(found.get(0).fields())
                    .extracting(Mismatch.FieldMismatch::name)
                    .contains("outcome");
        }
    }

    /** Returns whether the policy {@code all} applies, by the endpoint in the request id. */
    private static boolean isOfAll(Decision decision) {
        return decision.requestId().startsWith("a") || decision.requestId().startsWith("o");
    }

    private static boolean isShared(Decision decision) {
        return "all".equals(decision.policyId()) || "step".equals(decision.policyId());
    }

    private static List<Decision> sharedDecisions() {
        return IntStream.range(0, AuditHarness.PARTITIONS)
                .boxed()
                .flatMap(partition -> audits.read("shared.decisions", partition).stream())
                .map(AuditHarness.Copied::decision)
                .toList();
    }

    private static Decision allowed(Decision decision) {
        return with(decision, Outcome.ALLOWED, Reason.WITHIN_LIMITS, 0, 200);
    }

    private static Decision with(Decision decision, Outcome outcome, Reason reason, long retryAfterMs, int httpStatus) {
        Decision.Status status = new Decision.Status(
                outcome, reason, httpStatus, decision.observed(), decision.shadowBanned(), decision.repeated());
        return decision.withStatus(status).withRetryAfterMs(retryAfterMs);
    }

    /** Returns the mismatches of an audit in which these decisions are forged. */
    private static List<Mismatch> auditShared(String prefix, List<Request.Source> forged, UnaryOperator<Decision> forge)
            throws Exception {
        List<List<AuditHarness.Copied>> decisions =
                List.of(audits.read("shared.decisions", 0), audits.read("shared.decisions", 1));
        audits.copy("shared.", prefix, (topic, partition, index) -> {
            if (!topic.equals("decisions")) {
                return null;
            }
            Decision decision = decisions.get(partition).get(index).decision();
            return forged.contains(decision.source()) ? List.of(AuditHarness.AVRO.encode(forge.apply(decision))) : null;
        });
        List<Mismatch> found = new ArrayList<>();
        AuditSummary unused = Audit.run(audits.config(prefix), AuditHarness.ALL, found::add);
        return found;
    }
}
