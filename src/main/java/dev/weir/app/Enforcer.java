package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.processor.LivePolicies;
import dev.weir.processor.LiveQueues;
import dev.weir.topology.WeirTopology;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.state.HostInfo;

/** The enforcer of this process: both topologies, running. If one ends, so does the other. */
public final class Enforcer implements AutoCloseable {

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

    private final List<KafkaStreams> applications;
    private final LivePolicies policies;
    private final Questions questions;
    private final AtomicInteger starting;
    private final CompletableFuture<Void> running = new CompletableFuture<>();
    private final CompletableFuture<Optional<Throwable>> ended = new CompletableFuture<>();

    private Enforcer(WeirConfig config, Optional<String> reachableAt) {
        policies = new LivePolicies();
        LiveQueues queues = new LiveQueues();
        String address = Owners.address(reachableAt);
        KafkaStreams deciding =
                new KafkaStreams(WeirTopology.deciding(config, policies), at(address, KafkaSettings.deciding(config)));
        KafkaStreams shaping = new KafkaStreams(
                WeirTopology.shaping(config, policies, queues), at(address, KafkaSettings.shaping(config)));
        applications = List.of(deciding, shaping); // the first has read the policies topic when its start() returns
        HostInfo self = HostInfo.buildFromEndpoint(address);
        questions = new Inquiries(
                policies, new Owners(deciding, self), new Owners(shaping, self), queues, Clock.systemUTC());
        starting = new AtomicInteger(applications.size());
        applications.forEach(this::watch);
    }

    private static Properties at(String address, Properties settings) {
        settings.put(StreamsConfig.APPLICATION_SERVER_CONFIG, address);
        return settings;
    }

    private void watch(KafkaStreams application) {
        CompletableFuture<Void> up = new CompletableFuture<>();
        var unused = up.thenRun(
                () -> { // the first time only: a rebalance is no start
                    if (starting.decrementAndGet() == 0) {
                        running.complete(null);
                    }
                });
        application.setUncaughtExceptionHandler(failure -> {
            end(Optional.of(failure));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        application.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                up.complete(null);
            } else if (now.hasCompletedShutdown()) {
                end(Optional.empty());
            }
        });
    }

    /** Starts one that no other instance sends questions to. */
    public static Enforcer start(WeirConfig config) {
        return start(config, Optional.empty());
    }

    /**
     * Starts to restore and decide; the topics must be there. See {@link #awaitRunning}.
     *
     * @param reachableAt {@code host:port} at which other instances ask this one what they cannot answer
     */
    public static Enforcer start(WeirConfig config, Optional<String> reachableAt) {
        Enforcer enforcer = new Enforcer(config, reachableAt);
        enforcer.applications.forEach(KafkaStreams::start);
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

    /** What it decides by. */
    public LivePolicies policies() {
        return policies;
    }

    /** What can be asked while it runs, from any thread. */
    public Questions questions() {
        return questions;
    }

    /** Commits, leaves the group, and stops. */
    @Override
    public void close() {
        for (KafkaStreams application : applications) {
            application.close(CloseOptions.timeout(CLOSE_TIMEOUT)
                    .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        }
    }

    private void end(Optional<Throwable> failure) {
        ended.complete(failure);
        running.completeExceptionally(
                failure.orElseGet(() -> new IllegalStateException("it was closed before it ran")));
    }
}
