package dev.weir.audit.shared;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.LeaseUsage;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.wire.PolicyAvro;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Usage that clients report, of which only the interval is known. */
class SharedQuotaAuditTest {

    private static final AuditRange ALL = new AuditRange(null, null, Duration.ofSeconds(30));
    private static final String BY_CLIENT = "key: [client], lease: client, limits: [{%s}]";
    private static final int SCHEDULES = 200;

    private final List<Mismatch> found = new ArrayList<>();
    private final AuditSummary totals = new AuditSummary();

    private static PolicyTimeline.RecordedVersion written(long version, String definition, long atMs) throws Exception {
        String yaml = "policies:\n  - {id: p, " + definition + "}\n";
        PolicyFile.Definition policy =
                PolicyFile.read("rules.yaml", yaml).policies().get(0);
        PolicyAvro.Applied applied = new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", version, policy.json(), atMs);
        return new PolicyTimeline.RecordedVersion(applied.key(), applied, atMs);
    }

    private static PolicyTimeline rules(String limit) throws Exception {
        return new PolicyTimeline(List.of(written(1, BY_CLIENT.formatted(limit), 0)));
    }

    private SharedQuotaAudit sums(PolicyTimeline rules) {
        return new SharedQuotaAudit(WeirConfig.DEFAULTS, rules, ALL, totals, found::add);
    }

    private static LeaseUsage usage(long version, Map<String, String> key, long sinceMs, long atMs, long cost) {
        return new LeaseUsage(
                new LeaseUsage.Origin("c-1", 1, 1),
                new PolicyVersion("p", version),
                key,
                new LeaseUsage.Amount(cost, 1, 0),
                sinceMs,
                atMs);
    }

    private static void add(SharedQuotaAudit sums, int offset, LeaseUsage usage) {
        sums.add(usage, new RecordPosition(AuditedTopic.LEASE_USAGE, 0, offset), usage.untilMs());
    }

    private static void use(SharedQuotaAudit sums, int offset, long sinceMs, long atMs, long cost) {
        add(sums, offset, usage(1, Map.of("client", "alice"), sinceMs, atMs, cost));
    }

    /** The first use by since, until and cost; then the second use, and the highest cost of it that fits. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            fixed-window, limit: 10           | 20000 | 20900 | 6 | 21000 | 29000 | 4
            fixed-window, limit: 10           | 20000 | 20900 | 6 | 30000 | 30000 | 10
            sliding-window-log, limit: 10     | 1001  | 2000  | 6 | 3000  | 11000 | 4
            sliding-window-log, limit: 10     | 1000  | 2000  | 6 | 3000  | 11000 | 10
            sliding-window-counter, limit: 10 | 1000  | 2000  | 8 | 10500 | 15000 | 6
            token-bucket, limit: 10           | 1000  | 2000  | 6 | 2000  | 4000  | 7
            token-bucket, limit: 10           | 2000  | 2000  | 6 | 2000  | 4000  | 6
            leaky-bucket, limit: 10           | 1000  | 2000  | 6 | 2500  | 4000  | 7
            gcra, limit: 10                   | 2000  | 3000  | 6 | 1000  | 4000  | 7
            """)
    void usage_is_reported_only_if_it_certainly_exceeds_the_limit(
            String limit, long since, long at, long cost, long nextSince, long nextAt, long most) throws Exception {
        PolicyTimeline rules = rules("algorithm: " + limit + ", per: 10s");
        SharedQuotaAudit full = sums(rules);
        use(full, 0, since, at, cost);
        use(full, 1, nextSince, nextAt, most);
        full.verify();
        assertThat(found).isEmpty();

        SharedQuotaAudit above = sums(rules);
        use(above, 0, since, at, cost);
        use(above, 1, nextSince, nextAt, most + 1);
        above.verify();
        assertThat(found).singleElement().satisfies(difference -> {
            assertThat(difference.kind()).isEqualTo(Mismatch.Kind.ABOVE_SHARED_LIMIT);
            assertThat(difference.request()).isNull();
            assertThat(difference.answer()).isEqualTo(new RecordPosition(AuditedTopic.LEASE_USAGE, 0, 1));
            assertThat(difference.note())
                    .startsWith("policy p of client alice: ")
                    .contains(" of 10 by ")
                    .contains(" at " + Instant.ofEpochMilli(nextAt));
        });
        assertThat(totals.summed()).isEqualTo(4);
        assertThat(totals.reportedByClients()).isEqualTo(4);
        assertThat(totals.unverified()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "algorithm: fixed-window, limit: 20, per: 1s",
                "algorithm: sliding-window-log, limit: 20, per: 1s",
                "algorithm: sliding-window-counter, limit: 20, per: 1s",
                "algorithm: sliding-window-counter, limit: 20, per: 1s, strict: true",
                "algorithm: token-bucket, limit: 7, per: 1s, burst: 20",
                "algorithm: token-bucket, limit: 7, per: 1s, burst: 20, refill: interval",
                "algorithm: leaky-bucket, limit: 20, per: 1s",
                "algorithm: gcra, limit: 7, per: 300ms, burst: 5"
            })
    void usage_within_the_limit_is_never_reported_however_it_is_aggregated(String limit) throws Exception {
        PolicyTimeline rules = rules(limit);
        Limit<?> admits = rules.periods("p", 0).get(0).policy().terms().get(0).limit();
        for (int seed = 0; seed < SCHEDULES; seed++) {
            SharedQuotaAudit sums = sums(rules);
            tellOfAll(sums, admits, new Random(seed));
            sums.verify();
            assertThat(found).as("seed " + seed).isEmpty();
        }
        assertThat(totals.summed()).isGreaterThan(SCHEDULES);
    }

    /** Uses as much as the limit admits, in three clients that report their usage from time to time. */
    private static void tellOfAll(SharedQuotaAudit sums, Limit<?> admits, Random random) {
        long nowMs = 1_000_000_000_000L + random.nextInt(1_000);
        LimitAccount<?> account = LimitAccount.open(admits, nowMs);
        long[] since = new long[3];
        long[] cost = new long[3];
        int longest = 1 << random.nextInt(10);
        for (int i = 0; i < 300; i++) {
            nowMs += random.nextInt(10) == 0 ? random.nextInt(1_500) : random.nextInt(longest);
            long wanted = 1L + random.nextInt(5);
            int who = random.nextInt(3);
            if (account.permits(wanted, nowMs)) {
                account = account.charge(wanted, nowMs);
                since[who] = cost[who] == 0 ? nowMs - random.nextInt(20) : since[who];
                cost[who] += wanted;
            }
            if (cost[who] > 0 && random.nextInt(4) == 0) {
                use(sums, i, since[who], nowMs + random.nextInt(20), cost[who]);
                cost[who] = 0;
            }
        }
    }

    private static final StateKey SLOTS = new StateKey(StateKey.NO_CLIENT, "p", List.of("client", "alice"));

    private static PolicyTimeline slots() throws Exception {
        return rules("algorithm: concurrency, limit: 10, ttl: 10s");
    }

    /** Adds a request about a reservation of slots for 10 s, which is allowed at its time. */
    private static void slots(SharedQuotaAudit sums, RequestKind kind, String id, int partition, long cost, long atMs) {
        slots(sums, kind, id, partition, cost, atMs, atMs);
    }

    private static void slots(
            SharedQuotaAudit sums, RequestKind kind, String id, int partition, long cost, long sentMs, long atMs) {
        Request request = Request.builder(id, "client-" + partition)
                .kind(kind)
                .cost(cost)
                .timestampMs(sentMs)
                .source(partition, atMs)
                .build();
        Reason reason =
                switch (kind) {
                    case CONSUME -> Reason.WITHIN_LIMITS;
                    case RENEW -> Reason.RENEWED;
                    case RESET -> Reason.USAGE_RESET;
                    default -> Reason.RELEASED;
                };
        boolean isTaken = kind == RequestKind.CONSUME || kind == RequestKind.RENEW;
        sums.add(
                request,
                Decision.allowed(request, reason, atMs).withReservedUntilMs(isTaken ? (Long) (atMs + 10_000) : null),
                new RecordPosition(AuditedTopic.DECISIONS, partition, atMs),
                request.isForReservation() ? Set.of() : Set.of(SLOTS),
                kind == RequestKind.CONSUME);
    }

    /**
     * Of 10 slots, one partition takes 6 at 20 s. The last row is that of a client whose clock is an hour fast.
     */
    @ParameterizedTest
    @CsvSource({
        // then, at, its timestamp, another partition takes 5 more at, is that above?
        ",        0,      0,       29999, true",
        ",        0,      0,       30000, false",
        "RENEW,   25000,  25000,   34999, true",
        "RENEW,   25000,  25000,   35000, false",
        "RELEASE, 25000,  25000,   23999, true",
        "RELEASE, 25000,  25000,   24000, false",
        "RELEASE, 29900,  29900,   30000, false",
        "RELEASE, 29900,  3625000, 24000, false",
    })
    void slots_in_use_on_all_partitions_are_summed(
            RequestKind then, long thenMs, long sentMs, long atMs, boolean isAbove) throws Exception {
        SharedQuotaAudit sums = sums(slots());
        long takenMs = 20_000;
        slots(sums, RequestKind.CONSUME, "r", 0, 6, sentMs == thenMs ? takenMs : takenMs + 3_600_000, takenMs);
        if (then != null) {
            slots(sums, then, "r", 0, 1, sentMs, then == RequestKind.RENEW ? thenMs : sentMs);
        }
        slots(sums, RequestKind.CONSUME, "s", 1, 5, atMs);
        slots(sums, RequestKind.CONSUME, "t", 2, 1, atMs);
        sums.verify();
        assertThat(found).hasSize(isAbove ? 1 : 0).allSatisfy(one -> {
            assertThat(one.kind()).isEqualTo(Mismatch.Kind.ABOVE_SHARED_LIMIT);
            assertThat(one.answer()).isEqualTo(new RecordPosition(AuditedTopic.DECISIONS, 1, atMs));
            assertThat(one.note()).contains("policy p of client alice: 11 of 10 by concurrency 10");
        });
        assertThat(totals.summed()).isEqualTo(3);
        assertThat(totals.unverified()).isEmpty();
    }

    @Test
    void after_a_reset_slots_that_were_taken_before_do_not_count() throws Exception {
        SharedQuotaAudit sums = sums(slots());
        long settledMs = ALL.policyLag().toMillis() + LeaseTerms.DEFAULTS.termMs();
        slots(sums, RequestKind.CONSUME, "r", 0, 10, 500);
        slots(sums, RequestKind.RESET, "reset", 0, 0, 1_000);
        slots(sums, RequestKind.CONSUME, "soon", 1, 10, 1_000 + settledMs - 1);
        slots(sums, RequestKind.CONSUME, "s", 1, 10, 1_000 + settledMs);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.summed()).isEqualTo(2);
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.LIMIT_CHANGED, 1L));
    }

    /** A lower limit evicts nobody, but then no more are taken until enough are free. */
    @Test
    void slots_that_were_taken_before_a_change_of_the_limit_still_count() throws Exception {
        for (long taken : List.of(4L, 5L)) {
            found.clear();
            String tenMinutes = BY_CLIENT.formatted("algorithm: concurrency, limit: %d, ttl: 10m");
            SharedQuotaAudit sums = sums(new PolicyTimeline(
                    List.of(written(1, tenMinutes.formatted(10), 0), written(2, tenMinutes.formatted(8), 200_000))));
            for (int i = 0; i < 10; i++) {
                slots(sums, RequestKind.CONSUME, "r" + i, 0, 1, 100_000);
                slots(sums, RequestKind.RENEW, "r" + i, 0, 1, 395_000);
                if (i >= 4) {
                    slots(sums, RequestKind.RELEASE, "r" + i, 0, 1, 396_000);
                }
            }
            slots(sums, RequestKind.CONSUME, "s", 1, taken, 400_000);
            sums.verify();
            assertThat(found).hasSize(taken == 4 ? 0 : 1);
        }
    }

    @Test
    void usage_that_spans_two_windows_counts_in_neither() throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: fixed-window, limit: 10, per: 10s"));
        use(sums, 0, 29_999, 30_000, 100);
        use(sums, 1, 30_000, 30_000, 10);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.TIME_UNKNOWN, 1L));
        assertThat(totals.summed()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"1000, 21000, 0", "999, 21000, 1", "0, 900, 1"})
    void after_a_reset_the_sum_starts_again_once_its_ledger_has_certainly_freed_the_usage(
            long sinceMs, long atMs, int unverified) throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: fixed-window, limit: 10, per: 1h"));
        long settledMs = ALL.policyLag().toMillis() + LeaseTerms.DEFAULTS.termMs();
        use(sums, 0, 500, 500, 10);
        Request reset = Request.builder("r", "alice")
                .kind(RequestKind.RESET)
                .cost(0)
                .timestampMs(1_000)
                .source(0, 7)
                .build();
        StateKey freed = new StateKey(StateKey.NO_CLIENT, "p", List.of("client", "alice"));
        sums.add(
                reset,
                Decision.allowed(reset, Reason.USAGE_RESET, 1_000),
                new RecordPosition(AuditedTopic.DECISIONS, 0, 7),
                Set.of(freed),
                false);
        use(sums, 1, sinceMs + settledMs, atMs + settledMs, 10);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.summed()).isEqualTo(2 - unverified);
        assertThat(totals.unverified())
                .isEqualTo(unverified == 0 ? Map.of() : Map.of(UnverifiedReason.LIMIT_CHANGED, 1L));
    }

    @Test
    void a_report_longer_than_the_fill_time_of_a_bucket_hides_no_excess() throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: gcra, limit: 10, per: 10s"));
        use(sums, 0, 0, 100_000, 5);
        use(sums, 1, 100_000, 100_000, 11);
        sums.verify();
        assertThat(found).singleElement().satisfies(difference -> assertThat(difference.note())
                .contains(": 11 of 10 "));
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.TIME_UNKNOWN, 1L));
    }

    @Test
    void usage_beyond_the_maximum_number_is_not_summed() throws Exception {
        PolicyTimeline rules = rules("algorithm: gcra, limit: 10, per: 10s");
        SharedQuotaAudit sums = new SharedQuotaAudit(WeirConfig.DEFAULTS, rules, ALL, totals, found::add, 2);
        for (int i = 0; i < 5; i++) {
            use(sums, i, i, i, 10);
        }
        sums.verify();
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.TOO_MANY_TO_SUM, 3L));
        assertThat(totals.summed()).isEqualTo(2);
        assertThat(found).hasSize(1);
    }

    @Test
    void usage_that_spans_a_change_of_limits_is_compared_with_neither() throws Exception {
        PolicyTimeline rules = new PolicyTimeline(List.of(
                written(1, BY_CLIENT.formatted("algorithm: gcra, limit: 10, per: 1h"), 0),
                written(2, BY_CLIENT.formatted("algorithm: gcra, limit: 5, per: 1h"), 1_000_000)));
        long settledMs = 1_000_000
                + PolicyTimeline.CLOCK_SKEW_MS
                + ALL.policyLag().toMillis()
                + WeirConfig.DEFAULTS.leases().terms().termMs();
        SharedQuotaAudit sums = sums(rules);
        use(sums, 0, 980_000, 989_999, 10);
        use(sums, 1, 989_000, settledMs + 1, 100);
        use(sums, 2, settledMs, settledMs + 1, 5);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.LIMIT_CHANGED, 1L));
        assertThat(totals.summed()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            2 | client | 5  | 9               | 1                   | policy p never had version 2
            1 | client | 9  | 5               | 1                   | its field since is after its field until
            1 | client | -1 | 5               | 1                   | its times must be between 1970 and 9999
            1 | client | 5  | 300000000000000 | 1                   | its times must be between 1970 and 9999
            1 | client | 5  | 9               | -1                  | its counts must be between 0 and 2305843009213693952
            1 | client | 5  | 9 | 9223372036854775807 | its counts must be between 0 and 2305843009213693952
            1 | endpoint | 5 | 9 | 1 | policy p never granted leases to clients by the key [endpoint]
            """)
    void impossible_usage_is_a_mismatch_and_not_summed(
            long version, String field, long sinceMs, long atMs, long cost, String note) throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: gcra, limit: 10, per: 1h"));
        add(sums, 7, usage(version, Map.of(field, "a"), sinceMs, atMs, cost));
        sums.verify();
        assertThat(found).singleElement().satisfies(difference -> {
            assertThat(difference.kind()).isEqualTo(Mismatch.Kind.DIFFERS);
            assertThat(difference.answer()).isEqualTo(new RecordPosition(AuditedTopic.LEASE_USAGE, 0, 7));
            assertThat(difference.note()).isEqualTo(note + "; report 1 of holder c-1, lease 1");
        });
        assertThat(totals.summed()).isZero();
    }

    @Test
    void a_policy_without_client_leases_has_no_usage() throws Exception {
        SharedQuotaAudit sums = sums(
                new PolicyTimeline(List.of(written(1, "key: [], limits: [{algorithm: gcra, limit: 10, per: 1h}]", 0))));
        add(sums, 0, usage(1, Map.of(), 5, 9, 1));
        assertThat(found).singleElement().satisfies(difference -> assertThat(difference.note())
                .startsWith("policy p never granted leases to clients by the key [];"));
    }

    @Test
    void usage_under_unretained_or_ambiguous_policies_is_not_summed() throws Exception {
        String limit = "lease: client, limits: [{algorithm: gcra, limit: 10, per: 1h}]";
        SharedQuotaAudit unretained = sums(new PolicyTimeline(List.of(written(5, "key: [endpoint], " + limit, 0))));
        add(unretained, 0, usage(4, Map.of("client", "a"), 5, 9, 100));
        add(unretained, 1, usage(5, Map.of("client", "a"), 5, 9, 100));
        unretained.verify();
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.POLICY_NOT_RETAINED, 2L));

        SharedQuotaAudit either = sums(new PolicyTimeline(List.of(
                written(1, "key: [client, endpoint], " + limit, 0),
                written(2, "key: [endpoint, client], " + limit, 1))));
        add(either, 0, usage(2, Map.of("client", "a", "endpoint", "/a"), 5, 9, 100));
        either.verify();
        assertThat(totals.unverified()).containsEntry(UnverifiedReason.AMBIGUOUS_VERSION, 1L);
        assertThat(found).isEmpty();
    }

    @Test
    void a_client_may_name_a_version_with_another_key_than_it_decided_by() throws Exception {
        String limit = "lease: client, limits: [{algorithm: gcra, limit: 10, per: 1h}]";
        SharedQuotaAudit sums = sums(new PolicyTimeline(
                List.of(written(1, "key: [client], " + limit, 0), written(2, "key: [endpoint], " + limit, 1))));
        add(sums, 0, usage(2, Map.of("client", "a"), 5, 9, 10));
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.reportedByClients()).isEqualTo(1);
    }

    @Test
    void usage_with_denials_only_is_not_summed() throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: gcra, limit: 10, per: 1h"));
        use(sums, 0, 5, 9, 0);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.summed()).isZero();
    }

    private static final StateKey ALL_CLIENTS = new StateKey(StateKey.NO_CLIENT, "p", List.of());

    private static void decided(
            SharedQuotaAudit sums, RequestKind kind, String id, long cost, long atMs, Reason reason) {
        Request request = Request.builder(kind == RequestKind.SETTLE ? "s" + atMs : id, "alice")
                .kind(kind)
                .settles(kind == RequestKind.SETTLE ? id : null)
                .cost(cost)
                .reserveMs(kind == RequestKind.CONSUME ? (Long) 60_000L : null)
                .source(0, atMs)
                .build();
        Decision decision = Decision.allowed(request, reason, atMs);
        RecordPosition place = new RecordPosition(AuditedTopic.DECISIONS, 0, atMs);
        sums.add(
                request, decision, place, request.kind() == RequestKind.CONSUME ? Set.of(ALL_CLIENTS) : Set.of(), true);
    }

    /** What ends a reservation of 8 of 10, its cost, how much another request may take, and how much one a window later. */
    @ParameterizedTest
    @CsvSource({
        "SETTLE,  3,  SETTLED,   7",
        "SETTLE,  8,  SETTLED,   2",
        "SETTLE,  20, SETTLED,   2", // the rest may be above the limit
        "CANCEL,  1,  CANCELLED, 10",
        "RELEASE, 1,  RELEASED,  2",
        "SETTLE,  3,  NOTHING_RESERVED, 2",
        "SETTLE,  3,  ALREADY_ENDED, 2",
    })
    void a_reservation_counts_with_its_final_cost_at_its_time(RequestKind kind, long cost, Reason reason, long most)
            throws Exception {
        for (long taken = most; taken <= most + 1; taken++) {
            SharedQuotaAudit sums = sums(new PolicyTimeline(
                    List.of(written(1, "key: [], limits: [{algorithm: sliding-window-log, limit: 10, per: 10s}]", 0))));
            decided(sums, RequestKind.CONSUME, "r", 8, 40_000, Reason.WITHIN_LIMITS);
            decided(sums, kind, "r", cost, 41_000, reason);
            decided(sums, kind, "r", cost, 41_500, Reason.ALREADY_ENDED);
            decided(sums, RequestKind.CONSUME, "x", taken, 42_000, Reason.WITHIN_LIMITS);
            decided(sums, RequestKind.CONSUME, "y", 10, 52_000, Reason.WITHIN_LIMITS);
            sums.verify();
            assertThat(found).hasSize(taken > most ? 1 : 0);
        }
        assertThat(found.get(0).note()).contains(": 11 of 10 by ");
    }
}
