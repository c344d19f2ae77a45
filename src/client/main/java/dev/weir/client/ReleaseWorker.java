package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.KafkaException;

/**
 * Hands releases to a handler, each when its {@code releaseAt} has come, several at a time; tries again what fails,
 * through the queue.
 *
 * <pre>{@code
 * Map<String, Object> kafka = Map.of("bootstrap.servers", "kafka-1:9092", "group.id", "sms-workers");
 * try (ReleaseWorker worker = ReleaseWorker.builder(kafka, work -> sms.send(work.release()))
 *         .threads(8)
 *         .attempts(5)
 *         .start()) {
 *     shutdown.await();
 * }
 * }</pre>
 *
 * <p><b>At least once.</b> A release is committed when the handler has done it, or it waits in the queue again, or it
 * was given up; and only with all before it on its partition. One that takes long holds back the commits, and lets up
 * to {@link WorkerBuilder#ahead} others be done meanwhile. After a crash what was not committed is handed out again.
 *
 * <p><b>Doubles.</b> What this worker has in hand, or has done lately ({@link WorkerBuilder#ahead} of them), is left
 * alone if it comes again, known by queue, client and requestId: after a rebalance that gave its partitions away and
 * back, and where a producer sent the same request twice. What another process did, or this one before it was started
 * anew, is not known: a handler that must not do a thing twice passes {@link ReleaseTask#firstRequestId} on.
 *
 * <p><b>Failures.</b> Work that throws is sent as a request again, after a pause, with the same client, tier, cost,
 * attributes and payload, the requestId {@code <first>~<attempt>}, and without deadline and {@code sizeBytes}, which a
 * release has not. So it takes its place in the queue like any other, and is charged by its policies like any other. It
 * may be refused, which counts as a failed attempt; or be allowed at once, where its policy shapes only what exceeds
 * its limits, and is then handled at once. If it waits until it expires or is evicted, the decision that says so is on
 * {@code weir.decisions}, and this worker is not told. What has failed {@link WorkerBuilder#attempts} times goes to
 * {@link WorkerBuilder#givenUp}, or to the dead letters; what is no release goes to the dead letters.
 *
 * <p>Order is that of {@code releaseAt} as far as threads keep it: with one thread, and without failures, strictly.
 */
// One thread has the consumer and all that is known; handlers, timers and answers report to it by events.
public final class ReleaseWorker implements AutoCloseable {

    private static final Duration POLL_TIMEOUT = Duration.ofMillis(50);
    private static final long COMMIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long PAUSE_MS = 1_000;

    private final WorkerBuilder options;
    private final ReleaseConsumer consumer;
    private final WeirClient client; // null if nothing is tried again
    private final DeadLetterWriter deadLetters;
    private final ExecutorService handlers;
    private final ScheduledExecutorService timer;
    private final LinkedBlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
    private final Thread thread = new Thread(this::run, "weir-worker");

    private final TreeMap<Long, Task> inProgress = new TreeMap<>();
    private final Map<Name, Task> byName = new HashMap<>();
    private final BoundedRecentSet<Name> recentlyDone;
    private long handedOut;
    private int busy; // tasks with a handler, or with Weir: what closing waits for
    private int handling; // those with a handler
    private long committedNanos = System.nanoTime();

    private final LongAdder handled = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder retried = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private final LongAdder givenUp = new LongAdder();
    private final LongAdder duplicates = new LongAdder();
    private volatile int size;
    private volatile boolean closing;
    private volatile RuntimeException failure;
    private volatile RuntimeException giveUpFailure;

    private record Name(String queue, String client, String requestId) {}

    /** A release in hand, with the records that it came by. */
    private static final class Task {
        private final long number;
        private final Name name; // null if it is no release
        private final List<HeldReleases.Held> records = new ArrayList<>();
        private ReleaseTask work;

        Task(long number, Name name, HeldReleases.Held held) {
            this.number = number;
            this.name = name;
            records.add(held);
        }

        HeldReleases.Held held() {
            return records.get(0);
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private interface AfterStep {
        void run(Throwable thrown);
    }

    /**
     * How a worker is made.
     *
     * @param kafka what Kafka's clients take, at least {@code bootstrap.servers} and {@code group.id}; what begins with
     *     {@code producer.} or {@code consumer.} is for those alone
     */
    public static WorkerBuilder builder(Map<?, ?> kafka, ReleaseTask.Handler handler) {
        return new WorkerBuilder(kafka, handler);
    }

    ReleaseWorker(WorkerBuilder options) {
        this.options = options;
        recentlyDone = new BoundedRecentSet<>(options.ahead());
        deadLetters = options.deadLetters();
        try {
            client = options.attempts() > 1 ? options.client() : null;
        } catch (KafkaException e) {
            deadLetters.close();
            throw e;
        }
        try {
            consumer = options.consumer();
        } catch (KafkaException e) {
            deadLetters.close();
            closeClient();
            throw e;
        }
        consumer.beforeRevoked(this::finishBeforeRevoked);
        AtomicInteger names = new AtomicInteger();
        handlers = Executors.newFixedThreadPool(
                options.threads(), task -> new Thread(task, "weir-handler-" + names.incrementAndGet()));
        timer = Executors.newSingleThreadScheduledExecutor();
        thread.start();
    }

    /** What was counted since the start. */
    public WorkerStats stats() {
        return new WorkerStats(
                handled.sum(), failed.sum(), retried.sum(), refused.sum(), givenUp.sum(), duplicates.sum(), size);
    }

    /** What last went wrong with Kafka, or where something was to be given up; none if it has gone well since. */
    public Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure).or(() -> Optional.ofNullable(giveUpFailure));
    }

    /** Hands out no more, waits for what is handed out, and commits it. What waits for its next attempt comes again. */
    @Override
    public void close() {
        closing = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        while (!closing) {
            try {
                step();
                failure = null;
            } catch (RuntimeException e) { // may pass, as when a permission is given or another has the partitions
                failure = e;
                runEvents(PAUSE_MS);
            }
        }
        stop();
    }

    private void step() {
        runEvents(0);
        commitIfDue();
        if (hasRoom()) {
            consumer.take(POLL_TIMEOUT).ifPresent(this::begin);
        } else {
            runEvents(POLL_TIMEOUT.toMillis());
            consumer.keepUp();
        }
    }

    private boolean hasRoom() {
        boolean free = handling < options.threads();
        return free && (inProgress.isEmpty() || handedOut - inProgress.firstKey() < options.ahead());
    }

    private void begin(HeldReleases.Held held) {
        Name name = held.release() == null
                ? null
                : new Name(
                        held.release().queue(),
                        held.release().client(),
                        held.release().requestId());
        if (name != null && recentlyDone.contains(name)) {
            duplicates.increment();
            consumer.done(held);
        } else if (name != null && byName.containsKey(name)) {
            duplicates.increment();
            byName.get(name).records.add(held);
        } else {
            Task task = new Task(handedOut++, name, held);
            inProgress.put(task.number, task);
            size = inProgress.size();
            if (name == null) {
                giveUp(task, held.unreadable().fault());
            } else {
                byName.put(name, task);
                task.work = RetryHeaders.work(held.release(), held.headers());
                handle(task);
            }
        }
    }

    private void handle(Task task) {
        ReleaseTask work = task.work;
        handling++;
        runAside(() -> options.handler().handle(work), thrown -> {
            handling--;
            if (thrown == null) {
                handled.increment();
                finish(task);
            } else {
                failed.increment();
                fail(task, thrown, Duration.ZERO);
            }
        });
    }

    /** @param atLeast how long the next attempt has to wait, as Weir says */
    private void fail(Task task, Throwable cause, Duration atLeast) {
        int attempt = task.work.attempt();
        if (attempt >= options.attempts()) {
            giveUp(task, cause);
            return;
        }
        after(options.backOff(attempt, atLeast), () -> retry(task, cause));
    }

    private void retry(Task task, Throwable cause) {
        if (closing) {
            return; // it comes again
        }
        int attempt = task.work.attempt() + 1;
        busy++;
        var unused = client.decide(
                        RetryHeaders.request(task.work, attempt),
                        RetryHeaders.headers(task.work, attempt, task.held().headers()))
                .whenComplete((decision, unanswered) -> events.add(() -> {
                    busy--;
                    if (decision != null) {
                        goOn(task, attempt, decision, cause);
                    } else if (unanswered instanceof NoDecisionException) {
                        after(options.backOff(attempt), () -> retry(task, cause));
                    } else {
                        giveUp(task, unanswered);
                    }
                }));
    }

    private void goOn(Task task, int attempt, Decision decision, Throwable cause) {
        if (decision.outcome() == Outcome.QUEUED) {
            retried.increment();
            finish(task);
            return;
        }
        task.work = new ReleaseTask(task.work.release(), attempt, task.work.firstRequestId());
        if (decision.outcome() == Outcome.ALLOWED) {
            handle(task);
        } else {
            refused.increment();
            long retryAfterMs = decision.retryAfterMs() == null ? 0 : decision.retryAfterMs();
            fail(task, new RefusedException(decision, cause), Duration.ofMillis(retryAfterMs));
        }
    }

    /** As often as it takes: what cannot be told is not lost. */
    private void giveUp(Task task, Throwable cause) {
        runAside(() -> addEvent(task, cause), thrown -> {
            if (thrown == null) {
                givenUp.increment();
                giveUpFailure = null;
                finish(task);
            } else {
                giveUpFailure =
                        new IllegalStateException("a release cannot be given up: " + thrown.getMessage(), thrown);
                after(options.backOff(1).plusMillis(PAUSE_MS), () -> giveUp(task, cause));
            }
        });
    }

    private void addEvent(Task task, Throwable cause) throws Exception {
        if (options.givenUp().isPresent() && task.work != null) {
            options.givenUp().get().handle(task.work, cause);
        } else {
            deadLetters.write(task.held(), cause);
        }
    }

    private void finish(Task task) {
        task.records.forEach(consumer::done);
        inProgress.remove(task.number);
        size = inProgress.size();
        if (task.name != null) {
            byName.remove(task.name);
            recentlyDone.add(task.name);
        }
    }

    private void runAside(Step step, AfterStep next) {
        busy++;
        try {
            handlers.execute(() -> {
                Throwable thrown = null;
                try {
                    step.run();
                } catch (Throwable e) { // a handler's own, of any kind: the release must not be lost with it
                    thrown = e;
                }
                Throwable last = thrown;
                events.add(() -> {
                    busy--;
                    next.run(last);
                });
            });
        } catch (RejectedExecutionException e) { // it is closed
            busy--;
        }
    }

    private void after(Duration wait, Runnable next) {
        if (closing) {
            return;
        }
        var unused = timer.schedule(() -> events.add(next), wait.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Waits for one at most so long, and does all that are there. */
    private void runEvents(long waitMs) {
        try {
            Runnable event = waitMs == 0 ? events.poll() : events.poll(waitMs, TimeUnit.MILLISECONDS);
            for (; event != null; event = events.poll()) {
                event.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void commitIfDue() {
        long nowNanos = System.nanoTime();
        if (nowNanos - committedNanos >= COMMIT_NANOS) {
            committedNanos = nowNanos;
            consumer.commit();
        }
    }

    private void finishBeforeRevoked() {
        if (!closing) {
            finishBusy();
        }
        consumer.commit();
    }

    private void finishBusy() {
        long startNanos = System.nanoTime();
        while (busy > 0
                && System.nanoTime() - startNanos < options.finishWithin().toNanos()) {
            runEvents(POLL_TIMEOUT.toMillis());
        }
    }

    private void stop() {
        timer.shutdownNow();
        try {
            finishBusy();
            consumer.commit();
        } catch (RuntimeException e) {
            failure = e;
        } finally {
            handlers.shutdownNow();
            consumer.close();
            closeClient();
            deadLetters.close();
        }
    }

    private void closeClient() {
        if (client != null) {
            client.close();
        }
    }
}
