package dev.weir.audit.shared;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.LeaseUsage;
import dev.weir.event.PolicyVersion;
import dev.weir.event.StateKey;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SegmentStore;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.wire.PolicyAvro;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients tell of their own decisions, of which only is known between when and when they came. */
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

    /** The first is told of by since, until and cost, then the second, of which so much fits at most. */
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
    void what_surely_is_too_much_is_found_and_no_less(
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
        assertThat(totals.summedByClients()).isEqualTo(4);
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
    void what_kept_the_limit_is_never_found_however_it_is_told_together(String limit) throws Exception {
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

    /** As much as the limit admits, by three who tell of it now and then. */
    private static void tellOfAll(SharedQuotaAudit sums, Limit<?> admits, Random random) {
        long nowMs = 1_000_000_000_000L + random.nextInt(1_000);
        LimitAccount<?> account = open(admits, nowMs);
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

    private static LimitAccount<?> open(Limit<?> limit, long nowMs) {
        if (!(limit instanceof SlidingWindowLog log)) {
            return LimitAccount.open(limit, nowMs);
        }
        SegmentStore segments = new HeapStates(WeirConfig.DEFAULTS.state())
                .segments(new StateKey(StateKey.NO_CLIENT, "p", List.of()), 0);
        return new LimitAccount<>(log, log.initialState(nowMs).withSegments(0, segments));
    }

    @Test
    void what_is_told_of_two_windows_at_once_is_in_neither() throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: fixed-window, limit: 10, per: 10s"));
        use(sums, 0, 29_999, 30_000, 100);
        use(sums, 1, 30_000, 30_000, 10);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.TIME_UNKNOWN, 1L));
        assertThat(totals.summed()).isEqualTo(1);
    }

    @Test
    void what_lasts_longer_than_a_bucket_takes_to_fill_hides_nothing() throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: gcra, limit: 10, per: 10s"));
        use(sums, 0, 0, 100_000, 5);
        use(sums, 1, 100_000, 100_000, 11);
        sums.verify();
        assertThat(found).singleElement().satisfies(difference -> assertThat(difference.note())
                .contains(": 11 of 10 "));
        assertThat(totals.unverified()).containsExactly(Map.entry(UnverifiedReason.TIME_UNKNOWN, 1L));
    }

    @Test
    void more_than_are_kept_are_not_summed() throws Exception {
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
    void what_begins_before_a_change_of_the_limits_is_held_against_neither() throws Exception {
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
            2 | client   | 5  | 9               | 1                   | policy p never had version 2
            1 | client   | 9  | 5               | 1                   | its since is after its until
            1 | client   | -1 | 5               | 1                   | its times must be 1970 to 9999
            1 | client   | 5  | 300000000000000 | 1                   | its times must be 1970 to 9999
            1 | client   | 5  | 9               | -1                  | its counts must be 0 to 2305843009213693952
            1 | client   | 5  | 9               | 9223372036854775807 | its counts must be 0 to 2305843009213693952
            1 | endpoint | 5  | 9               | 1                   | policy p never lent to clients by the key [endpoint]
            """)
    void what_cannot_be_is_a_difference_and_in_no_sum(
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
    void a_policy_that_is_not_lent_to_clients_has_no_usage() throws Exception {
        SharedQuotaAudit sums = sums(
                new PolicyTimeline(List.of(written(1, "key: [], limits: [{algorithm: gcra, limit: 10, per: 1h}]", 0))));
        add(sums, 0, usage(1, Map.of(), 5, 9, 1));
        assertThat(found).singleElement().satisfies(difference -> assertThat(difference.note())
                .startsWith("policy p never lent to clients by the key [];"));
    }

    @Test
    void by_rules_that_are_forgotten_or_one_of_two_nothing_is_summed() throws Exception {
        String limit = "lease: client, limits: [{algorithm: gcra, limit: 10, per: 1h}]";
        SharedQuotaAudit forgotten = sums(new PolicyTimeline(List.of(written(5, "key: [endpoint], " + limit, 0))));
        add(forgotten, 0, usage(4, Map.of("client", "a"), 5, 9, 100));
        add(forgotten, 1, usage(5, Map.of("client", "a"), 5, 9, 100));
        forgotten.verify();
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
        assertThat(totals.summedByClients()).isEqualTo(1);
    }

    @Test
    void what_was_only_denied_is_in_no_sum() throws Exception {
        SharedQuotaAudit sums = sums(rules("algorithm: gcra, limit: 10, per: 1h"));
        use(sums, 0, 5, 9, 0);
        sums.verify();
        assertThat(found).isEmpty();
        assertThat(totals.summed()).isZero();
    }
}
