package dev.weir.runtime;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.RetryingRegistry;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.lease.holder.ClockStepDetector;
import dev.weir.live.Sampler;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.pacing.CommitPacing;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.ReplyPartitions;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.prometheus.ClusterProblemMetrics;
import dev.weir.prometheus.MetricSource;
import dev.weir.prometheus.PrometheusMetrics;
import dev.weir.prometheus.RestoreProgress;
import dev.weir.prometheus.TakeoverMetrics;
import dev.weir.query.InstanceQueries;
import dev.weir.query.PartitionOwners;
import dev.weir.query.QueryService;
import dev.weir.requests.RequestPartitions;
import dev.weir.storage.CacheBudget;
import dev.weir.takeover.Announcement;
import dev.weir.takeover.MemberRemoval;
import dev.weir.takeover.TakeoverSource;
import dev.weir.topics.RequestTopic;
import dev.weir.topics.StatePartitions;
import dev.weir.topology.RocksLibrary;
import dev.weir.topology.StreamsSettings;
import dev.weir.topology.WeirTopology;
import dev.weir.watch.ClusterProblem;
import dev.weir.watch.ClusterWatch;
import dev.weir.wire.SchemaRegistry;
import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
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
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.HostInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The enforcer of this process: the deciding and the shaping application with their metrics and queries. If one of the
 * applications ends, the enforcer ends.
 */
public final class Enforcer implements AutoCloseable {

    /** The maximum time to stop both applications. It must be below a supervisor's grace period, 30 s in Kubernetes. */
    public static final Duration STOPS_WITHIN = Duration.ofSeconds(20);

    /** The time without a poll after which a thread is stalled: longer than a batch or a broker's response takes. */
    private static final Duration STANDSTILL = Duration.ofSeconds(10);

    /** How long metrics wait for the task of a partition that is busy. */
    private static final Duration PATIENCE = Duration.ofMillis(100);

    /** The maximum number of queues per partition that metrics report. */
    private static final int MOST_QUEUES = 1_000;

    /** How often the wall clock is checked. */
    private static final long CLOCK_CHECK_MS = 100;

    private static final Logger LOG = LoggerFactory.getLogger(Enforcer.class);

    private final String id;
    private final List<StreamsApplication> applications;
    private final PolicyRegistry policies;
    private final InstanceQueries queries;
    private final PrometheusMetrics metrics;
    private final Sampler live;
    private final PartitionOwners owners;
    private final ClusterWatch watch;
    private final CompletableFuture<Void> running = new CompletableFuture<>();
    private final CompletableFuture<Optional<Throwable>> ended = new CompletableFuture<>();
    private final ClockWatch clock;
    private final Duration maxBehind;
    private final RequestPartitionsWatch partitions;
    private final MemberRemoval takeover;
    private final Duration suspectAfter;
    private final ScheduledExecutorService clockChecks =
            Executors.newSingleThreadScheduledExecutor(Enforcer::clockThread);

    private volatile boolean isClosing;

    private Enforcer(WeirConfig config, Optional<String> reachableAt, LongSupplier wallMs) {
        clock = new ClockWatch(wallMs);
        maxBehind = StreamsSettings.session(config).dividedBy(2);
        policies = new PolicyRegistry();
        Optional<SchemaRegistry> registry = SchemaRegistries.of(config).map(RetryingRegistry::new);
        QueueRegistry queues = new QueueRegistry();
        EnforcerMetrics enforcerMetrics = new EnforcerMetrics();
        CacheBudget memory = new CacheBudget(config.state().hotMemoryBytes());
        RestoreProgress restores = new RestoreProgress();
        ClockStepDetector steps = new ClockStepDetector();
        String address = PartitionOwners.address(reachableAt);
        StateDirectoryCheck.requireSafe(config.state().directory());
        id = InstanceId.of(config.state().directory());
        ReplyPartitions replies = new ReplyPartitions(RequestTopic.replyPartitions(config));
        RequestPartitions requests = new RequestPartitions(StatePartitions.of(config), RequestTopic.partitions(config));
        partitions = new RequestPartitionsWatch(config, requests);
        WeirTopology.Shared ofDeciding =
                new WeirTopology.Shared(policies, enforcerMetrics, new CommitPacing(config.commits()));
        WeirTopology.Shared ofShaping =
                new WeirTopology.Shared(policies, enforcerMetrics, new CommitPacing(config.commits()));
        StreamsApplication deciding = new StreamsApplication(
                "deciding",
                WeirTopology.deciding(
                        config,
                        new WeirTopology.TopicPartitions(requests, replies),
                        ofDeciding,
                        memory,
                        registry,
                        () -> steps.observe(System::nanoTime, System::currentTimeMillis)),
                withIdentity(id, address, withTasks(requests.state(), StreamsSettings.deciding(config))),
                ofDeciding.commits());
        StreamsApplication shaping;
        try {
            shaping = new StreamsApplication(
                    "shaping",
                    WeirTopology.shaping(config, replies, queues, ofShaping, registry),
                    withIdentity(id, address, StreamsSettings.shaping(config)),
                    ofShaping.commits());
        } catch (RuntimeException e) {
            deciding.close(STOPS_WITHIN);
            throw e;
        }
        applications = List.of(deciding, shaping); // start() of the first returns after it has read the policies topic
        suspectAfter = config.takeover().suspectAfter();
        takeover = new MemberRemoval(
                applications.stream().map(StreamsApplication::id).collect(Collectors.toSet()),
                Topics.of(config).requests(),
                () -> Admin.create(KafkaSettings.admin(config)));
        HostInfo self = HostInfo.buildFromEndpoint(address);
        owners = new PartitionOwners(deciding.streams(), self);
        queries = new QueryService(
                policies, owners, new PartitionOwners(shaping.streams(), self), queues, config, Clock.systemUTC());
        MetricSource source = new MetricSource(
                new MetricSource.Applications(
                        Map.of("deciding", deciding.streams(), "shaping", shaping.streams()), this::lags),
                enforcerMetrics,
                policies,
                memory,
                () -> queues.views(MOST_QUEUES, PATIENCE),
                this::health,
                requests);
        watch = new ClusterWatch(config, () -> readPartitions(restores));
        metrics = new PrometheusMetrics(
                source,
                List.of(
                        restores,
                        new ClusterProblemMetrics(ClusterProblem.Kind.values(), this::countedProblems),
                        new TakeoverMetrics(takeover::removals)));
        live = new Sampler(source, address, Topics.of(config).policies());
        applications.forEach(application -> application.streams().setGlobalStateRestoreListener(restores));
        AtomicInteger starting = new AtomicInteger(applications.size());
        applications.forEach(application -> watch(application, starting));
    }

    private Map<TopicPartition, Long> lags() {
        Map<TopicPartition, Long> lags = new HashMap<>();
        applications.forEach(application -> lags.putAll(application.lags()));
        return lags;
    }

    /** Returns the partitions that the tasks of this instance read or restore from. */
    private Set<TopicPartition> readPartitions(RestoreProgress restores) {
        Set<TopicPartition> read = new HashSet<>(restores.restoring());
        applications.forEach(application -> read.addAll(application.inputs()));
        return read;
    }

    private List<ClusterProblemMetrics.CountedProblem> countedProblems() {
        return watch.problems().stream()
                .map(problem ->
                        new ClusterProblemMetrics.CountedProblem(problem.kind().name(), problem.topic()))
                .toList();
    }

    private static Properties withIdentity(String id, String address, Properties settings) {
        settings.putIfAbsent(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, id);
        settings.put(StreamsConfig.APPLICATION_SERVER_CONFIG, address);
        return settings;
    }

    private static Properties withTasks(int number, Properties settings) {
        settings.put(StreamsConfig.mainConsumerPrefix(AddedPartitionsAssignor.STATE_PARTITIONS), number);
        return settings;
    }

    private void watch(StreamsApplication application, AtomicInteger starting) {
        CompletableFuture<Void> up = new CompletableFuture<>();
        var unused = up.thenRun(
                () -> { // runs only once, so a rebalance does not count as a start
                    if (starting.decrementAndGet() == 0) {
                        running.complete(null);
                    }
                });
        application.watch(() -> up.complete(null), this::end);
    }

    /**
     * Creates an enforcer without starting it; see {@link #begin}. The topics must exist.
     *
     * @param reachableAt {@code host:port} at which other instances send queries to this one
     * @throws dev.weir.topology.MissingLibraryException if RocksDB does not run on this platform
     * @throws BadStateDirectoryException if the state directory is not safe
     * @throws UnreachableException if a topic does not exist or no broker responds
     * @throws dev.weir.wire.RegistryException if a schema registry is configured and does not respond
     */
    public static Enforcer create(WeirConfig config, Optional<String> reachableAt) {
        return create(config, reachableAt, System::currentTimeMillis);
    }

    /** @param wallMs the machine's wall clock in milliseconds */
    static Enforcer create(WeirConfig config, Optional<String> reachableAt, LongSupplier wallMs) {
        RocksLibrary.load();
        return new Enforcer(config, reachableAt, wallMs);
    }

    /** Creates and starts an enforcer that other instances cannot send queries to. */
    public static Enforcer start(WeirConfig config) {
        return start(config, Optional.empty());
    }

    /**
     * Creates and starts an enforcer. The topics must exist. Returns before it is running; see {@link #awaitRunning}.
     *
     * @param reachableAt {@code host:port} at which other instances send queries to this one
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

    /** Starts the applications, which restore their state first. If this method throws, close the enforcer too. */
    public void begin() {
        var unused = clockChecks.scheduleWithFixedDelay(this::checkClock, 0, CLOCK_CHECK_MS, TimeUnit.MILLISECONDS);
        partitions.start();
        watch.begin();
        applications.forEach(StreamsApplication::start);
    }

    private void checkClock() {
        Duration behind = clock.behind();
        if (!behind.isZero()) {
            applications.forEach(StreamsApplication::wake);
        }
        if (behind.compareTo(maxBehind) > 0) { // without heartbeats, the session ends soon
            end(Optional.of(new ClockStepException(behind)));
        }
    }

    private static Thread clockThread(Runnable checks) {
        Thread thread = new Thread(checks, "clock");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Waits until the enforcer is running.
     *
     * @throws UnreachableException if it is not running within the timeout, or fails, or is closed
     */
    public void awaitRunning(Duration timeout) {
        if (!isRunningWithin(timeout)) {
            throw new UnreachableException(
                    "the enforcer is not running after " + DurationsAndSizes.duration(timeout.toMillis()) + ": "
                            + progress(),
                    null);
        }
    }

    /**
     * Returns whether the enforcer is running, or is within the timeout.
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
            throw new UnreachableException("interrupted before the enforcer was running", e);
        }
    }

    /** Returns the id of the instance, which is its {@code group.instance.id}. */
    public String id() {
        return id;
    }

    /** Returns what this instance needs to take over from others, and they from it. */
    public TakeoverSource takeover() {
        return new TakeoverSource(id, this::announcement, this::others, takeover, suspectAfter);
    }

    /** Announces nothing while it leaves, nor for a while after it was removed, so that it is removed rarely. */
    private Announcement announcement() {
        Announcement all = new Announcement(
                id,
                applications.stream().flatMap(one -> one.members().stream()).toList(),
                applications.stream()
                        .flatMap(one -> one.transactionalIds().stream())
                        .toList());
        boolean isQuiet = isClosing || applications.stream().anyMatch(StreamsApplication::hasJoinedAgain);
        return isQuiet ? all.leaving() : all;
    }

    /** Returns the state of each application as text. */
    public String progress() {
        return applications.stream().map(StreamsApplication::toString).collect(Collectors.joining(", "));
    }

    /**
     * Returns what is missing, in words: what the enforcer waits for, and what an operator should do although it is
     * running, with the command to run. Empty if nothing is missing.
     */
    public List<String> missing() {
        return Stream.concat(
                        applications.stream().flatMap(application -> application.missing(STANDSTILL).stream()),
                        Stream.concat(
                                partitions.missing().stream(),
                                problems().stream().map(ClusterProblem::toString)))
                .toList();
    }

    /** Returns whether the enforcer was closed or has failed. */
    public boolean hasEnded() {
        return ended.isDone();
    }

    /** Returns the health of the enforcer. */
    public Health health() {
        if (ended.isDone() && !mustRestart()) {
            return Health.FAILED;
        }
        if (problems().stream().anyMatch(problem -> problem.kind() == ClusterProblem.Kind.TOPIC_DELETED)) {
            return Health.TOPIC_DELETED;
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

    /** Returns the problems of the cluster that stop the enforcer, or a part of it, until they are fixed. */
    public List<ClusterProblem> problems() {
        return watch.problems();
    }

    /**
     * Returns whether the enforcer ended because the wall clock was set back. After it is closed, another one can be
     * started in this process.
     */
    public boolean mustRestart() {
        return ended.isDone()
                && ended.join().filter(ClockStepException.class::isInstance).isPresent();
    }

    /** Waits until the enforcer is closed or fails. Returns the failure, if any. */
    public Optional<Throwable> awaitEnd() throws InterruptedException {
        try {
            return ended.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // unreachable
        }
    }

    /** Returns the policies and queues in force. */
    public PolicyRegistry policies() {
        return policies;
    }

    /** Returns the queries of this instance. They can be used from any thread while the enforcer is running. */
    public InstanceQueries queries() {
        return queries;
    }

    /** Returns the metrics since the enforcer was created. */
    public PrometheusMetrics metrics() {
        return metrics;
    }

    /** Returns the activity of the last minutes, since the enforcer was created. */
    public Sampler live() {
        return live;
    }

    /** Returns the addresses of the other instances of the group; empty while they are unknown. */
    public Set<String> others() {
        return owners.others();
    }

    /**
     * Commits, leaves the groups and stops. Both applications are closed in parallel, so {@link #STOPS_WITHIN} bounds
     * both together.
     */
    @Override
    public void close() {
        isClosing = true;
        List<CompletableFuture<Boolean>> stops = applications.stream()
                .map(application ->
                        CompletableFuture.supplyAsync(() -> application.close(STOPS_WITHIN), Enforcer::runInBackground))
                .toList();
        if (!isStoppedBy(stops)) {
            LOG.error(
                    "The enforcer did not stop within {} ({}); uncommitted work is repeated by the next instance",
                    DurationsAndSizes.duration(STOPS_WITHIN.toMillis()),
                    progress());
        } else {
            LOG.info("Instance {} has stopped", id);
        }
        clockChecks.shutdownNow();
        partitions.close();
        watch.close();
        takeover.close();
        live.close();
        metrics.close();
    }

    /**
     * Waits until the applications are closed or {@link #STOPS_WITHIN} has passed. An application that is starting
     * cannot be closed before it has started.
     */
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
                failure.orElseGet(() -> new IllegalStateException("the enforcer was closed before it was running")));
    }
}
