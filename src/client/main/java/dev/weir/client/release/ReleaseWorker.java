package dev.weir.client.release;

import dev.weir.client.decision.NoDecisionException;
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
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
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
 * <p><b>Queues with {@code max-in-flight}.</b> The worker acknowledges each attempt. It commits the offset before the
 * handler starts, so each attempt starts at most once. It claims the attempt with an {@code EXTEND}, which it repeats
 * every third of the {@code ack-timeout} while the handler runs. When the handler returns, it sends a {@code COMPLETE}:
 * done; after an exception: retry with the error, or failed after a {@link ReleaseFailedException}. It repeats this
 * until Weir has decided. Weir schedules further attempts and writes the dead letters, by the rules of the queue. If the
 * worker dies, Weir releases its requests again after the {@code ack-timeout}. The worker drops releases whose
 * {@code ack-timeout} has passed, and {@linkplain WorkerStats.Attempts#stale counts} them. Neither {@link WorkerBuilder#attempts},
 * {@link WorkerBuilder#backOff} nor {@link WorkerBuilder#givenUp} apply. The rest of this page is about other queues.
 *
 * <p><b>At least once.</b> A release is done when its handler has returned, when its next attempt waits in the queue,
 * or when it was given up. Its offset is committed when it and all earlier records of its partition are done. A slow
 * release therefore delays commits, and up to {@link WorkerBuilder#ahead} later releases are handled meanwhile. After a
 * crash, releases that were not committed are handled again.
 *
 * <p><b>Duplicates.</b> A release is skipped if this worker is handling it, or has completed it recently (the last
 * {@link WorkerBuilder#ahead} releases). Releases are compared by queue, client and requestId. This covers rebalances
 * that revoke a partition and assign it again, and producers that send a request twice. It does not cover work of other
 * processes, or work before a restart. If an action must not run twice, pass {@link ReleaseTask#firstRequestId} on as
 * an idempotency key.
 *
 * <p><b>Failures.</b> If the handler throws, the worker pauses and then sends a new request. It has the same client,
 * tier, cost, attributes, payload and headers, and the requestId {@code <first>~<attempt>}. It has no deadline, {@code
 * sizeBytes} and {@code limitOverride}, which a release does not contain. The request takes its place in the queue and
 * is charged by its policies like any other. If it is denied, that counts as a failed attempt. If it is allowed at
 * once, because its policy shapes only what exceeds its limits, it is handled at once. If it expires in the queue or is
 * evicted, the worker does not learn of it; the decision is on the decisions topic. After {@link
 * WorkerBuilder#attempts} failed attempts, a release is passed to {@link WorkerBuilder#givenUp}, or written to the dead
 * letters; after a {@link ReleaseFailedException}, at once. Records that cannot be decoded go to the dead letters as
 * well.
 *
 * <p><b>Order.</b> Releases are handed to the threads in the order of {@code releaseAt}, late ones of a bucket at its
 * pace, see {@link WorkerBuilder#late}. With one thread and without failures those of a bucket are handled in this order.
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
    private final WorkerClient client;
    private DeadLetterWriter deadLetters; // null until the clients are open
    private final WorkerEvents events;
    private final WorkerAttempts attempts;
    private final Thread thread = new Thread(this::run, "weir-worker");

    private final TreeMap<Long, Task> inProgress = new TreeMap<>(); // without attempts
    private final Map<Name, Task> byName = new HashMap<>();
    private final BoundedRecentSet<Name> recentlyDone;
    private long handedOut;
    private int busy; // tasks that a handler runs or Weir decides; close() waits for them
    private int handling; // tasks that a handler runs
    private long committedNanos = System.nanoTime();

    private final WorkerCounts counts = new WorkerCounts();
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

    static ReleaseWorker start(WorkerBuilder options, Supplier<ReleaseConsumer> consumers) {
        WorkerClient client = new WorkerClient(options::client);
        return new ReleaseWorker(options, consumers, client, client);
    }

    ReleaseWorker(
            WorkerBuilder options,
            Supplier<ReleaseConsumer> consumers,
            WorkerClient client,
            WorkerAttempts.Acknowledger acknowledger) {
        this.options = options;
        this.consumers = consumers;
        this.client = client;
        recentlyDone = new BoundedRecentSet<>(options.ahead());
        events = new WorkerEvents(options.threads());
        attempts = new WorkerAttempts(options, events, acknowledger, counts);
        try {
            open();
        } catch (KafkaException e) {
            if (!KafkaClients.isUnresolved(e)) {
                client.close();
                throw e;
            }
            failure = e; // the thread tries again
        } catch (RuntimeException e) {
            client.close();
            throw e;
        }
        thread.start();
    }

    /** Creates Kafka's clients, except for the client if it may not be needed. */
    private void open() {
        DeadLetterWriter writer = options.deadLetters();
        try {
            if (options.attempts() > 1) {
                client.open();
            }
            consumer = consumers.get();
        } catch (RuntimeException e) {
            writer.close();
            throw e;
        }
        consumer.beforeRevoked(this::finishBeforeRevoked);
        consumer.afterLost(attempts::lose);
        deadLetters = writer;
    }

    /**
     * Returns the counts since the worker was started.
     *
     * @return the counts
     */
    public WorkerStats stats() {
        return counts.stats(size);
    }

    /**
     * Returns the error that currently stops the worker from reading releases, committing, retrying, or giving up a
     * release. The worker keeps trying until it succeeds or is closed. Only an {@link Error}, such as an
     * {@link OutOfMemoryError}, stops it, as {@link #close} does; then the error is the cause of this failure.
     *
     * @return the last error; empty if the same operation has succeeded since
     */
    public Optional<RuntimeException> failure() {
        return Optional.ofNullable(fatal)
                .or(() -> Optional.ofNullable(failure))
                .or(() -> Optional.ofNullable(giveUpFailure))
                .or(client::failure);
    }

    /**
     * Stops the worker. It takes no more releases, waits for those in progress for up to
     * {@link WorkerBuilder#finishWithin}, commits them, and leaves the group. Handlers that still run then are
     * interrupted, and their attempts can count as failed. Releases that wait for their next attempt to be sent are not committed, so they are handled again
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
            events.run(PAUSE_MS);
        }
    }

    private void step() {
        events.run(0);
        try {
            startIfDue();
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
            consumer.take(pollTimeout()).ifPresent(this::begin);
        } else {
            events.run(pollTimeout().toMillis());
            consumer.keepUp();
        }
        size = inProgress.size() + attempts.size();
    }

    private boolean hasRoom() {
        boolean free = handling + attempts.handling() < options.threads();
        return free
                && attempts.size() < options.ahead()
                && (inProgress.isEmpty() || handedOut - inProgress.firstKey() < options.ahead());
    }

    private Duration pollTimeout() {
        return attempts.collectTime().orElse(POLL_TIMEOUT);
    }

    private void startIfDue() {
        Optional<Duration> collectTime = attempts.collectTime();
        if (collectTime.isPresent() && (collectTime.get().isZero() || !hasRoom())) {
            attempts.start(consumer);
        }
    }

    private void begin(HeldReleases.Held held) {
        if (held.isAttempt()) {
            attempts.take(held, consumer);
        } else {
            beginTask(held);
        }
    }

    private void beginTask(HeldReleases.Held held) {
        Name name = held.release() == null
                ? null
                : new Name(
                        held.release().queue(),
                        held.release().client(),
                        held.release().requestId());
        if (name != null && recentlyDone.contains(name)) {
            counts.duplicates.increment();
            consumer.done(held);
        } else if (name != null && byName.containsKey(name)) {
            counts.duplicates.increment();
            byName.get(name).records.add(held);
        } else {
            Task task = new Task(handedOut++, name, held);
            inProgress.put(task.number, task);
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
                counts.handled.increment();
                finish(task);
            } else {
                counts.failed.increment();
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
        if (attempt >= options.attempts() || cause instanceof ReleaseFailedException) {
            giveUp(task, cause);
            return;
        }
        events.after(options.backOff(attempt, atLeast), () -> retry(task, cause));
    }

    private void retry(Task task, Throwable cause) {
        if (closing) {
            return; // the release is not committed, so it is received again
        }
        int attempt = task.work.attempt() + 1;
        busy++;
        var request = client.request(
                RetryHeaders.request(task.work, attempt),
                RetryHeaders.headers(task.work, attempt, task.held().headers()));
        events.afterAnswer(request, (decision, unanswered) -> {
            busy--;
            if (decision != null) {
                goOn(task, attempt, decision, cause);
            } else if (unanswered instanceof NoDecisionException) {
                events.after(options.backOff(attempt), () -> retry(task, cause));
            } else {
                giveUp(task, unanswered);
            }
        });
    }

    private void goOn(Task task, int attempt, Decision decision, Throwable cause) {
        if (decision.outcome() == Outcome.QUEUED) {
            counts.retried.increment();
            finish(task);
            return;
        }
        task.work = new ReleaseTask(task.work.release(), attempt, task.work.firstRequestId());
        if (decision.outcome() == Outcome.ALLOWED) {
            handle(task);
        } else {
            counts.refused.increment();
            long retryAfterMs = decision.retryAfterMs() == null ? 0 : decision.retryAfterMs();
            fail(task, new RefusedException(decision, cause), Duration.ofMillis(retryAfterMs));
        }
    }

    /** Gives up a release. Repeats this until it succeeds, so that no release is lost. */
    private void giveUp(Task task, Throwable cause) {
        runAside(() -> handleGivenUp(task, cause), thrown -> {
            if (thrown == null) {
                counts.givenUp.increment();
                giveUpFailure = null;
                finish(task);
            } else {
                giveUpFailure =
                        new IllegalStateException("a release could not be given up: " + thrown.getMessage(), thrown);
                events.after(options.backOff(1).plusMillis(PAUSE_MS), () -> giveUp(task, cause));
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
        if (task.name != null) {
            byName.remove(task.name);
            recentlyDone.add(task.name);
        }
    }

    private void runAside(WorkerEvents.Step step, WorkerEvents.AfterStep next) {
        boolean isStarted = events.runAside(step, thrown -> {
            busy--;
            next.run(thrown);
        });
        busy += isStarted ? 1 : 0;
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
            finish(() -> busy > 0); // attempts are committed already
        }
        consumer.commit();
    }

    /** Runs events while something is busy, at most for a time. */
    private void finish(BooleanSupplier isBusy) {
        long startNanos = System.nanoTime();
        while (isBusy.getAsBoolean()
                && System.nanoTime() - startNanos < options.finishWithin().toNanos()) {
            events.run(POLL_TIMEOUT.toMillis());
        }
    }

    private void stop() {
        tryToStop(() -> finish(() -> busy > 0 || attempts.isBusy()));
        events.stopTimer();
        if (consumer != null) {
            tryToStop(consumer::commit);
        }
        events.stopHandlers();
        closeClients();
    }

    private void closeClients() {
        tryToStop(client::close);
        if (consumer != null) {
            tryToStop(consumer::close);
            tryToStop(deadLetters::close);
        }
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
