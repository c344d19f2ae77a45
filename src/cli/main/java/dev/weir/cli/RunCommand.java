package dev.weir.cli;

import dev.weir.api.WeirService;
import dev.weir.cli.option.AuthorOptions;
import dev.weir.cli.option.PolicyFiles;
import dev.weir.cli.output.PolicyChangePrinter;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.console.LogOption;
import dev.weir.console.OutputException;
import dev.weir.console.ServerCommand;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.fault.FaultsException;
import dev.weir.gateway.Gateway;
import dev.weir.gateway.GatewayOptions;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.StateDirectoryCheck;
import dev.weir.topics.ReadPositions;
import dev.weir.topics.TopicCheck;
import dev.weir.topics.TopicSetup;
import dev.weir.topology.StreamsSettings;
import dev.weir.wire.ChangeAuthor;
import java.io.PrintWriter;
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
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        description = {
            "Runs the enforcer until it is stopped (Ctrl-C, SIGTERM).",
            "Creates missing topics, then writes a decision to weir.decisions for each request on weir.requests."
                    + " Instances with the same application-id share the work.",
            "An HTTP service reports usage and changes policies. Changes need the token in the environment variable"
                    + " WEIR_TOKEN."
        },
        footer = {
            "",
            "Examples:",
            "  weir run --dev --policies rules.yaml     with an embedded broker",
            "  weir run -b kafka-1:9092 -c weir.yaml    on a cluster"
        })
final class RunCommand implements Callable<Integer>, ServerCommand {

    private static final ChangeAuthor OWN_CHANGES =
            new ChangeAuthor(AuthorOptions.user(), Optional.of(PolicyTopic.RUN_FILE));

    private static final Logger LOG = LoggerFactory.getLogger(RunCommand.class);

    /** How often the progress of a start is logged. A start can take long: it restores the state. */
    private static final Duration PROGRESS_INTERVAL = Duration.ofMinutes(1);

    /** How often a start checks whether it is to end. */
    private static final Duration CONNECTING = Duration.ofMillis(200);

    @Mixin
    private ClusterOptions cluster;

    @Option(
            names = {"-p", "-f", "--policies"},
            paramLabel = "FILE",
            description = "A policy file (YAML or JSON) to apply before the first decision. Policies and queues that"
                    + " were changed otherwise since, or by a newer file, are kept and listed.")
    private String policies;

    @Option(names = "--overwrite", description = "Apply all of the policy file, also in place of later changes.")
    private boolean overwrite;

    @Option(names = "--dev", description = "Start an embedded broker. Its data is deleted when it stops.")
    private boolean dev;

    @Option(
            names = "--dev-port",
            paramLabel = "PORT",
            defaultValue = "9092",
            description = "The port of the embedded broker; 0 selects a free port (default: ${DEFAULT-VALUE}).")
    private int devPort;

    @Option(
            names = "--service-port",
            paramLabel = "PORT",
            description = "The port of the HTTP service; 0 selects a free port (default: that of the configuration, or "
                    + WeirConfig.Service.DEFAULT_PORT + ").")
    private Integer servicePort;

    @Option(
            names = "--health-port",
            paramLabel = "PORT",
            description = "A port for health checks and metrics only; 0 selects a free port (default: that of the"
                    + " configuration, or " + WeirConfig.Service.DEFAULT_HEALTH_PORT + ").")
    private Integer healthPort;

    @Option(
            names = "--gateway",
            description = "Also run a gateway in this process, by the section gateway of the configuration.")
    private boolean withGateway;

    @Mixin
    private GatewayOptions gatewayOptions;

    @Mixin
    private LogOption log;

    @Spec
    private CommandSpec spec;

    /**
     * What is closed on a stop. What receives requests is closed first, so that none arrives while the enforcer closes.
     *
     * @param stopping whether the process is being stopped
     */
    private record RunningEnforcer(
            Enforcer enforcer, Optional<WeirService> service, Optional<Gateway> gateway, AtomicBoolean stopping)
            implements AutoCloseable {
        @Override
        public void close() {
            gateway.ifPresent(Gateway::close);
            service.ifPresent(WeirService::close);
            enforcer.close();
        }

        boolean isConnectedWithin(Duration timeout) throws InterruptedException {
            return (service.isEmpty() || service.get().awaitDeciding(timeout))
                    && (gateway.isEmpty() || gateway.get().awaitReady(timeout));
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

    @Override
    public boolean logsJson() {
        return log.isJson();
    }

    @Override
    public Integer call() throws Exception {
        if (gatewayOptions.isGiven() && !withGateway) {
            throw new ParameterException(
                    spec.commandLine(), "--http-port and --grpc-port are those of a gateway: add --gateway");
        }
        if (overwrite && policies == null) {
            throw new ParameterException(spec.commandLine(), "--overwrite needs a policy file: add --policies");
        }
        if (dev && cluster.hasBootstrapServers()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--dev starts a broker of its own, and --bootstrap-server names others: leave out one of them");
        }
        if (!dev && spec.commandLine().getParseResult().hasMatchedOption("--dev-port")) {
            throw new ParameterException(spec.commandLine(), "--dev-port is the port of an embedded broker: add --dev");
        }
        WeirConfig config = read();
        if (!dev) {
            StateDirectoryCheck.requireUsable(config.state().directory());
        }
        PolicyFile.Contents contents = policies == null
                ? PolicyFile.Contents.NONE
                : PolicyFiles.read(policies, () -> dev ? Set.of() : queues(config));
        if (!dev) {
            return serve(config, contents, closeable -> {});
        }
        try (EmbeddedBroker broker = startBroker(devPort)) {
            TempDirectory state = TempDirectory.create("weir-dev-");
            broker.beforeClose(state);
            WeirConfig local = openToDecide(config)
                    .withKafka("bootstrap.servers", broker.bootstrapServers())
                    .withStateDirectory(state.path());
            return serve(local, contents, broker::beforeClose);
        }
    }

    /** Returns the configuration for a first try: deciding needs no token, if the service is only on loopback. */
    private static WeirConfig openToDecide(WeirConfig config) {
        return config.service().requiresReadToken()
                ? config
                : config.toBuilder()
                        .service(config.service().withDecideToken(WeirConfig.Service.TokenRule.LOOPBACK))
                        .build();
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
            admin.close(Duration.ZERO); // without waiting for pending calls to time out
        }
    }

    /** Returns the ids of the queues in force. Creates missing topics first, so a new cluster has no queues. */
    private Set<String> queues(WeirConfig config) {
        cluster.requireBrokers(config);
        createTopics(config);
        return new PolicyTopic(config).queues();
    }

    /** @throws UnreachableException if the broker does not start */
    static EmbeddedBroker startBroker(int port) {
        try {
            return EmbeddedBroker.start(port);
        } catch (IllegalStateException e) {
            throw new UnreachableException(
                    e.getMessage() + (port == 0 ? "" : " (select another port with --dev-port)"), e);
        }
    }

    /** @param beforeBroker accepts what must be closed before the broker */
    private int serve(WeirConfig config, PolicyFile.Contents contents, Consumer<AutoCloseable> beforeBroker)
            throws FaultsException, InterruptedException {
        if (!config.service().enabled()) {
            return enforce(config, contents, Optional.empty(), beforeBroker);
        }
        try (WeirService service = openService(config, dev)) {
            return enforce(config, contents, Optional.of(service), beforeBroker);
        }
    }

    /** Opens the service. With {@code --dev}, uses any free health port if the default one is in use. */
    static WeirService openService(WeirConfig config, boolean dev) {
        try {
            return WeirService.open(config, System.getenv());
        } catch (UnreachableException e) {
            if (!dev
                    || config.service().listener().healthPort().isPresent()
                    || !e.getMessage().startsWith("service.health-port")) {
                throw e;
            }
            WeirService service = WeirService.open(
                    config.toBuilder()
                            .service(config.service().withHealthPort(0))
                            .build(),
                    System.getenv());
            LOG.warn("{}; health checks and metrics are at {} instead", e.getMessage(), service.healthUrl());
            return service;
        }
    }

    private int enforce(
            WeirConfig config,
            PolicyFile.Contents contents,
            Optional<WeirService> service,
            Consumer<AutoCloseable> beforeBroker)
            throws FaultsException, InterruptedException {
        if (!dev) {
            cluster.requireBrokers(config);
        }
        createTopics(config);
        checkTopics(config);
        if (!contents.isEmpty()) {
            List<PolicyTopic.Change> changes = new PolicyTopic(config)
                    .apply(
                            contents,
                            PolicyTopic.Options.DEFAULTS
                                    .withOnlyNewer(!overwrite)
                                    .withChangedBy(OWN_CHANGES),
                            System.currentTimeMillis());
            print(out -> PolicyChangePrinter.print(out, changes));
        }
        Optional<Gateway> gateway = openGateway(config);
        try {
            while (enforceOnce(config, service, gateway, beforeBroker)) {
                service.ifPresent(WeirService::detachEnforcer);
            }
        } finally {
            gateway.ifPresent(Gateway::close);
        }
        return 0;
    }

    private Optional<Gateway> openGateway(WeirConfig config) throws FaultsException {
        return withGateway
                ? Optional.of(
                        Gateway.open(config, gatewayOptions.read(cluster.file()).gateway(), System.getenv()))
                : Optional.empty();
    }

    /** Runs an enforcer until it ends. Returns whether to start another one. */
    private boolean enforceOnce(
            WeirConfig config,
            Optional<WeirService> service,
            Optional<Gateway> gateway,
            Consumer<AutoCloseable> beforeBroker)
            throws InterruptedException {
        Enforcer enforcer = Enforcer.create(config, service.map(WeirService::address));
        RunningEnforcer running = new RunningEnforcer(enforcer, service, gateway, new AtomicBoolean());
        Thread stop = running.hook();
        Runtime.getRuntime().addShutdownHook(stop);
        beforeBroker.accept(running);
        service.ifPresent(one -> {
            one.setHealth(enforcer::health, enforcer::missing);
            one.setMetrics(enforcer.metrics()::scrape);
            one.startLiveFeed(enforcer.live(), enforcer::others);
            one.startTakeover(enforcer.takeover());
            one.startDeciding();
        });
        try {
            run(config, running);
            return false;
        } catch (RuntimeException e) {
            if (running.stopping().get()) {
                return false;
            }
            if (enforcer.mustRestart()) {
                LOG.warn("The enforcer restarts: {}", e.getMessage());
                enforcer.close();
                return true;
            }
            running.close();
            throw e;
        } finally {
            releaseShutdownHook(stop, running);
        }
    }

    /** @throws UnreachableException always, when the enforcer has ended */
    private void run(WeirConfig config, RunningEnforcer running) throws InterruptedException {
        Enforcer enforcer = running.enforcer();
        String where = where(config, running.service())
                + running.gateway()
                        .map(one -> ", gateway for gRPC on port " + one.grpcPort() + ", gateway on " + one.url())
                        .orElse("");
        LOG.info("Instance {} is starting: {}", enforcer.id(), where);
        enforcer.begin();
        while (!enforcer.isRunningWithin(PROGRESS_INTERVAL)) {
            LOG.warn("The enforcer is not ready yet: {}", enforcer.progress());
        }
        running.service().ifPresent(one -> one.attachEnforcer(enforcer.policies(), enforcer.queries()));
        awaitConnected(running);
        print(out -> out.println("weir is ready: " + where));
        Optional<Throwable> failure = enforcer.awaitEnd();
        throw new UnreachableException(
                failure.map(Throwable::getMessage).orElse("the enforcer stopped unexpectedly"), failure.orElse(null));
    }

    /** Waits until what decides in this process is connected, unless the enforcer ends before. */
    private static void awaitConnected(RunningEnforcer running) throws InterruptedException {
        long loggedNanos = System.nanoTime();
        while (!running.isConnectedWithin(CONNECTING) && !running.enforcer().hasEnded()) {
            if (System.nanoTime() - loggedNanos >= PROGRESS_INTERVAL.toNanos()) {
                loggedNanos = System.nanoTime();
                LOG.warn("The enforcer is not ready yet: it has no connection for requests over HTTP");
            }
        }
    }

    /** Prints to standard output. The enforcer also runs if that fails, for example because it is closed. */
    private void print(Consumer<PrintWriter> text) {
        try {
            text.accept(spec.commandLine().getOut());
        } catch (OutputException e) {
            LOG.warn(e.getMessage());
        }
    }

    private static String where(WeirConfig config, Optional<WeirService> service) {
        Topics topics = Topics.of(config);
        return "requests on %s, decisions on %s%s, brokers %s"
                .formatted(
                        topics.requests(),
                        topics.decisions(),
                        service.map(one -> ", API on %1$s/v1, live page on %1$s/, health on %2$s/health/ready"
                                        .formatted(one.url(), one.healthUrl()))
                                .orElse(""),
                        StreamsSettings.deciding(config).getProperty("bootstrap.servers"));
    }

    /** Waits for the shutdown hook if the process is being stopped; otherwise removes the hook. */
    private static void releaseShutdownHook(Thread stop, RunningEnforcer running) throws InterruptedException {
        if (running.stopping().get()) {
            stop.join();
            return;
        }
        try {
            Runtime.getRuntime().removeShutdownHook(stop);
        } catch (IllegalStateException e) {
            stop.join(); // the shutdown began meanwhile
        }
    }

    private void checkTopics(WeirConfig config) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicCheck.require(admin, config);
            ReadPositions.gaps(admin, config).forEach(LOG::warn);
        }
    }
}
