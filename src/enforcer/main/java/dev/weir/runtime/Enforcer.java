package dev.weir.runtime;

import dev.weir.config.WeirConfig;
import dev.weir.lease.ClockStepDetector;
import dev.weir.live.Sampler;
import dev.weir.metrics.MetricSource;
import dev.weir.metrics.PrometheusMetrics;
import dev.weir.metrics.RestoreProgress;
import dev.weir.processor.EnforcerMetrics;
import dev.weir.processor.PolicyRegistry;
import dev.weir.processor.QueueRegistry;
import dev.weir.query.InstanceQueries;
import dev.weir.query.PartitionOwners;
import dev.weir.query.QueryService;
import dev.weir.storage.CacheBudget;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.RequestTopic;
import dev.weir.topics.RetryingRegistry;
import dev.weir.topics.SchemaRegistries;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.topology.WeirTopology;
import dev.weir.wire.SchemaRegistry;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.HostInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The enforcer of this process: both topologies, running. If one ends, so does the other. */
public final class Enforcer implements AutoCloseable {

    /** Both applications together; a supervisor's patience, 30 s in Kubernetes, must cover it. */
    public static final Duration STOPS_WITHIN = Duration.ofSeconds(20);

    /** Longer than a thread is busy with what it has, or waits for a broker that answers. */
    private static final Duration STANDSTILL = Duration.ofSeconds(10);

    /** How long metrics wait for a queue's partition that is at work, and how many of its queues they tell. */
    private static final Duration PATIENCE = Duration.ofMillis(100);

    private static final int MOST_QUEUES = 1_000;

    /** How often the wall clock is looked at. */
    private static final long CLOCK_CHECK_MS = 100;

    private static final Logger LOG = LoggerFactory.getLogger(Enforcer.class);

    private final String id;
    private final List<StreamsApplication> applications;
    private final PolicyRegistry policies;
    private final InstanceQueries questions;
    private final PrometheusMetrics metrics;
    private final Sampler live;
    private final PartitionOwners owners;
    private final CompletableFuture<Void> running = new CompletableFuture<>();
    private final CompletableFuture<Optional<Throwable>> ended = new CompletableFuture<>();
    private final ClockWatch clock;
    private final Duration maxBehindMs;
    private final ScheduledExecutorService looks = Executors.newSingleThreadScheduledExecutor(Enforcer::checkingClock);

    private Enforcer(WeirConfig config, Optional<String> reachableAt, LongSupplier wallMs) {
        clock = new ClockWatch(wallMs);
        maxBehindMs = KafkaSettings.session(config).dividedBy(2);
        policies = new PolicyRegistry();
        Optional<SchemaRegistry> registry = SchemaRegistries.of(config).map(RetryingRegistry::new);
        QueueRegistry queues = new QueueRegistry();
        EnforcerMetrics counts = new EnforcerMetrics();
        CacheBudget memory = new CacheBudget(config.state().hotMemoryBytes());
        RestoreProgress restores = new RestoreProgress();
        ClockStepDetector steps = new ClockStepDetector();
        String address = PartitionOwners.address(reachableAt);
        StateDirectoryCheck.requireSafe(config.state().directory());
        id = InstanceId.of(config.state().directory());
        StreamsApplication deciding = new StreamsApplication(
                "deciding",
                WeirTopology.deciding(
                        config,
                        RequestTopic.partitions(config),
                        policies,
                        counts,
                        memory,
                        registry,
                        () -> steps.observe(System::nanoTime, System::currentTimeMillis)),
                of(id, address, KafkaSettings.deciding(config)));
        StreamsApplication shaping;
        try {
            shaping = new StreamsApplication(
                    "shaping",
                    WeirTopology.shaping(config, policies, queues, counts, registry),
                    of(id, address, KafkaSettings.shaping(config)));
        } catch (RuntimeException e) {
            deciding.close(STOPS_WITHIN);
            throw e;
        }
        applications = List.of(deciding, shaping); // the first has read the policies topic when its start() returns
        HostInfo self = HostInfo.buildFromEndpoint(address);
        owners = new PartitionOwners(deciding.streams(), self);
        questions = new QueryService(
                policies,
                owners,
                new PartitionOwners(shaping.streams(), self),
                queues,
                config.leases().terms(),
                Clock.systemUTC());
        MetricSource source = new MetricSource(
                Map.of("deciding", deciding.streams(), "shaping", shaping.streams()),
                counts,
                policies,
                memory,
                () -> queues.views(MOST_QUEUES, PATIENCE),
                this::health);
        metrics = new PrometheusMetrics(source, restores);
        live = new Sampler(source, address, Topics.of(config).policies());
        applications.forEach(application -> application.streams().setGlobalStateRestoreListener(restores));
        AtomicInteger starting = new AtomicInteger(applications.size());
        applications.forEach(application -> watch(application, starting));
    }

    private static Properties of(String id, String address, Properties settings) {
        settings.putIfAbsent(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, id);
        settings.put(StreamsConfig.APPLICATION_SERVER_CONFIG, address);
        return settings;
    }

    private void watch(StreamsApplication application, AtomicInteger starting) {
        CompletableFuture<Void> up = new CompletableFuture<>();
        var unused = up.thenRun(
                () -> { // the first time only: a rebalance is no start
                    if (starting.decrementAndGet() == 0) {
                        running.complete(null);
                    }
                });
        application.watch(() -> up.complete(null), this::end);
    }

    /**
     * One that is not started yet; see {@link #begin}. The topics must be there.
     *
     * @throws UnreachableException if they are not, or no broker answers
     * @throws dev.weir.wire.RegistryException if there is a schema registry, and it does not answer
     */
    public static Enforcer create(WeirConfig config, Optional<String> reachableAt) {
        return create(config, reachableAt, System::currentTimeMillis);
    }

    /** @param wallMs the machine's wall clock, in ms */
    static Enforcer create(WeirConfig config, Optional<String> reachableAt, LongSupplier wallMs) {
        return new Enforcer(config, reachableAt, wallMs);
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
        Enforcer enforcer = create(config, reachableAt);
        try {
            enforcer.begin();
            return enforcer;
        } catch (RuntimeException e) {
            enforcer.close();
            throw e;
        }
    }

    /** Starts to restore and decide. If it throws, it is to be closed all the same. */
    public void begin() {
        var unused = looks.scheduleWithFixedDelay(this::checkClock, 0, CLOCK_CHECK_MS, TimeUnit.MILLISECONDS);
        applications.forEach(StreamsApplication::start);
    }

    private void checkClock() {
        Duration behind = clock.behind();
        if (!behind.isZero()) {
            applications.forEach(StreamsApplication::wake);
        }
        if (behind.compareTo(maxBehindMs) > 0) { // by then, or soon, the brokers take the instance for dead
            end(Optional.of(new ClockStepException(behind)));
        }
    }

    private static Thread checkingClock(Runnable looks) {
        Thread thread = new Thread(looks, "clock");
        thread.setDaemon(true);
        return thread;
    }

    /** @throws UnreachableException if it does not run within the time */
    public void awaitRunning(Duration timeout) {
        if (!isRunningWithin(timeout)) {
            throw new UnreachableException("it does not run after " + timeout.toSeconds() + " s: " + progress(), null);
        }
    }

    /**
     * Whether it runs, or begins to within the time.
     *
     * @throws UnreachableException if it fails or is closed
     */
    public boolean isRunningWithin(Duration timeout) {
        try {
            running.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (ExecutionException e) {
            throw new UnreachableException(e.getCause().getMessage(), e);
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted before the enforcer ran", e);
        }
    }

    /** What the instance is called in its groups. */
    public String id() {
        return id;
    }

    /** How far each application is, for people. */
    public String progress() {
        return applications.stream().map(StreamsApplication::toString).collect(Collectors.joining(", "));
    }

    public Health health() {
        if (ended.isDone() && !mustRestart()) {
            return Health.FAILED;
        }
        if (ended.isDone() || !running.isDone()) {
            return Health.STARTING;
        }
        if (!applications.stream().allMatch(StreamsApplication::isRunning)) {
            return Health.REBALANCING;
        }
        return applications.stream().anyMatch(application -> application.isStalled(STANDSTILL))
                ? Health.STANDSTILL
                : Health.RUNNING;
    }

    /** Whether it ended because the wall clock went back: once it is closed, another one can go on in its place. */
    public boolean mustRestart() {
        return ended.isDone()
                && ended.join().filter(ClockStepException.class::isInstance).isPresent();
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
    public PolicyRegistry policies() {
        return policies;
    }

    /** What can be asked while it runs, from any thread. */
    public InstanceQueries questions() {
        return questions;
    }

    /** What it tells of itself, from its creation on. */
    public PrometheusMetrics metrics() {
        return metrics;
    }

    /** What it did in the last minutes, from its creation on. */
    public Sampler live() {
        return live;
    }

    /** Where the other instances that share its work are reachable; none while that is not known. */
    public Set<String> others() {
        return owners.others();
    }

    /** Commits, leaves the groups, and stops: both applications side by side, so that the bound is one for both. */
    @Override
    public void close() {
        List<CompletableFuture<Boolean>> stops = applications.stream()
                .map(application ->
                        CompletableFuture.supplyAsync(() -> application.close(STOPS_WITHIN), Enforcer::runInBackground))
                .toList();
        if (!isStoppedBy(stops)) {
            LOG.error(
                    "it did not stop within {} s ({}): what is not committed is done again by who takes over",
                    STOPS_WITHIN.toSeconds(),
                    progress());
        } else {
            LOG.info("stopped: instance {}", id);
        }
        looks.shutdownNow();
        live.close();
        metrics.close();
    }

    /** One that is still starting does not let itself be closed, however long that takes. */
    private static boolean isStoppedBy(List<CompletableFuture<Boolean>> stops) {
        long deadlineNanos = System.nanoTime() + STOPS_WITHIN.toNanos();
        boolean stopped = true;
        for (CompletableFuture<Boolean> stop : stops) {
            try {
                stopped &= stop.get(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            } catch (ExecutionException | TimeoutException e) {
                stopped = false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return stopped;
    }

    private static void runInBackground(Runnable close) {
        Thread thread = new Thread(close, "close");
        thread.setDaemon(true);
        thread.start();
    }

    private void end(Optional<Throwable> failure) {
        ended.complete(failure);
        running.completeExceptionally(
                failure.orElseGet(() -> new IllegalStateException("it was closed before it ran")));
    }
}
