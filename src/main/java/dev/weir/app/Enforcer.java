package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.processor.LivePolicies;
import dev.weir.topology.WeirTopology;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** The enforcer of this process: the topology, running. */
public final class Enforcer implements AutoCloseable {

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

    private final KafkaStreams streams;
    private final CompletableFuture<Void> running = new CompletableFuture<>();
    private final CompletableFuture<Optional<Throwable>> ended = new CompletableFuture<>();

    private Enforcer(WeirConfig config) {
        LivePolicies policies = new LivePolicies();
        streams = new KafkaStreams(WeirTopology.build(config, policies), KafkaSettings.streams(config));
        streams.setUncaughtExceptionHandler(failure -> {
            end(Optional.of(failure));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                running.complete(null);
            } else if (now.hasCompletedShutdown()) {
                end(Optional.empty());
            }
        });
    }

    /** Starts to restore and decide; the topics must be there. See {@link #awaitRunning}. */
    public static Enforcer start(WeirConfig config) {
        Enforcer enforcer = new Enforcer(config);
        enforcer.streams.start();
        return enforcer;
    }

    /** @throws UnreachableException if it does not run within the time */
    public void awaitRunning(Duration timeout) {
        try {
            running.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "the topology failed: " + e.getCause().getMessage(), e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the topology does not run after " + timeout.toSeconds() + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted before the topology ran", e);
        }
    }

    /** Waits until it is closed or fails, and returns the failure. */
    public Optional<Throwable> awaitEnd() throws InterruptedException {
        try {
            return ended.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // never completed so
        }
    }

    /** Commits, leaves the group, and stops. */
    @Override
    public void close() {
        streams.close(CloseOptions.timeout(CLOSE_TIMEOUT)
                .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }

    private void end(Optional<Throwable> failure) {
        ended.complete(failure);
        running.completeExceptionally(
                failure.orElseGet(() -> new IllegalStateException("it was closed before it ran")));
    }
}
