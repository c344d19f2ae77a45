package dev.weir.shape.total;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.rules.TierShare;
import dev.weir.shape.total.InFlightGrant.Recall;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InFlightLenderTest {

    private static final Map<String, TierShare> SHARES =
            Map.of("gold", new TierShare(1, 1), "twice", new TierShare(0, 2));

    private final InFlightLender lender = new InFlightLender(LedgerState.fresh(0));

    /** Adds what a partition wants: {@code partition tier sum}, or {@code partition tier sum next}. */
    private static TotalReport.Demand demand(String[] words) {
        long sum = Long.parseLong(words[2]);
        long next = words.length < 4 ? 1 : Long.parseLong(words[3]);
        return new TotalReport.Demand(words[1], 1, List.of(), next, next, List.of(), new InFlightDemand(next, sum));
    }

    private void want(long most, String wants) {
        lender.setMost(OptionalLong.of(most));
        lender.setShares(SHARES);
        Map<Integer, List<TotalReport.Demand>> byPartition = new TreeMap<>();
        for (String want : wants.split("; ")) {
            String[] words = want.split(" ");
            byPartition
                    .computeIfAbsent(Integer.parseInt(words[0]), partition -> new ArrayList<>())
                    .add(demand(words));
        }
        byPartition.forEach((partition, demands) -> lender.report(
                partition, new InFlightClaim(OptionalLong.of(most), loan(partition), 0), demands, new ClientWeights()));
    }

    private InFlightLoan loan(int partition) {
        LedgerState.Lent lent = lender.lent().get(partition);
        return lent == null ? InFlightLoan.NONE : lent.loan();
    }

    private InFlightGrant grant(int partition) {
        return lender.grant(partition, lender.highestWanted());
    }

    /** Sends the grants that are due. Returns the partitions that get one. */
    private Set<Integer> sendDue(long nowNanos) {
        Map<Integer, InFlightGrant> due = lender.dueGrants(lender.highestWanted(), nowNanos);
        due.forEach((partition, grant) -> lender.sent(partition, grant, nowNanos));
        return due.keySet();
    }

    private String lent() {
        return lender.lent().entrySet().stream()
                .map(each -> each.getKey() + ":" + each.getValue().slots())
                .collect(Collectors.joining(" "));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    # slots | partition tier slots [of the next request]        | lent
                    4       | 0 free 10                                         | 0:4
                    4       | 0 free 2                                          | 0:2
                    4       | 0 free 10; 1 free 10                              | 0:2 1:2
                    5       | 0 free 1; 1 free 10                               | 0:1 1:4
                    1       | 0 free 10; 1 free 10; 2 free 10                   | 0:1
                    9       | 0 free 20; 1 twice 20                             | 0:3 1:6
                    4       | 0 free 10; 1 gold 3                               | 0:1 1:3
                    4       | 0 free 10; 1 gold 9                               | 1:4
                    4       | 0 free 10; 0 gold 1; 1 gold 1                     | 0:3 1:1
                    6       | 0 free 12 4                                       | 0:6
                    6       | 0 free 12 4; 1 free 12 4                          | 0:4
                    6       | 0 free 12 4; 1 free 12                            | 0:4 1:2
                    3       | 0 free 100 100                                    | 0:3
                    100000  | 0 free 100000; 1 free 100000                      | 0:50000 1:50000
                    """)
    void free_slots_are_lent_in_fair_order(long most, String wants, String expected) {
        want(most, wants);
        lender.lend();
        assertThat(lent()).isEqualTo(expected);
    }

    /** Partition 0 has loan 2, of four slots; it has returned two of six before. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    # claim: number slots over | lent
                    2 4 0                      | 4
                    2 1 0                      | 1
                    2 0 0                      | 0
                    2 4 3                      | 7
                    1 6 0                      | 4
                    1 0 0                      | 4
                    0 0 0                      | 4
                    9 0 0                      | 0
                    """)
    void a_claim_lowers_what_is_lent_only_if_it_is_about_the_last_loan_or_a_later_number(String claim, long expected) {
        long[] words =
                Arrays.stream(claim.split(" ")).mapToLong(Long::parseLong).toArray();
        InFlightLender restored = new InFlightLender(new LedgerState(
                LedgerState.fresh(0).granted(), 2, Map.of(0, new LedgerState.Lent(new InFlightLoan(2, 4), 0))));
        restored.setMost(OptionalLong.of(10));
        InFlightClaim sent = new InFlightClaim(OptionalLong.of(10), new InFlightLoan(words[0], words[1]), words[2]);
        for (int i = 0; i < 2; i++) { // a repeated one changes nothing
            restored.report(0, sent, List.of(), new ClientWeights());
            assertThat(restored.lent().values().stream()
                            .mapToLong(LedgerState.Lent::slots)
                            .sum())
                    .isEqualTo(expected);
        }
    }

    @Test
    void slots_are_wanted_from_the_others_while_a_partition_waits_and_not_if_its_priority_is_lower() {
        want(4, "0 free 4");
        lender.lend();
        assertThat(grant(0).recall()).isEqualTo(Recall.NONE);
        want(4, "1 free 1");
        lender.lend();
        assertThat(grant(0).recall()).isEqualTo(Recall.FREED);
        want(4, "0 gold 1");
        lender.lend();
        assertThat(grant(0).recall()).as("it needs them itself first").isEqualTo(Recall.NONE);
    }

    @Test
    void after_the_bound_is_lowered_all_are_wanted_and_none_are_lent() {
        want(4, "0 free 2; 1 free 1");
        lender.lend();
        want(2, "1 free 1");
        lender.lend();
        assertThat(lent()).isEqualTo("0:2 1:1");
        assertThat(List.of(grant(0), grant(1)))
                .extracting(InFlightGrant::recall)
                .containsExactly(Recall.ALL, Recall.ALL);
    }

    @Test
    void a_partition_is_reminded_of_wanted_slots_and_learns_once_that_they_no_longer_are() {
        want(1, "0 free 1");
        lender.lend();
        want(1, "1 free 1");
        lender.lend();
        assertThat(sendDue(0)).containsExactly(0);
        assertThat(sendDue(999_999_999)).isEmpty();
        assertThat(sendDue(1_000_000_000)).containsExactly(0);
        lender.forgetDemands(1);
        assertThat(sendDue(1_000_000_001)).containsExactly(0);
        assertThat(sendDue(9_000_000_000L)).isEmpty();
    }

    @Test
    void a_lender_without_loans_and_demand_has_no_news() {
        want(1, "0 free 1");
        assertThat(lender.hasNews()).isTrue();
        lender.forgetDemands(0);
        assertThat(lender.isIdle()).isTrue();
        assertThat(lender.hasNews())
                .as("otherwise the ledger would be due at once, again and again")
                .isFalse();
    }
}
