package dev.weir.cli;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.StateDirectoryCheck;
import dev.weir.service.WeirService;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.ReadPositions;
import dev.weir.topics.TopicCheck;
import dev.weir.topics.TopicSetup;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.ChangeAuthor;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.kafka.clients.admin.Admin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        description = "Runs the enforcer until it is stopped (Ctrl-C, SIGTERM).",
        footer = {
            "",
            "Creates the topics that are missing, then answers each request on weir.requests with a decision on",
            "weir.decisions. Start several with the same application-id to share the work.",
            "Serves the rules over HTTP; the environment variable WEIR_TOKEN has the token that changes need.",
            "",
            "Examples:",
            "  weir run --dev --policies rules.yaml     with a broker of its own on localhost:9092",
            "  weir run -b kafka-1:9092 -c weir.yaml    against a cluster"
        })
final class RunCommand implements Callable<Integer> {

    private static final ChangeAuthor OWN_CHANGES =
            new ChangeAuthor(AuthorOptions.user(), Optional.of("run --policies"));

    private static final Logger LOG = LoggerFactory.getLogger(RunCommand.class);

    /** How often it is told that it does not run yet: a restore takes as long as it takes. */
    private static final Duration PROGRESS_INTERVAL = Duration.ofMinutes(1);

    @Mixin
    private ClusterOptions cluster;

    @Option(
            names = {"-p", "--policies"},
            paramLabel = "FILE",
            description = "Policies and queues to apply before the first decision.")
    private Path policies;

    @Option(names = "--dev", description = "Start an embedded broker too; its data goes when it stops.")
    private boolean dev;

    @Option(
            names = "--dev-port",
            paramLabel = "PORT",
            defaultValue = "9092",
            description = "The embedded broker's port (default: ${DEFAULT-VALUE}; 0: any that is free).")
    private int devPort;

    @Option(
            names = "--service-port",
            paramLabel = "PORT",
            description = "The port of the service (default: the configuration's, else "
                    + WeirConfig.Service.DEFAULT_PORT + "; 0: any that is free).")
    private Integer servicePort;

    @Option(
            names = "--health-port",
            paramLabel = "PORT",
            description =
                    "The port that serves the health checks and metrics alone (default: the configuration's, else "
                            + WeirConfig.Service.DEFAULT_HEALTH_PORT + "; 0: any that is free).")
    private Integer healthPort;

    @Option(
            names = "--log-format",
            paramLabel = "FORMAT",
            defaultValue = "text",
            description = "What standard error has: text, or json, one object a line (default: ${DEFAULT-VALUE}).")
    private LogFormat logFormat;

    @Spec
    private CommandSpec spec;

    private enum LogFormat {
        TEXT,
        JSON
    }

    /** What a stop has to end; nobody asks any more when the enforcer leaves. */
    private record RunningEnforcer(Enforcer enforcer, Optional<WeirService> service, AtomicBoolean stopping)
            implements AutoCloseable {
        @Override
        public void close() {
            service.ifPresent(WeirService::close);
            enforcer.close();
        }

        Thread hook() {
            return new Thread(
                    () -> {
                        stopping.set(true);
                        close();
                    },
                    "stop");
        }
    }

    boolean logsJson() {
        return logFormat == LogFormat.JSON;
    }

    @Override
    public Integer call() throws Exception {
        WeirConfig config = read();
        if (!dev) {
            StateDirectoryCheck.requireUsable(config.state().directory());
        }
        PolicyFile.Contents contents = policies == null
                ? PolicyFile.Contents.NONE
                : UserFiles.read(policies, file -> PolicyFile.read(file, () -> dev ? Set.of() : queues(config)));
        if (!dev) {
            return serve(config, contents, closeable -> {});
        }
        try (EmbeddedBroker broker = startBroker(devPort)) {
            TempDirectory state = TempDirectory.create("weir-dev-");
            broker.beforeClose(state);
            WeirConfig local = config.withKafka("bootstrap.servers", broker.bootstrapServers())
                    .withStateDirectory(state.path());
            return serve(local, contents, broker::beforeClose);
        }
    }

    private WeirConfig read() throws FaultsException {
        WeirConfig config = cluster.read();
        if (servicePort != null) {
            config = withPort("--service-port", config, config.service()::withPort, servicePort);
        }
        return healthPort == null
                ? config
                : withPort("--health-port", config, config.service()::withHealthPort, healthPort);
    }

    private static WeirConfig withPort(
            String option, WeirConfig config, IntFunction<WeirConfig.Service> change, int port) {
        try {
            return config.toBuilder().service(change.apply(port)).build();
        } catch (IllegalArgumentException e) {
            throw new InputException(option + ": " + e.getMessage(), e);
        }
    }

    private static void createTopics(WeirConfig config) {
        Admin admin = Admin.create(KafkaSettings.admin(config));
        try {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        } finally {
            admin.close(Duration.ZERO); // and not when what nobody answers has timed out
        }
    }

    /** The queues in force; on a new cluster, none. */
    private static Set<String> queues(WeirConfig config) {
        createTopics(config);
        return new PolicyTopic(config).queues();
    }

    /** @throws UnreachableException if it does not start */
    static EmbeddedBroker startBroker(int port) {
        try {
            return EmbeddedBroker.start(port);
        } catch (IllegalStateException e) {
            throw new UnreachableException(e.getMessage() + (port == 0 ? "" : " (--dev-port takes another)"), e);
        }
    }

    /** @param beforeBroker is told what is to be closed while the broker is still there */
    private int serve(WeirConfig config, PolicyFile.Contents contents, Consumer<AutoCloseable> beforeBroker)
            throws InterruptedException {
        if (!config.service().enabled()) {
            return enforce(config, contents, Optional.empty(), beforeBroker);
        }
        try (WeirService service = openService(config, dev)) {
            return enforce(config, contents, Optional.of(service), beforeBroker);
        }
    }

    /** With {@code --dev}, takes any free port for the health checks if the default one is taken. */
    static WeirService openService(WeirConfig config, boolean dev) {
        try {
            return WeirService.open(config, System.getenv());
        } catch (UnreachableException e) {
            if (!dev
                    || config.service().healthPort().isPresent()
                    || !e.getMessage().startsWith("service.health-port")) {
                throw e;
            }
            WeirService service = WeirService.open(
                    config.toBuilder()
                            .service(config.service().withHealthPort(0))
                            .build(),
                    System.getenv());
            LOG.warn("{}; it is {} instead", e.getMessage(), service.healthUrl());
            return service;
        }
    }

    private int enforce(
            WeirConfig config,
            PolicyFile.Contents contents,
            Optional<WeirService> service,
            Consumer<AutoCloseable> beforeBroker)
            throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        createTopics(config);
        checkTopics(config);
        if (!contents.isEmpty()) {
            List<PolicyTopic.Change> changes = new PolicyTopic(config)
                    .apply(
                            contents,
                            PolicyTopic.Options.DEFAULTS.withChangedBy(OWN_CHANGES),
                            System.currentTimeMillis());
            PolicyChangePrinter.print(out, changes);
        }
        while (enforceOnce(config, service, beforeBroker)) {
            service.ifPresent(WeirService::detachEnforcer);
        }
        return 0;
    }

    /** Returns whether to start over, when it has ended. */
    private boolean enforceOnce(WeirConfig config, Optional<WeirService> service, Consumer<AutoCloseable> beforeBroker)
            throws InterruptedException {
        Enforcer enforcer = Enforcer.create(config, service.map(WeirService::address));
        RunningEnforcer running = new RunningEnforcer(enforcer, service, new AtomicBoolean());
        Thread stop = running.hook();
        Runtime.getRuntime().addShutdownHook(stop);
        beforeBroker.accept(running);
        service.ifPresent(one -> {
            one.setHealth(enforcer::health);
            one.setMetrics(enforcer.metrics()::scrape);
            one.startLiveFeed(enforcer.live(), enforcer::others);
        });
        try {
            run(config, running);
            return false;
        } catch (RuntimeException e) {
            if (running.stopping().get()) {
                return false;
            }
            if (enforcer.mustRestart()) {
                LOG.warn("starts over: {}", e.getMessage());
                enforcer.close();
                return true;
            }
            running.close();
            throw e;
        } finally {
            releaseShutdownHook(stop, running);
        }
    }

    /** @throws UnreachableException if it fails before it is told to stop, or after */
    private void run(WeirConfig config, RunningEnforcer running) throws InterruptedException {
        Enforcer enforcer = running.enforcer();
        PrintWriter out = spec.commandLine().getOut();
        String where = where(config, running.service());
        LOG.info("starts: instance {}, {}", enforcer.id(), where);
        enforcer.begin();
        while (!enforcer.isRunningWithin(PROGRESS_INTERVAL)) {
            LOG.warn("not ready yet: {}", enforcer.progress());
        }
        running.service().ifPresent(one -> one.attachEnforcer(enforcer.policies(), enforcer.questions()));
        out.println("weir is ready: " + where);
        Optional<Throwable> failure = enforcer.awaitEnd();
        throw new UnreachableException(
                failure.map(Throwable::getMessage).orElse("it ended by itself"), failure.orElse(null));
    }

    private static String where(WeirConfig config, Optional<WeirService> service) {
        Topics topics = Topics.of(config);
        return "requests on %s, decisions on %s%s, brokers %s"
                .formatted(
                        topics.requests(),
                        topics.decisions(),
                        service.map(one -> ", rules on %1$s/v1, live page on %1$s/, health on %2$s/health/ready"
                                        .formatted(one.url(), one.healthUrl()))
                                .orElse(""),
                        KafkaSettings.deciding(config).getProperty("bootstrap.servers"));
    }

    /** A process that was told to stop ends when it has stopped; another has nothing left to be stopped. */
    private static void releaseShutdownHook(Thread stop, RunningEnforcer running) throws InterruptedException {
        if (running.stopping().get()) {
            stop.join();
            return;
        }
        try {
            Runtime.getRuntime().removeShutdownHook(stop);
        } catch (IllegalStateException e) {
            stop.join(); // told to stop just now
        }
    }

    private void checkTopics(WeirConfig config) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicCheck.require(admin, config);
            ReadPositions.gaps(admin, config).forEach(LOG::warn);
        }
    }
}
