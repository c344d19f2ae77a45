package dev.weir.transaction;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.transaction.LoggedTransaction.Status;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.MayRun;
import dev.weir.transaction.TransactionVerdict.NeverJoined;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class HangingTransactionsTest {

    private static final TopicPartition CHANGELOG = new TopicPartition("ledgers-changelog", 1);
    private static final TopicPartition OTHER = new TopicPartition("decisions", 0);
    private static final OpenTransaction OPEN = new OpenTransaction(CHANGELOG, 1, (short) 133, 0, 187, 0);

    @Test
    void the_decision_with_the_next_epoch_tells_whether_the_transaction_was_committed() {
        CoordinatorState later = state(TransactionState.COMPLETE_COMMIT, 140, Set.of());
        assertThat(judge(later, end(134, 2, true, CHANGELOG, OTHER))).isEqualTo(new MarkerMissing("weir-1", true));
        assertThat(judge(later, end(134, 2, false, CHANGELOG))).isEqualTo(new MarkerMissing("weir-1", false));
        assertThat(judge(
                        later,
                        end(133, 2, true, CHANGELOG),
                        end(134, 2, false, CHANGELOG),
                        end(135, 2, true, CHANGELOG)))
                .as("decisions about the transactions before and after it")
                .isEqualTo(new MarkerMissing("weir-1", false));
    }

    @Test
    void records_in_a_partition_that_was_not_part_of_the_transaction_were_never_committed() {
        assertThat(judge(state(TransactionState.EMPTY, 140, Set.of()), end(134, 2, true, OTHER)))
                .isEqualTo(new NeverJoined("weir-1"));
    }

    @ParameterizedTest
    @EnumSource(names = {"ONGOING", "PREPARE_COMMIT", "PREPARE_ABORT", "PREPARE_EPOCH_FENCE"})
    void a_transaction_that_its_coordinator_has_not_completed_is_running(TransactionState state) {
        assertThat(judge(state(state, 133, Set.of(CHANGELOG)), end(134, 2, true, CHANGELOG)))
                .isEqualTo(new Running("weir-1"));
    }

    @Test
    void a_running_transaction_of_the_same_producer_elsewhere_proves_nothing() {
        CoordinatorState next = state(TransactionState.ONGOING, 135, Set.of(OTHER));
        assertThat(judge(next, end(134, 2, true, CHANGELOG))).isEqualTo(new MarkerMissing("weir-1", true));
        assertThat(judge(next)).isInstanceOf(Undecided.class);
    }

    /** With version 0 or 1, the transactions of a producer have one epoch. */
    @Test
    void a_producer_whose_transactions_share_an_epoch_is_undecided() {
        CoordinatorState complete = state(TransactionState.COMPLETE_COMMIT, 133, Set.of());
        assertThat(judge(complete, end(133, 1, true, CHANGELOG))).isInstanceOf(Undecided.class);
        assertThat(judge(complete, end(133, 0, true, CHANGELOG), end(134, 2, false, CHANGELOG)))
                .as("the coordinator fenced it with version 2")
                .isInstanceOf(Undecided.class);
    }

    /** If the coordinator fences a producer, it logs the abort with its own version instead of that of the records. */
    @Test
    void an_abort_proves_nothing_unless_the_transaction_began_with_its_own_epoch() {
        CoordinatorState later = state(TransactionState.COMPLETE_ABORT, 134, Set.of());
        LoggedTransaction abort = end(134, 2, false, CHANGELOG);
        assertThat(judgeWithout(later, logged(133, 0, Status.ONGOING, CHANGELOG), abort))
                .isInstanceOf(Undecided.class);
        assertThat(judgeWithout(later, abort)).as("its beginning was compacted").isInstanceOf(Undecided.class);
        assertThat(judgeWithout(later, logged(133, 2, Status.ONGOING, CHANGELOG), abort))
                .isEqualTo(new MarkerMissing("weir-1", false));
    }

    @Test
    void without_a_decision_or_a_coordinator_it_is_undecided() {
        assertThat(judge(state(TransactionState.COMPLETE_COMMIT, 134, Set.of()), end(135, 2, true, CHANGELOG)))
                .isEqualTo(new Undecided("the coordinator's log has no end of the transaction of weir-1"));
        assertThat(HangingTransactions.judge(OPEN, Optional.empty(), new TransactionHistory(OPEN)))
                .as("it may be running")
                .isInstanceOf(MayRun.class);
        LoggedTransaction other = new LoggedTransaction(2, (short) 134, (short) 2, Status.COMMITTED, Set.of(CHANGELOG));
        assertThat(judge(state(TransactionState.COMPLETE_COMMIT, 140, Set.of()), other))
                .as("another producer id")
                .isInstanceOf(Undecided.class);
        assertThat(judge(
                        state(TransactionState.COMPLETE_COMMIT, 140, Set.of()),
                        end(134, 2, true, CHANGELOG),
                        end(134, 2, false, CHANGELOG)))
                .isInstanceOf(Undecided.class);
    }

    private static TransactionVerdict judge(CoordinatorState coordinator, LoggedTransaction... logged) {
        return judgeWithout(
                coordinator,
                Stream.concat(Stream.of(logged(133, 2, Status.ONGOING, CHANGELOG)), Stream.of(logged))
                        .toArray(LoggedTransaction[]::new));
    }

    /** Judges without a record of the transaction's beginning. */
    private static TransactionVerdict judgeWithout(CoordinatorState coordinator, LoggedTransaction... logged) {
        TransactionHistory history = new TransactionHistory(OPEN);
        List.of(logged).forEach(history::add);
        return HangingTransactions.judge(OPEN, Optional.of(coordinator), history);
    }

    private static CoordinatorState state(TransactionState state, int epoch, Set<TopicPartition> partitions) {
        return new CoordinatorState("weir-1", state, 1, (short) epoch, partitions);
    }

    private static LoggedTransaction end(int epoch, int version, boolean isCommitted, TopicPartition... partitions) {
        return logged(epoch, version, isCommitted ? Status.COMMITTED : Status.ABORTED, partitions);
    }

    private static LoggedTransaction logged(int epoch, int version, Status status, TopicPartition... partitions) {
        return new LoggedTransaction(1, (short) epoch, (short) version, status, Set.of(partitions));
    }
}
