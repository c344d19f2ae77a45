package dev.weir.failure;

import static dev.weir.testing.Await.await;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.failure.check.AuditProcess;
import dev.weir.failure.check.Breach;
import dev.weir.failure.check.Evidence;
import dev.weir.failure.check.Oracle;
import dev.weir.failure.check.PauseInvariant;
import dev.weir.failure.check.StartInvariant;
import dev.weir.failure.load.FailurePolicies;
import dev.weir.failure.load.FailureWorkload;
import dev.weir.failure.load.PacedLoad;
import dev.weir.failure.load.Producers;
import dev.weir.failure.load.StrayAnswers;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.failure.process.ProcessClock;
import dev.weir.failure.process.WorkerProcess;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.ChildProcess;
import dev.weir.topics.TopicSetup;
import dev.weir.topology.StreamsSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;

/**
 * A cluster under load during a schedule of faults. At the end, all written records are checked against the invariants.
 */
final class FailureRun implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final String PREFIX = "weir.";
    private static final int HOT_FACTOR = 3;

    /** The exit code of a JVM that has run its shutdown hooks after SIGTERM. */
    private static final int SIGTERM_EXIT = 143;

    private static final Set<String> QUEUES = Set.of("sms", "mail");
    private static final int WORKERS = 2;

    /**
     * The time from applying a change to its {@code effective-from}. Every instance must know the change by then, even
     * one that was paused for less than its session timeout and therefore keeps its tasks.
     */
    private static final long CHANGE_AHEAD_MS = 15_000;

    /**
     * The parameters of a run.
     *
     * @param seed the seed of the load and of the policy changes
     * @param perSecond requests a second
     * @param kafka further Kafka settings of the enforcers
     */
    record Setup(
            long seed,
            List<InjectedFault> schedule,
            int enforcers,
            int partitions,
            int perSecond,
            Conditions conditions,
            Map<String, String> kafka) {}

    /**
     * The conditions during the whole run, besides the faults.
     *
     * @param misplacedPercent the percentage of requests that are not written to the partition of their client
     * @param skew by how much the wall clock of an enforcer is ahead or behind at most, drawn at each start; ignored if
     *     no C compiler is installed
     * @param hasTakeover whether enforcers take over before a session ends
     */
    record Conditions(int misplacedPercent, Duration skew, boolean hasTakeover) {

        /** The default conditions. */
        static final Conditions USUAL = new Conditions(10, Duration.ofHours(1), true);
    }

    /**
     * The result of a run.
     *
     * @param takeovers how often an instance has taken over from another one before its session ended
     */
    record Report(
            long requests, int kills, long takeovers, List<RecoveryTimer.Recovery> recoveries, List<Breach> findings) {
        boolean isOk() {
            return findings.stream().allMatch(Breach::isOk);
        }
    }

    private final Setup setup;
    private final Path directory;
    private final Consumer<String> out;
    private final BrokerCluster brokers;
    private final WeirConfig config;
    private final List<InstanceProcess> instances = new ArrayList<>();
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final JobCommands commands;
    private final FailurePolicies rules;
    private final long startNanos = System.nanoTime();
    private RecoveryTimer watch;
    private PacedLoad load;
    private StrayAnswers answers;
    private int kills;

    FailureRun(Setup setup, Path directory, Consumer<String> out) throws Exception {
        this.setup = setup;
        this.directory = directory;
        this.out = out;
        rules = new FailurePolicies(setup.seed);
        brokers = BrokerCluster.start(directory, BrokerCluster.FAULT_TOLERANT_SIZE);
        config = WeirConfig.builder()
                .threads(1)
                .topics(PREFIX, setup.partitions)
                .kafka("bootstrap.servers", brokers.bootstrapServers())
                .build();
        for (int i = 1; i <= setup.enforcers; i++) {
            Map<String, String> kafka = new LinkedHashMap<>(setup.kafka);
            kafka.put("bootstrap.servers", brokers.bootstrapServers());
            instances.add(new InstanceProcess(
                    "enforcer-" + i,
                    directory,
                    setup.partitions,
                    Map.of("takeover", Map.of("enabled", String.valueOf(setup.conditions.hasTakeover))),
                    kafka));
        }
        commands = new JobCommands(config, setup.seed);
        for (int i = 1; i <= WORKERS; i++) {
            workers.add(new WorkerProcess("worker-" + i, directory, brokers.bootstrapServers(), "workers", PREFIX));
        }
        if (!setup.conditions.skew.isZero()) {
            setClocks();
        }
    }

    private void setClocks() throws IOException, InterruptedException {
        if (!ProcessClock.Library.isPossible()) {
            say(ProcessClock.NEEDS);
            return;
        }
        ProcessClock.Library library = ProcessClock.Library.compile(directory);
        for (InstanceProcess instance : instances) {
            Random random = new Random(setup.seed + instances.indexOf(instance));
            instance.runBy(library.clock(instance.name(), () -> drawSkew(instance, random)));
        }
    }

    private Duration drawSkew(InstanceProcess instance, Random random) {
        int mostSeconds = Math.toIntExact(setup.conditions.skew.toSeconds());
        Duration skew = Duration.ofSeconds(random.nextInt(2 * mostSeconds + 1) - mostSeconds);
        say("    the clock of %s is %+,d s ahead".formatted(instance.name(), skew.toSeconds()));
        return skew;
    }

    Report run() throws Exception {
        start();
        for (InjectedFault fault : setup.schedule) {
            Thread.sleep(fault.afterMs()); // the load continues
            say(fault.toString());
            changeRules();
            int before = watch.recoveries().size();
            commands.pause();
            perform(fault);
            awaitWithProgress("recovery after " + fault, this::isCalm);
            commands.resume();
            watch.recoveries()
                    .subList(before, watch.recoveries().size())
                    .forEach(recovery ->
                            say("    %s recovered after %,d ms".formatted(recovery.partition(), recovery.millis())));
        }
        load.stop();
        answers.stop();
        awaitWithProgress("a decision on each request", () -> watch.answered() >= load.sent());
        Evidence evidence = Evidence.readSettled(config, PATIENCE);
        List<String> started = new ArrayList<>();
        for (WorkerProcess worker : workers) {
            started.addAll(worker.started());
        }
        long takeovers = takeovers();
        for (InstanceProcess instance : instances) {
            stop(instance);
        }
        List<Breach> findings = new ArrayList<>(Oracle.check(evidence));
        findings.add(PauseInvariant.check(evidence, commands.pauses()));
        findings.add(StartInvariant.check(evidence, started));
        findings.add(AuditProcess.run(instances.get(0).settings(), directory));
        return new Report(load.sent(), kills, takeovers, watch.recoveries(), findings);
    }

    private void start() throws Exception {
        TopicSetup.createMissing(brokers.admin(), config, TopicSetup.RequestTime.LOG_APPEND);
        new PolicyTopic(config)
                .apply(PolicyFile.read("initial policies", FailurePolicies.INITIAL), PolicyTopic.Options.DEFAULTS, 0);
        new PolicyTopic(config)
                .apply(PolicyFile.read("shared policy", FailurePolicies.SHARED), PolicyTopic.Options.DEFAULTS, 0);
        new PolicyTopic(config).apply(PolicyFile.read("jobs", FailurePolicies.JOBS), PolicyTopic.Options.DEFAULTS, 0);
        for (InstanceProcess instance : instances) {
            instance.start();
        }
        for (InstanceProcess instance : instances) {
            instance.awaitReady();
        }
        for (WorkerProcess worker : workers) {
            worker.start();
        }
        watch = new RecoveryTimer(config, QUEUES);
        load = new PacedLoad(
                new FailureWorkload(setup.seed, System::currentTimeMillis, true).withJobs(),
                producers(),
                setup.perSecond,
                watch::answered);
        answers = new StrayAnswers(config, setup.seed, producers());
        say("%d brokers, %d enforcers, %d partitions, %,d requests a second, seed %d"
                .formatted(
                        BrokerCluster.FAULT_TOLERANT_SIZE,
                        setup.enforcers,
                        setup.partitions,
                        setup.perSecond,
                        setup.seed));
        awaitWithProgress("the first decisions", () -> watch.answered() > setup.perSecond);
    }

    private Producers producers() {
        return new Producers(config, setup.seed, setup.conditions.misplacedPercent);
    }

    private void changeRules() throws Exception {
        String change = rules.next(System.currentTimeMillis() + CHANGE_AHEAD_MS);
        new PolicyTopic(config)
                .apply(PolicyFile.read("change", change), PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
    }

    private void perform(InjectedFault fault) throws Exception {
        switch (fault.kind()) {
            case TAKEOVER -> takeOver(fault);
            case KILL_IN_COMMIT -> {
                CommitSpy.await(config);
                Thread.sleep(fault.lastsMs());
                takeOver(fault);
            }
            case RESTART -> {
                kill(fault, instances.get(fault.target()));
                instances.get(fault.target()).start();
            }
            case KILL_TWICE -> {
                kill(fault, instances.get(fault.target()));
                instances.get(fault.target()).start();
                Thread.sleep(fault.lastsMs());
                watch.clear();
                kill(fault, instances.get(fault.target()));
                instances.get(fault.target()).start();
            }
            case KILL_ALL -> {
                for (InstanceProcess instance : instances) {
                    kill(fault, instance);
                }
                for (InstanceProcess instance : instances) {
                    instance.start();
                }
            }
            case LOSE_STATE -> {
                kill(fault, instances.get(fault.target()));
                instances.get(fault.target()).deleteState();
                instances.get(fault.target()).start();
            }
            case HANG -> hang(fault);
            case PAUSE -> {
                InstanceProcess instance = instances.get(fault.target());
                pause(fault, instance, partitions(instance));
            }
            case ROLL -> roll();
            case KILL_WORKER -> {
                WorkerProcess worker = workers.get(fault.target() % WORKERS);
                worker.kill();
                kills++;
                Thread.sleep(fault.lastsMs());
                worker.start();
            }
            case KILL_BROKER -> killBroker(fault);
            case PAUSE_BROKER -> pause(fault, brokers.brokers().get(fault.target()), everybodys());
            case KILL_BOTH -> {
                InstanceProcess instance = instances.get(fault.target() % instances.size());
                kill(fault, instance);
                killBroker(fault);
                instance.start();
            }
            case HOT_CLIENT -> {
                load.hot("hot-" + fault.afterMs());
                load.rate(HOT_FACTOR * setup.perSecond);
                Thread.sleep(fault.lastsMs());
                load.rate(setup.perSecond);
                load.hot(null);
            }
        }
    }

    private void takeOver(InjectedFault fault) throws Exception {
        InstanceProcess instance = instances.get(fault.target());
        kill(fault, instance);
        awaitWithProgress("takeover by the other enforcers", watch::isQuiet);
        instance.start();
    }

    /** Stops an instance that has requests until others have taken over, or its session has ended. */
    private void hang(InjectedFault fault) throws Exception {
        InstanceProcess instance = instances.get(fault.target());
        awaitWithProgress(instance.name() + " to have requests", () -> hasRequests(instance));
        Set<TopicPartition> hit = partitions(instance);
        long before = takeovers();
        instance.pause();
        try {
            hit(fault, hit);
            awaitWithProgress(
                    "takeover by the other enforcers",
                    () -> watch.isQuiet()
                            && (takeovers() > before || partitions(instance).isEmpty()));
        } finally {
            instance.resume();
        }
    }

    private long takeovers() throws IOException {
        long takeovers = 0;
        for (InstanceProcess instance : instances) {
            takeovers += instance.takeovers();
        }
        return takeovers;
    }

    private void roll() throws Exception {
        for (InstanceProcess instance : instances) {
            Set<TopicPartition> hit = partitions(instance);
            long askedMs = System.currentTimeMillis();
            stop(instance);
            watch.hit("ROLL", askedMs, hit);
            instance.start();
            instance.awaitReady();
        }
    }

    private static void stop(InstanceProcess instance) throws InterruptedException {
        int exit = instance.stop();
        if (exit != SIGTERM_EXIT) {
            throw new IllegalStateException(instance.name() + " exited with code " + exit + ": " + instance.log());
        }
    }

    private void kill(InjectedFault fault, InstanceProcess instance) throws Exception {
        Set<TopicPartition> hit = partitions(instance);
        instance.kill();
        hit(fault, hit);
        kills++;
    }

    private void killBroker(InjectedFault fault) throws Exception {
        ChildProcess broker = brokers.brokers().get(fault.target());
        broker.kill();
        hit(fault, everybodys());
        kills++;
        Thread.sleep(fault.lastsMs());
        broker.start();
    }

    private void pause(InjectedFault fault, ChildProcess node, Set<TopicPartition> hit) throws Exception {
        node.pause();
        try {
            hit(fault, hit);
            Thread.sleep(fault.lastsMs());
        } finally {
            node.resume();
        }
    }

    private void hit(InjectedFault fault, Set<TopicPartition> partitions) {
        watch.hit(fault.kind().name(), System.currentTimeMillis(), partitions);
    }

    /** Returns all partitions, which a fault of a broker affects. */
    private Set<TopicPartition> everybodys() {
        Topics topics = Topics.of(config);
        Set<TopicPartition> all = new HashSet<>();
        for (int partition = 0; partition < setup.partitions; partition++) {
            all.add(new TopicPartition(topics.requests(), partition));
            all.add(new TopicPartition(topics.admissions(), partition));
        }
        return all;
    }

    /** Returns whether an enforcer has partitions of requests that it does not have to return. */
    private boolean hasRequests(InstanceProcess instance) throws Exception {
        return groups().stream().allMatch(group -> group.groupState() == GroupState.STABLE)
                && partitions(instance).stream()
                        .anyMatch(partition ->
                                partition.topic().equals(Topics.of(config).requests()));
    }

    /** Returns the groups of both applications. */
    private Collection<ConsumerGroupDescription> groups() throws Exception {
        List<String> ids =
                List.of(config.applicationId(), StreamsSettings.shaping(config).getProperty("application.id"));
        return brokers.admin().describeConsumerGroups(ids).all().get().values();
    }

    /** Returns the partitions that are assigned to an enforcer in both applications. */
    private Set<TopicPartition> partitions(InstanceProcess instance) throws Exception {
        Set<TopicPartition> partitions = new HashSet<>();
        for (ConsumerGroupDescription group : groups()) {
            for (MemberDescription member : group.members()) {
                if (member.clientId().startsWith(instance.name() + "-")) {
                    partitions.addAll(member.assignment().topicPartitions());
                }
            }
        }
        return partitions;
    }

    private boolean isCalm() throws Exception {
        for (WorkerProcess worker : workers) {
            worker.checkAlive();
        }
        for (InstanceProcess instance : instances) {
            instance.checkAlive();
            instance.awaitReady();
        }
        return watch.isQuiet()
                && load.sent() - watch.answered() <= PacedLoad.CAUGHT_UP_SECONDS * setup.perSecond
                && brokers.isFullyReplicated(); // the last one, since it asks all brokers for all topics
    }

    private void awaitWithProgress(String what, Callable<Boolean> condition) {
        await(() -> what + progress(), PATIENCE, condition);
    }

    private String progress() {
        return load == null
                ? ""
                : ": %,d sent, %,d decided, not recovered: %s".formatted(load.sent(), watch.answered(), watch.silent());
    }

    private void say(String what) {
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
        out.accept("%6.1f s  %s".formatted(millis / 1e3, what));
    }

    @Override
    public void close() {
        if (watch != null) {
            watch.close();
        }
        workers.forEach(WorkerProcess::close);
        if (answers != null) {
            answers.close();
        }
        if (load != null) {
            load.close();
        }
        instances.forEach(InstanceProcess::close);
        brokers.close();
    }
}
