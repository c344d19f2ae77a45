package dev.weir.takeover;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** A scheduler that runs tasks in the calling thread, when the test lets time pass. */
final class VirtualTime extends AbstractExecutorService implements ScheduledExecutorService {

    private record Task(long atNanos, long number, Runnable step) {}

    private final PriorityQueue<Task> tasks =
            new PriorityQueue<>(Comparator.comparingLong(Task::atNanos).thenComparingLong(Task::number));
    private long nanos;
    private long number;

    long nanos() {
        return nanos;
    }

    /** Lets time pass and runs what is due, each task at its time. */
    void pass(Duration time) {
        long end = nanos + time.toNanos();
        while (!tasks.isEmpty() && tasks.peek().atNanos <= end) {
            Task task = tasks.remove();
            nanos = Math.max(nanos, task.atNanos);
            task.step.run();
        }
        nanos = end;
    }

    /** Lets time pass in which nothing runs, as if the process was stopped. */
    void stall(Duration time) {
        nanos += time.toNanos();
    }

    @Override
    public void execute(Runnable step) {
        step.run();
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable step, long delay, TimeUnit unit) {
        tasks.add(new Task(nanos + unit.toNanos(delay), number++, step));
        return null;
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable step, long first, long delay, TimeUnit unit) {
        return schedule(
                () -> {
                    step.run();
                    scheduleWithFixedDelay(step, delay, delay, unit);
                },
                first,
                unit);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable step, long first, long period, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> step, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void shutdown() {
        tasks.clear();
    }

    @Override
    public List<Runnable> shutdownNow() {
        tasks.clear();
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return false;
    }

    @Override
    public boolean isTerminated() {
        return false;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return true;
    }
}
