package dev.weir.processor;

import dev.weir.shape.QueueView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** The queues of this application's tasks, by partition, open to questions from other threads while the tasks go on. */
public final class QueueRegistry {

    private final Map<Integer, Shape> tasks = new ConcurrentHashMap<>();

    /**
     * Asks the queues of a partition something that leaves them as they are.
     *
     * @param patience how long to wait for the task's own work
     * @return none if no task of this application has the partition, or it is busy
     */
    public <T> Optional<T> query(int partition, Duration patience, Shape.QueueQuery<T> question) {
        Shape task = tasks.get(partition);
        return task == null ? Optional.empty() : task.query(patience, question);
    }

    /**
     * The first queues of each partition, by id, without those of a partition that is busy for longer than it is waited
     * for. The parts of one queue on several partitions are added up.
     */
    public List<QueueView> views(int most, Duration patience) {
        Map<String, QueueView> views = new TreeMap<>();
        for (Shape task : tasks.values()) {
            task.query(patience, (shaper, nowNanos) -> shaper.views(most, nowNanos))
                    .orElse(List.of())
                    .forEach(view -> views.merge(view.rules().id(), view, QueueView::mergedWith));
        }
        return List.copyOf(views.values());
    }

    /**
     * What the partitions of this application have of a queue: a view for each that has anything of it.
     *
     * @param patience how long to wait for the tasks' own work, in all
     * @return none if a task is busy for longer, or is being closed
     */
    public Optional<List<QueueView>> parts(String queue, Duration patience) {
        long deadlineNanos = System.nanoTime() + patience.toNanos();
        List<QueueView> parts = new ArrayList<>();
        for (Shape task : tasks.values()) {
            Duration left = Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()));
            Optional<Optional<QueueView>> part =
                    task.query(left, (shaper, nowNanos) -> Optional.ofNullable(shaper.view(queue, nowNanos)));
            if (part.isEmpty()) {
                return Optional.empty();
            }
            part.get().ifPresent(parts::add);
        }
        return Optional.of(parts);
    }

    void open(int partition, Shape task) {
        tasks.put(partition, task);
    }

    /** Closes a task's queues, unless another has the partition by now. */
    void close(int partition, Shape task) {
        tasks.remove(partition, task);
    }
}
