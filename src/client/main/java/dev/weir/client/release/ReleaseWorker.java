package dev.weir.client.release;

import dev.weir.client.NoDecisionException;
import dev.weir.client.WeirClient;
import dev.weir.client.kafka.KafkaClients;
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
import java.util.function.Supplier;
import org.apache.kafka.common.KafkaException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A consumer that passes each release to a handler at its {@code releaseAt}, several at a time, and retries failed ones
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
 * <p><b>At least once.</b> The offset of a release is committed when its handler has returned, when its next attempt
 * waits in the queue, or when the release was given up, and when all earlier records of its partition are committed
 * too. A slow release therefore delays commits, and up to {@link WorkerBuilder#ahead} later releases are handled
 * meanwhile. After a crash, releases that were not committed are handled again.
 *
 * <p><b>Duplicates.</b> A release is skipped if this worker is handling it, or has completed it recently (the last
 * {@link WorkerBuilder#ahead} releases). Releases are compared by queue, client and requestId. This covers rebalances
 * that revoke a partition and assign it again, and producers that send a request twice. It does not cover work of other
 * processes, or work before a restart. If an action must not run twice, pass {@link ReleaseTask#firstRequestId} on as
 * an idempotency key.
 *
 * <p><b>Failures.</b> If the handler throws, the worker pauses and then sends a new request: the same client, tier,
 * cost, attributes, payload and headers, the requestId {@code <first>~<attempt>}, and no deadline, {@code sizeBytes}
 * and {@code limitOverride}, which a release does not contain. The request takes its place in the queue and is charged by its
 * policies like any other. If it is denied, that counts as a failed attempt. If it is allowed at once, because its
 * policy shapes only what exceeds its limits, it is handled at once. If it expires in the queue or is evicted, the
 * worker does not learn of it; the decision is on the decisions topic. After {@link WorkerBuilder#attempts} failed
 * attempts, a release is passed to {@link WorkerBuilder#givenUp}, or written to the dead letters. Records that cannot
 * be decoded go to the dead letters as well.
 *
 * <p><b>Order.</b> Releases are handed to the threads in the order of {@code releaseAt}. With one thread and without
 * failures they are handled strictly in this order.
 */
// One thread owns the consumer and all state. Handlers, timers and decisions send it events.
public final class ReleaseWorker implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ReleaseWorker.class);
    private static final Duration POLL_TIMEOUT = Duration.ofMillis(50);
    private static final long COMMIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long PAUSE_MS = 1_000;

    private final WorkerBuilder options;
    private final Supplier<ReleaseConsumer> consumers;
    private ReleaseConsumer consumer; // null until the clients are open
    private volatile WeirClient client; // null until the clients are open, and if nothing is retried
    private DeadLetterWriter deadLetters; // null until the clients are open
    private final ExecutorService handlers;
    private final ScheduledExecutorService timer;
    private final LinkedBlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
    private final Thread thread = new Thread(this::run, "weir-worker");

    private final TreeMap<Long, Task> inProgress = new TreeMap<>();
    private final Map<Name, Task> byName = new HashMap<>();
    private final BoundedRecentSet<Name> recentlyDone;
    private long handedOut;
    private int busy; // tasks that a handler runs or Weir decides; close() waits for them
    private int handling; // tasks that a handler runs
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
    private volatile RuntimeException fatal; // why the worker has stopped by itself

    private record Name(String queue, String client, String requestId) {}

    /** A release in progress, with the records that contained it. */
    private static final class Task {
        private final long number;
        private final Name name; // null if the record cannot be decoded
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
     * Returns a builder for a worker, with default settings.
     *
     * @param kafka the properties of Kafka's clients, at least {@code bootstrap.servers} and {@code group.id}. A
     *     property with the prefix {@code producer.} or {@code consumer.} applies only to that Kafka client and
     *     overrides the property without the prefix
     * @param handler handles the releases
     * @return a builder
     */
    public static WorkerBuilder builder(Map<?, ?> kafka, ReleaseTask.Handler handler) {
        return new WorkerBuilder(kafka, handler);
    }

    ReleaseWorker(WorkerBuilder options, Supplier<ReleaseConsumer> consumers) {
        this.options = options;
        this.consumers = consumers;
        recentlyDone = new BoundedRecentSet<>(options.ahead());
        try {
            open();
        } catch (KafkaException e) {
            if (!KafkaClients.isUnresolved(e)) {
                throw e;
            }
            failure = e; // the thread tries again
        }
        AtomicInteger names = new AtomicInteger();
        handlers = Executors.newFixedThreadPool(
                options.threads(), task -> new Thread(task, "weir-handler-" + names.incrementAndGet()));
        timer = Executors.newSingleThreadScheduledExecutor();
        thread.start();
    }

    /** Creates Kafka's clients: all or none. */
    private void open() {
        DeadLetterWriter writer = options.deadLetters();
        WeirClient retries = null;
        try {
            retries = options.attempts() > 1 ? options.client() : null;
            consumer = consumers.get();
        } catch (RuntimeException e) {
            writer.close();
            if (retries != null) {
                retries.close();
            }
            throw e;
        }
        consumer.beforeRevoked(this::finishBeforeRevoked);
        deadLetters = writer;
        client = retries;
    }

    /**
     * Returns the counts since the worker was started.
     *
     * @return the counts
     */
    public WorkerStats stats() {
        return new WorkerStats(
                handled.sum(), failed.sum(), retried.sum(), refused.sum(), givenUp.sum(), duplicates.sum(), size);
    }

    /**
     * Returns the error that currently stops the worker from reading releases, committing, retrying, or giving up a
     * release. The worker keeps trying until it succeeds or is closed. Only an {@link Error}, such as an
     * {@link OutOfMemoryError}, stops it, as {@link #close} does; then the error is the cause of this failure.
     *
     * @return the last error; empty if the same operation has succeeded since
     */
    public Optional<RuntimeException> failure() {
        WeirClient retries = client;
        return Optional.ofNullable(fatal)
                .or(() -> Optional.ofNullable(failure))
                .or(() -> Optional.ofNullable(giveUpFailure))
                .or(() -> retries == null ? Optional.empty() : retries.failure());
    }

    /**
     * Stops the worker. It takes no more releases, waits for those in progress for up to
     * {@link WorkerBuilder#finishWithin}, commits them, and leaves the group. Handlers that still run then are
     * interrupted. Releases that wait for their next attempt to be sent are not committed, so they are handled again
     * later. Blocks until this is done or the calling thread is interrupted.
     */
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
        try {
            while (!closing) {
                runStep();
            }
        } catch (Throwable e) { // an error after which the state can be inconsistent
            fatal = new IllegalStateException("the worker has stopped: " + e, e);
            closing = true;
            LOG.error("the worker has stopped", e);
        } finally {
            stop();
        }
    }

    private void runStep() {
        try {
            if (consumer == null) {
                open();
            }
            step();
            failure = null;
        } catch (RuntimeException e) { // can be temporary, such as a missing permission or a rebalance
            failure = e;
            runEvents(PAUSE_MS);
        }
    }

    private void step() {
        runEvents(0);
        try {
            commitIfDue();
        } catch (RuntimeException e) {
            try {
                consumer.keepUp(); // a member that was removed from its group rejoins only by polling
            } catch (RuntimeException further) {
                e.addSuppressed(further);
            }
            throw e;
        }
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

    /**
     * Schedules the next attempt, or gives up the release.
     *
     * @param atLeast the shortest pause before the next attempt, from Weir's decision
     */
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
            return; // the release is not committed, so it is received again
        }
        int attempt = task.work.attempt() + 1;
        busy++;
        var unused = client.decide(
                        RetryHeaders.request(task.work, attempt),
                        RetryHeaders.headers(task.work, attempt, task.held().headers()))
                .whenComplete((answer, unanswered) -> events.add(() -> {
                    busy--;
                    if (answer != null) {
                        goOn(task, attempt, answer.decision().orElseThrow(), cause);
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

    /** Gives up a release. Repeats this until it succeeds, so that no release is lost. */
    private void giveUp(Task task, Throwable cause) {
        runAside(() -> handleGivenUp(task, cause), thrown -> {
            if (thrown == null) {
                givenUp.increment();
                giveUpFailure = null;
                finish(task);
            } else {
                giveUpFailure =
                        new IllegalStateException("a release could not be given up: " + thrown.getMessage(), thrown);
                after(options.backOff(1).plusMillis(PAUSE_MS), () -> giveUp(task, cause));
            }
        });
    }

    /** Passes a release to {@link WorkerBuilder#givenUp}, or writes it to the dead letters. */
    private void handleGivenUp(Task task, Throwable cause) throws Exception {
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
                } catch (Throwable e) { // whatever a handler throws must not lose the release
                    thrown = e;
                }
                Throwable last = thrown;
                events.add(() -> {
                    busy--;
                    next.run(last);
                });
            });
        } catch (RejectedExecutionException e) { // the worker is closed
            busy--;
        }
    }

    private void after(Duration wait, Runnable next) {
        if (closing) {
            return;
        }
        var unused = timer.schedule(() -> events.add(next), TimeUnit.NANOSECONDS.convert(wait), TimeUnit.NANOSECONDS);
    }

    /** Waits for an event, for {@code waitMs} at most, and runs all that have arrived. */
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
        tryToStop(this::finishBusy);
        if (consumer != null) {
            tryToStop(consumer::commit);
        }
        handlers.shutdownNow();
        closeClients();
    }

    private void closeClients() {
        if (consumer == null) {
            return;
        }
        tryToStop(consumer::close);
        if (client != null) {
            tryToStop(client::close);
        }
        tryToStop(deadLetters::close);
    }

    /** Runs a step of {@link #stop}. If it fails, the steps after it are still run. */
    private void tryToStop(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            failure = e;
        } catch (Error e) {
            failure = new IllegalStateException("the worker could not be closed: " + e, e);
        }
    }
}
