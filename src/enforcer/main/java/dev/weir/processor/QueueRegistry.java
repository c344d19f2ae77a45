package dev.weir.processor;

import dev.weir.shape.QueueQueries;
import dev.weir.shape.view.QueueView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** The queues of this application's tasks by partition. Other threads can query them while the tasks run. */
public final class QueueRegistry {

    /**
     * A read-only query on the queues of a task.
     *
     * @param <T> the type of the result
     */
    public interface QueueQuery<T> {

        /** @param nowNanos the queue time in nanoseconds */
        T run(QueueQueries queues, long nowNanos);
    }

    private final Map<Integer, QueueTask> tasks = new ConcurrentHashMap<>();

    /**
     * Runs a read-only query on the queues of a partition.
     *
     * @param timeout how long to wait for the task to finish its current work
     * @return empty if no task of this application has the partition, or the task is busy for longer
     */
    public <T> Optional<T> query(int partition, Duration timeout, QueueQuery<T> query) {
        QueueTask task = tasks.get(partition);
        return task == null ? Optional.empty() : task.query(timeout, query);
    }

    /**
     * Returns the first queues of each partition by id, without those of a partition whose task is busy for longer than
     * {@code timeout}. The parts of one queue on several partitions are merged.
     *
     * @param most the maximum number of queues per partition
     * @param timeout how long to wait for each task
     */
    public List<QueueView> views(int most, Duration timeout) {
        Map<String, QueueView> views = new TreeMap<>();
        for (QueueTask task : tasks.values()) {
            task.query(timeout, (queues, nowNanos) -> queues.views(most, nowNanos))
                    .orElse(List.of())
                    .forEach(view -> views.merge(view.rules().id(), view, QueueView::mergedWith));
        }
        return List.copyOf(views.values());
    }

    /**
     * Returns a view of a queue for each partition of this application that has a part of it.
     *
     * @param timeout how long to wait for all tasks together
     * @return empty if a task is busy for longer or is being closed
     */
    public Optional<List<QueueView>> parts(String queue, Duration timeout) {
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        List<QueueView> parts = new ArrayList<>();
        for (QueueTask task : tasks.values()) {
            Duration left = Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()));
            Optional<Optional<QueueView>> part =
                    task.query(left, (queues, nowNanos) -> Optional.ofNullable(queues.view(queue, nowNanos)));
            if (part.isEmpty()) {
                return Optional.empty();
            }
            part.get().ifPresent(parts::add);
        }
        return Optional.of(parts);
    }

    /**
     * Returns the queues of this application that are not in force and in which requests wait, or for which commands of
     * operators are in effect, by id. The parts of one queue on several partitions are merged.
     *
     * @param most the maximum number of queues per partition
     * @param timeout how long to wait for all tasks together
     * @return empty if a task is busy for longer or is being closed
     */
    public Optional<SortedMap<String, QueueView>> unusual(int most, Duration timeout) {
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        SortedMap<String, QueueView> views = new TreeMap<>();
        for (QueueTask task : tasks.values()) {
            Duration left = Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()));
            Optional<List<QueueView>> part = task.query(left, (queues, nowNanos) -> queues.unusual(most, nowNanos));
            if (part.isEmpty()) {
                return Optional.empty();
            }
            part.get().forEach(view -> views.merge(view.rules().id(), view, QueueView::mergedWith));
        }
        return Optional.of(views);
    }

    void add(int partition, QueueTask task) {
        tasks.put(partition, task);
    }

    /** Removes a task, unless another task has registered for the partition since. */
    void remove(int partition, QueueTask task) {
        tasks.remove(partition, task);
    }
}
