package dev.weir.processor;

import dev.weir.shape.QueueView;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** The queues of this application's tasks, by partition, open to questions from other threads while the tasks go on. */
public final class LiveQueues {

    private final Map<Integer, Shape> tasks = new ConcurrentHashMap<>();

    /**
     * Asks the queues of a partition something that leaves them as they are.
     *
     * @param patience how long to wait for the task's own work
     * @return none if no task of this application has the partition, or it is busy
     */
    public <T> Optional<T> ask(int partition, Duration patience, Shape.Question<T> question) {
        Shape task = tasks.get(partition);
        return task == null ? Optional.empty() : task.ask(patience, question);
    }

    /**
     * The first queues of each partition, by id, without those of a partition that is busy for longer than it is waited for. The parts of one
     * queue on several partitions are added up.
     */
    public List<QueueView> views(int most, Duration patience) {
        Map<String, QueueView> views = new TreeMap<>();
        for (Shape task : tasks.values()) {
            task.ask(patience, (shaper, nowNanos) -> shaper.views(most, nowNanos))
                    .orElse(List.of())
                    .forEach(view -> views.merge(view.rules().id(), view, QueueView::and));
        }
        return List.copyOf(views.values());
    }

    /**
     * A queue of several buckets, as far as the partitions of this application have it.
     *
     * @return none if there is no partition here, or all are busy for longer than they are waited for
     */
    public Optional<QueueView> view(String queue, Duration patience) {
        return tasks.values().stream()
                .map(task -> task.ask(patience, (shaper, nowNanos) -> shaper.view(queue, nowNanos)))
                .flatMap(Optional::stream)
                .reduce(QueueView::and);
    }

    void open(int partition, Shape task) {
        tasks.put(partition, task);
    }

    /** Closes a task's queues, unless another has the partition by now. */
    void close(int partition, Shape task) {
        tasks.remove(partition, task);
    }
}
