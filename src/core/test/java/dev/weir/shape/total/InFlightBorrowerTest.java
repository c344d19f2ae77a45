package dev.weir.shape.total;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.total.InFlightGrant.Recall;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class InFlightBorrowerTest {

    private static final OptionalLong MOST = OptionalLong.of(10);

    private final InFlightBorrower borrower = new InFlightBorrower(new InFlightLoan(5, 4));

    private void receive(long number, long slots, Recall recall, long used) {
        borrower.receive(new InFlightGrant(new InFlightLoan(number, slots), recall), used);
    }

    @Test
    void free_slots_are_kept_while_none_are_recalled() {
        assertThat(borrower.free(1)).isEqualTo(3);
        assertThat(borrower.mustReport(MOST, 1, 0)).isFalse();
        assertThat(borrower.report(MOST, 1, 0).loan()).isEqualTo(new InFlightLoan(5, 4));
    }

    @Test
    void an_earlier_loan_is_ignored() {
        receive(4, 9, Recall.NONE, 0);
        receive(5, 9, Recall.NONE, 0);
        assertThat(borrower.loan()).isEqualTo(new InFlightLoan(5, 4));
    }

    @Test
    void of_recalled_slots_those_lent_since_can_be_used_and_others_are_returned() {
        receive(5, 4, Recall.FREED, 4);
        assertThat(borrower.free(1)).as("three became free").isZero();
        receive(7, 6, Recall.FREED, 1);
        assertThat(borrower.free(1)).as("two were lent since").isEqualTo(2);
        borrower.occupy(1);
        assertThat(borrower.free(2)).isEqualTo(1);
        assertThat(borrower.mustReport(MOST, 2, 5)).isTrue();
        assertThat(borrower.report(MOST, 2, 5)).isEqualTo(new InFlightClaim(MOST, new InFlightLoan(7, 3), 0));
        assertThat(borrower.mustReport(MOST, 2, 5)).isFalse();
    }

    @Test
    void a_claim_that_the_ledger_does_not_have_is_sent_again() {
        receive(5, 4, Recall.FREED, 2);
        assertThat(borrower.report(MOST, 2, 0).loan().slots()).isEqualTo(2);
        receive(5, 4, Recall.FREED, 2);
        assertThat(borrower.mustReport(MOST, 2, 0)).isTrue();
    }

    @Test
    void after_the_bound_was_lowered_no_free_slot_is_used() {
        receive(9, 8, Recall.ALL, 3);
        assertThat(borrower.free(3)).isZero();
        assertThat(borrower.free(2)).isZero();
        assertThat(borrower.report(MOST, 2, 5).loan()).isEqualTo(new InFlightLoan(9, 2));
    }

    @Test
    void without_a_bound_all_is_returned_and_what_exceeds_a_new_one_is_reported() {
        assertThat(borrower.mustReport(OptionalLong.empty(), 3, 1)).isTrue();
        assertThat(borrower.report(OptionalLong.empty(), 3, 1).loan().slots()).isZero();
        assertThat(borrower.report(MOST, 3, 1)).isEqualTo(new InFlightClaim(MOST, new InFlightLoan(5, 0), 3));
    }
}
