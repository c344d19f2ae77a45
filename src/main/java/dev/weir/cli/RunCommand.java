package dev.weir.cli;

import dev.weir.app.Enforcer;
import dev.weir.app.KafkaSettings;
import dev.weir.app.PolicyTopic;
import dev.weir.app.TopicSetup;
import dev.weir.app.UnreachableException;
import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyFile;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.service.RulesService;
import dev.weir.topology.Topics;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
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

    private static final Duration START_TIMEOUT = Duration.ofMinutes(10);

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

    @Spec
    private CommandSpec spec;

    /** Nobody asks any more when the enforcer leaves. */
    private record Running(Enforcer enforcer, Optional<RulesService> service) implements AutoCloseable {
        @Override
        public void close() {
            service.ifPresent(RulesService::close);
            enforcer.close();
        }
    }

    @Override
    public Integer call() throws Exception {
        WeirConfig config = read();
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
        if (servicePort == null) {
            return config;
        }
        try {
            return config.withService(config.service().withPort(servicePort));
        } catch (IllegalArgumentException e) {
            throw new InputException("--service-port: " + e.getMessage(), e);
        }
    }

    private static void createTopics(WeirConfig config) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
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
        try (RulesService service = RulesService.open(config, System.getenv())) {
            return enforce(config, contents, Optional.of(service), beforeBroker);
        }
    }

    private int enforce(
            WeirConfig config,
            PolicyFile.Contents contents,
            Optional<RulesService> service,
            Consumer<AutoCloseable> beforeBroker)
            throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        createTopics(config);
        if (!contents.isEmpty()) {
            List<PolicyTopic.Change> changes =
                    new PolicyTopic(config).apply(contents, PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
            PolicyChanges.print(out, changes);
        }
        Running running = new Running(Enforcer.start(config, service.map(RulesService::address)), service);
        AtomicBoolean stopping = new AtomicBoolean();
        Thread stop = new Thread(
                () -> {
                    stopping.set(true);
                    running.close();
                },
                "stop");
        Runtime.getRuntime().addShutdownHook(stop);
        beforeBroker.accept(running);
        running.enforcer().awaitRunning(START_TIMEOUT);
        service.ifPresent(one ->
                one.speakFor(running.enforcer().policies(), running.enforcer().questions()));
        Topics topics = Topics.of(config.topics().prefix());
        out.printf(
                "weir is ready: requests on %s, decisions on %s%s, brokers %s%n",
                topics.requests(),
                topics.decisions(),
                service.map(one -> ", rules on http://" + one.address() + "/v1").orElse(""),
                KafkaSettings.deciding(config).getProperty("bootstrap.servers"));
        out.flush();
        Optional<Throwable> failure = running.enforcer().awaitEnd();
        if (failure.isEmpty() && stopping.get()) {
            stop.join();
            return 0;
        }
        running.close();
        String why = failure.map(UnreachableException::why).orElse("it ended by itself");
        spec.commandLine().getErr().println("weir run: the topology failed: " + why);
        return 1;
    }
}
