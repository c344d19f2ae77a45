package dev.weir.client.release;

import dev.weir.client.RequestBuilder;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.SafeText;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The attempts of a worker: the releases that it acknowledges.
 *
 * <pre>
 *   taken ──▶ collected ──▶ started ──▶ completing ──▶ ended
 *                 │  commit     handler         decision
 *                 └──▶ dropped: its partition is lost, or its time is over
 * </pre>
 *
 * <p>An attempt starts only after a commit that covers it. Attempts that are taken within {@value #COLLECT_MS} ms share
 * a commit. If the worker dies after the commit, the attempt never ends, and Weir releases the request again after its
 * {@code ackTimeoutMs}. All methods are for the worker's thread.
 */
final class WorkerAttempts {

    static final long COLLECT_MS = 5;

    private static final Logger LOG = LoggerFactory.getLogger(ReleaseWorker.class);
    private static final Duration DECISION_TIMEOUT = Duration.ofSeconds(30);
    private static final long MIN_EXTEND_MS = 50;

    /** The most characters of an error, which leave room for an escape and an ellipsis. */
    private static final int MAX_ERROR_LENGTH = Acknowledgement.MAX_ERROR_LENGTH - 16;

    /** Sends what the worker reports about attempts. */
    interface Acknowledger {
        /**
         * Starts to connect, unless it has.
         *
         * @throws RuntimeException if that is impossible now
         */
        void open();

        /**
         * Sends a request. Any thread can call it.
         *
         * @return Weir's decision; fails if there is none within a time, with an {@link IllegalArgumentException} if the
         *     request is invalid
         */
        CompletableFuture<Decision> send(Request request, Duration within);
    }

    private final WorkerBuilder options;
    private final WorkerEvents events;
    private final Acknowledger acknowledger;
    private final WorkerCounts counts;
    private final List<Attempt> collected = new ArrayList<>();
    private final Set<String> open = new HashSet<>(); // receipts
    private final BoundedRecentSet<String> recent;
    private long collectingNanos; // since when the attempts are collected, or since the last commit failed
    private int handling;

    /** A release with an attempt. */
    private static final class Attempt {
        private final HeldReleases.Held held;

        /** Whether its handler has ended, or Weir has ended it. The handler's thread sets it, too. */
        private final AtomicBoolean isEnding = new AtomicBoolean();

        private Request completion; // null until the handler has ended
        private CompletableFuture<Decision> completing; // null until then, and if Weir has ended the attempt before

        Attempt(HeldReleases.Held held) {
            this.held = held;
        }

        Release release() {
            return held.release();
        }

        String receipt() {
            return release().attempt().receipt();
        }

        /** Returns when the attempt is over unless it is extended, in ns since the epoch. */
        long untilNanos() {
            return release().releaseAtNanos()
                    + TimeUnit.MILLISECONDS.toNanos(release().attempt().ackTimeoutMs());
        }

        Duration extendInterval() {
            return Duration.ofMillis(Math.max(MIN_EXTEND_MS, release().attempt().ackTimeoutMs() / 3));
        }
    }

    WorkerAttempts(WorkerBuilder options, WorkerEvents events, Acknowledger acknowledger, WorkerCounts counts) {
        this.options = options;
        this.events = events;
        this.acknowledger = acknowledger;
        this.counts = counts;
        recent = new BoundedRecentSet<>(options.ahead());
    }

    /** Returns how many attempts have been taken and have not ended. */
    int size() {
        return open.size();
    }

    /** Returns how many attempts a handler runs, or will run after the next commit. */
    int handling() {
        return handling + collected.size();
    }

    /** Returns whether an attempt has started and its handler runs, or Weir has not answered its COMPLETE. */
    boolean isBusy() {
        return handling > 0 || open.size() > collected.size();
    }

    /** Takes a release, to start it with the next commit. */
    void take(HeldReleases.Held held, ReleaseConsumer consumer) {
        Attempt attempt = new Attempt(held);
        if (open.contains(attempt.receipt()) || recent.contains(attempt.receipt())) {
            counts.duplicates.increment();
            consumer.done(held);
            return;
        }
        if (collected.isEmpty()) {
            collectingNanos = System.nanoTime();
        }
        open.add(attempt.receipt());
        collected.add(attempt);
    }

    /** Returns how long to collect further attempts; empty if there are none to start. */
    Optional<Duration> collectTime() {
        long leftNanos = TimeUnit.MILLISECONDS.toNanos(COLLECT_MS) - (System.nanoTime() - collectingNanos);
        return collected.isEmpty() ? Optional.empty() : Optional.of(Duration.ofNanos(Math.max(0, leftNanos)));
    }

    /** Commits what has been collected and starts it. Drops what would start too late. */
    void start(ReleaseConsumer consumer) {
        collectingNanos = System.nanoTime();
        acknowledger.open();
        dropLate(consumer);
        collected.forEach(attempt -> consumer.done(attempt.held));
        if (consumer.tryCommit()) {
            dropLate(consumer); // the commit can take long
            List<Attempt> committed = List.copyOf(collected);
            collected.clear();
            committed.forEach(this::start);
        }
    }

    private void dropLate(ReleaseConsumer consumer) {
        long nowNanos = consumer.brokerNanos();
        collected.removeIf(attempt -> {
            boolean isLate = attempt.untilNanos() <= nowNanos;
            if (isLate) {
                counts.stale.increment();
                consumer.done(attempt.held);
                end(attempt);
            }
            return isLate;
        });
    }

    private void start(Attempt attempt) {
        ReleaseTask work = RetryHeaders.work(attempt.release(), attempt.held.headers());
        handling++;
        boolean isStarted = events.runAside(() -> handle(attempt, work), thrown -> {
            handling--;
            (thrown == null ? counts.handled : counts.failed).increment();
            if (attempt.completing != null) {
                awaitCompletion(attempt, 1);
            }
        });
        if (isStarted) {
            extend(attempt);
        } else { // the worker is closed
            handling--;
            end(attempt);
        }
    }

    /** Runs the handler, in a thread of its own, and sends the COMPLETE without waiting for the worker's thread. */
    private void handle(Attempt attempt, ReleaseTask work) throws Exception {
        try {
            options.handler().handle(work);
            complete(attempt, null);
        } catch (Throwable e) {
            complete(attempt, e);
            throw e;
        }
    }

    private void complete(Attempt attempt, Throwable thrown) {
        if (attempt.isEnding.compareAndSet(false, true)) {
            attempt.completion = completion(attempt.release(), thrown);
            attempt.completing = acknowledger.send(attempt.completion, DECISION_TIMEOUT);
        }
    }

    private static Request completion(Release release, Throwable thrown) {
        RequestBuilder completion = RequestBuilder.acknowledging(release).kind(RequestKind.COMPLETE);
        return thrown == null
                ? completion.result(Result.DONE).build()
                : completion
                        .result(thrown instanceof ReleaseFailedException ? Result.FAILED : Result.RETRY)
                        .error(SafeText.of(String.valueOf(thrown), MAX_ERROR_LENGTH))
                        .build();
    }

    /** Sends the COMPLETE again until there is a decision. */
    private void awaitCompletion(Attempt attempt, int sending) {
        events.afterAnswer(attempt.completing, (decision, failure) -> {
            if (decision != null) {
                completed(attempt, decision, sending);
            } else if (failure instanceof IllegalArgumentException) { // it would be invalid again
                LOG.error(
                        "an attempt of {} cannot be completed",
                        attempt.release().requestId(),
                        failure);
                end(attempt);
            } else {
                events.after(options.backOff(sending), () -> {
                    attempt.completing = acknowledger.send(attempt.completion, DECISION_TIMEOUT);
                    awaitCompletion(attempt, sending + 1);
                });
            }
        });
    }

    private void completed(Attempt attempt, Decision decision, int sending) {
        if (decision.reason() == Reason.STALE_ATTEMPT) {
            counts.stale.add(sending == 1 ? 1 : 0); // a COMPLETE without an answer may have ended it
        } else if (attempt.completion.acknowledgement().result() == Result.RETRY) {
            counts.retried.increment();
        }
        end(attempt);
    }

    /** Claims an attempt and prolongs its time, until its handler has ended. */
    private void extend(Attempt attempt) {
        if (attempt.isEnding.get()) {
            return;
        }
        Request extend = RequestBuilder.acknowledging(attempt.release())
                .kind(RequestKind.EXTEND)
                .build();
        events.afterAnswer(acknowledger.send(extend, attempt.extendInterval()), (decision, failure) -> {
            boolean isStale = decision != null && decision.reason() == Reason.STALE_ATTEMPT;
            if (isStale && attempt.isEnding.compareAndSet(false, true)) { // a COMPLETE would change nothing
                counts.stale.increment();
                end(attempt);
            }
        });
        events.after(attempt.extendInterval(), () -> extend(attempt));
    }

    /** Forgets what has not started of partitions whose records another member can receive. */
    void lose(Collection<TopicPartition> partitions) {
        collected.removeIf(attempt -> {
            boolean isLost = partitions.contains(attempt.held.partition());
            if (isLost) {
                open.remove(attempt.receipt());
            }
            return isLost;
        });
    }

    private void end(Attempt attempt) {
        open.remove(attempt.receipt());
        recent.add(attempt.receipt());
    }
}
