package dev.weir.shape.effect;

import dev.weir.event.Admission;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.timer.QueueClock;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalReport;
import java.util.UUID;

/** A message to the queues of a partition. All of them share one topic. */
public sealed interface QueueMessage {

    /** A request for a queue, or the withdrawal of one. */
    record Admitted(Admission admission) implements QueueMessage {}

    /**
     * A message of a task to itself, by which it measures the broker's time; see {@link QueueClock}.
     *
     * @param task a random id of the task that sent it; a task gets a new id when it is opened
     * @param sentMs when it was sent, by the clock of that task
     * @param partition the partition of the task
     */
    record Marker(UUID task, long sentMs, int partition) implements QueueMessage {}

    /** The demand of a partition for the total of a queue, to the ledger of that total. */
    record Reported(TotalReport report) implements QueueMessage {}

    /** A command of an operator. */
    record Commanded(QueueCommand command) implements QueueMessage {}

    /** Time of the total of a queue, to the partition that may use it. */
    record Granted(TotalGrant grant) implements QueueMessage {}
}
