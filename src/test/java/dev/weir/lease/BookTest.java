package dev.weir.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.lease.Ask.Report;
import java.util.List;
import org.junit.jupiter.api.Test;

class BookTest {

    private static final LeaseTerms TERMS = new LeaseTerms(1_000, 100, 10);
    private static final long NOW = 5_000;

    private Book book = Book.empty(NOW);

    private Ask tell(long waits, long nowMs) {
        Book.Telling telling = book.tell("me", waits, TERMS, nowMs);
        if (telling == null) {
            return null;
        }
        book = telling.book();
        return telling.ask();
    }

    private void want(long cost, long nowMs) {
        book = book.wanted(cost, nowMs);
    }

    @Test
    void one_that_nobody_wants_anything_of_asks_for_nothing() {
        assertThat(tell(0, NOW)).isNull();
        assertThat(book.tellAtMs(TERMS)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void who_waits_makes_it_ask_once() {
        want(3, NOW);
        assertThat(tell(3, NOW)).isEqualTo(new Ask("me", 3, 3, List.of(), 0));
        want(1, NOW);
        assertThat(tell(3, NOW)).isNull();
        assertThat(tell(3, NOW + 1_000)).as("no answer has come").isNotNull();
    }

    @Test
    void it_does_not_ask_before_there_can_be_anything() {
        want(3, NOW);
        tell(3, NOW);
        book = book.answered(new Grant.Nothing(NOW + 5, 295), TERMS, NOW);
        assertThat(tell(3, NOW + 299)).isNull();
        assertThat(tell(3, NOW + 300)).isNotNull();
    }

    @Test
    void it_asks_again_after_a_term_whatever_the_ledger_has_said() {
        want(3, NOW);
        tell(3, NOW);
        book = book.answered(new Grant.Nothing(NOW, 3_600_000), TERMS, NOW);
        assertThat(book.question().retryAtMs()).isEqualTo(NOW + 3_600_000);
        assertThat(book.mayCome(3, TERMS, NOW + 999)).isFalse();
        assertThat(tell(3, NOW + 999)).isNull();
        assertThat(book.mayCome(3, TERMS, NOW + 1_000)).isTrue();
        assertThat(tell(3, NOW + 1_000)).isNotNull();
    }

    @Test
    void what_it_holds_is_had_until_the_margin_before_its_end() {
        book = book.answered(new Grant.Slice(1, 5, NOW + 20, NOW + 1_000), TERMS, NOW);
        assertThat(book.timeMs(NOW)).as("never before it was lent").isEqualTo(NOW + 20);
        assertThat(book.available(TERMS, NOW)).isEqualTo(5);
        book = book.take(2, TERMS, NOW);
        assertThat(book.available(TERMS, NOW + 989)).isEqualTo(3);
        assertThat(book.available(TERMS, NOW + 990)).isZero();
        assertThatThrownBy(() -> book.take(1, TERMS, NOW + 990)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void the_slice_that_ends_first_is_used_first() {
        book = book.answered(new Grant.Slice(1, 5, NOW, NOW + 1_000), TERMS, NOW)
                .answered(new Grant.Slice(2, 5, NOW, NOW + 500), TERMS, NOW)
                .take(6, TERMS, NOW);
        assertThat(book.slices()).extracting(Book.Slice::lease).containsExactly(2L, 1L);
        assertThat(book.slices()).extracting(Book.Slice::used).containsExactly(5L, 1L);
    }

    @Test
    void the_next_slice_is_asked_for_before_the_last_one_is_used_up() {
        want(100, NOW);
        book = book.answered(new Grant.Slice(1, 12, NOW, NOW + 1_000), TERMS, NOW)
                .take(2, TERMS, NOW);
        assertThat(tell(0, NOW + 100))
                .as("ten are as many as are wanted in 100 ms")
                .isNull();
        book = book.take(1, TERMS, NOW + 50);
        assertThat(tell(0, NOW + 99)).as("as soon after an answer").isNull();
        assertThat(tell(0, NOW + 100)).isEqualTo(new Ask("me", 1, 91, List.of(new Report(1, 3, NOW + 50, 9)), 0));
    }

    @Test
    void what_is_not_wanted_is_given_back_before_its_slice_ends() {
        book = book.answered(new Grant.Slice(1, 5, NOW, NOW + 1_000), TERMS, NOW);
        long atMs = book.tellAtMs(TERMS);
        assertThat(atMs).isEqualTo(NOW + 1_000 - 10 - 100);
        assertThat(tell(0, atMs - 1)).isNull();
        assertThat(tell(0, atMs)).isEqualTo(new Ask("me", 0, 0, List.of(new Report(1, 0, 0, 0)), 0));
        assertThat(book.available(TERMS, atMs)).isZero();
        assertThat(book.tellAtMs(TERMS)).isEqualTo(Long.MAX_VALUE);
        assertThat(book.forgettableAtMs(TERMS))
                .as("what was wanted is forgotten soon")
                .isLessThan(atMs + 2_000);
    }

    @Test
    void a_slice_that_is_used_up_is_reported_soon() {
        book = book.answered(new Grant.Slice(1, 5, NOW, NOW + 1_000), TERMS, NOW)
                .take(5, TERMS, NOW + 40);
        assertThat(book.tellAtMs(TERMS)).isEqualTo(NOW + 140);
        assertThat(tell(0, NOW + 139)).isNull();
        assertThat(tell(0, NOW + 140)).isEqualTo(new Ask("me", 0, 0, List.of(new Report(1, 5, NOW + 40, 0)), 0));
        assertThat(book.tellAtMs(TERMS)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_slice_that_was_over_before_it_came_goes_back_and_is_not_asked_for_again_at_once() {
        want(3, NOW);
        tell(3, NOW);
        book = book.answered(new Grant.Slice(1, 3, NOW - 5_000, NOW - 4_000), TERMS, NOW);
        assertThat(book.available(TERMS, NOW)).isZero();
        assertThat(tell(3, NOW)).isEqualTo(new Ask("me", 0, 0, List.of(new Report(1, 0, 0, 0)), 0));
        assertThat(tell(3, NOW + 999)).isNull();
        assertThat(tell(3, NOW + 1_000)).isEqualTo(new Ask("me", 3, 3, List.of(), 0));
    }

    @Test
    void a_slice_that_comes_twice_is_one() {
        Grant.Slice slice = new Grant.Slice(1, 5, NOW, NOW + 1_000);
        book = book.answered(slice, TERMS, NOW).take(5, TERMS, NOW).answered(slice, TERMS, NOW);
        assertThat(book.available(TERMS, NOW)).isZero();
    }

    @Test
    void what_is_refused_to_a_large_request_is_not_refused_to_a_small_one() {
        want(11, NOW);
        tell(11, NOW);
        book = book.answered(new Grant.Nothing(NOW, Long.MAX_VALUE), TERMS, NOW);
        assertThat(tell(11, NOW)).isNull();
        assertThat(tell(3, NOW).least()).isEqualTo(3);
        assertThat(book.forgettableAtMs(TERMS)).isLessThan(NOW + 100_000);
    }

    @Test
    void what_is_settled_is_taken_of_its_slices_and_the_rest_told_to_the_ledger() {
        Book book = Book.empty(NOW).answered(new Grant.Slice(1, 10, NOW, NOW + 5_000), TERMS, NOW);
        assertThat(book.settle(7, TERMS, NOW)).isEqualTo(book.take(7, TERMS, NOW));
        Book beyond = book.settle(13, TERMS, NOW);
        assertThat(beyond.available(TERMS, NOW)).isZero();
        assertThat(beyond.tell("me", 0, TERMS, NOW).ask())
                .isEqualTo(new Ask("me", 0, 0, List.of(new Report(1, 10, NOW, 0)), 3));
        assertThat(beyond.tell("me", 0, TERMS, NOW).book().settled()).isZero();
        assertThat(book.settle(-4, TERMS, NOW).tell("me", 0, TERMS, NOW).ask().settled())
                .isEqualTo(-4);
    }
}
