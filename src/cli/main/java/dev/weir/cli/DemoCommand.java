package dev.weir.cli;

import dev.weir.backtest.DecisionStats;
import dev.weir.backtest.DemoTrace;
import dev.weir.cli.output.ProgressLine;
import dev.weir.cli.output.StatsPrinter;
import dev.weir.cli.output.StatsTree;
import dev.weir.config.WeirConfig;
import dev.weir.console.Terminal;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.shape.rules.QueueRules;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.admin.Admin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = {
            "Replays real web traffic with an embedded broker.",
            "Starts a broker and the enforcer in this process, sends thirteen hours of requests to a web server, and"
                    + " prints who was limited and how long requests waited. Then a worker of a queue dies, and"
                    + " another takes over. All data is deleted at the end."
        })
final class DemoCommand implements Callable<Integer> {

    /** How long the enforcer may take to start, on a machine that is slow or busy. */
    private static final Duration START = Duration.ofMinutes(3);

    /** How long to wait for the next decision or release. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Longer than a busy machine can delay a heartbeat or commit: there is no other instance that could take over. */
    private static final Map<String, String> UNHURRIED =
            Map.of("session.timeout.ms", "45000", "transaction.timeout.ms", "60000");

    private static final int MAX_CLIENTS = 10;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        out.println("Weir demo: requests to the web server of NASA's Kennedy Space Center, 1 August 1995.");
        out.println("Starting a Kafka broker and the enforcer ...");
        out.flush();
        try (EmbeddedBroker broker = RunCommand.startBroker(0)) {
            TempDirectory state = TempDirectory.create("weir-demo-");
            broker.beforeClose(state);
            WeirConfig config = WeirConfig.DEFAULTS
                    .withKafka("bootstrap.servers", broker.bootstrapServers())
                    .withStateDirectory(state.path());
            for (Map.Entry<String, String> setting : UNHURRIED.entrySet()) {
                config = config.withKafka(setting.getKey(), setting.getValue());
            }
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.CREATE);
            }
            PolicyFile.Contents rules = PolicyFile.read("policies.yaml", DemoTrace.policies());
            PolicyTopic policies = new PolicyTopic(config);
            policies.apply(rules, PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
            policies.apply(
                    PolicyFile.read("jobs.yaml", DemoWorkers.RULES),
                    PolicyTopic.Options.DEFAULTS,
                    System.currentTimeMillis());
            Enforcer enforcer = Enforcer.start(config);
            broker.beforeClose(enforcer);
            enforcer.awaitRunning(START);
            TraceRun run = new TraceRun(config, DemoTrace.requests());
            out.printf("Sending %,d requests at a rate that this machine sustains ...%n", run.requests.size());
            out.flush();
            run.run();
            run.print(out, rules.queueRules());
            new DemoWorkers(config).run(out, PATIENCE);
            run.printLatencies(out);
        }
        return 0;
    }

    /** One replay of the trace, with its counts and latencies. */
    private static final class TraceRun {
        private final WeirConfig config;
        private final List<Request> requests;
        private final Map<String, SentRequest> sent = new HashMap<>();
        private final DecisionStats stats = new DecisionStats();
        private final Histogram latenciesMicros = new Histogram(3);
        private DemoPace pace;
        private int answered;
        private long waiting; // queued requests; below 0 if a release is read before its QUEUED decision
        private long progressNanos; // when the last decision or release was received
        private double seconds;

        private record SentRequest(String tier, long atNanos) {}

        TraceRun(WeirConfig config, List<Request> requests) {
            this.config = config;
            this.requests = requests;
        }

        void run() throws InterruptedException {
            try (TopicReader<Decision> decisions = TopicReader.decisions(config, TopicReader.From.END, true);
                    TopicReader<Release> releases = TopicReader.releases(config, TopicReader.From.END, true);
                    RequestSender sender = new RequestSender(config);
                    ProgressLine progress = progress()) {
                long startNanos = System.nanoTime();
                pace = new DemoPace(startNanos);
                progressNanos = startNanos;
                int next = 0;
                while (next < requests.size()) {
                    int end = Math.min(requests.size(), next + due(next));
                    for (; next < end; next++) {
                        Request request = requests.get(next);
                        sent.put(request.requestId(), new SentRequest(request.tier(), System.nanoTime()));
                        sender.send(request);
                    }
                    receive(decisions, releases, Duration.ofMillis(1), progress);
                    requireProgress();
                }
                while (answered < requests.size() || waiting != 0) {
                    receive(decisions, releases, Duration.ofMillis(10), progress);
                    requireProgress();
                }
                seconds = (System.nanoTime() - startNanos) / 1e9;
            }
        }

        /** Returns how many requests to send now. Forgets the latencies of another rate. */
        private int due(int next) {
            int before = pace.rate();
            int due = pace.due(System.nanoTime(), next, answered);
            if (pace.rate() != before) {
                latenciesMicros.reset();
            }
            return due;
        }

        /** @throws UnreachableException if nothing was received for {@link #PATIENCE} */
        private void requireProgress() {
            if (System.nanoTime() - progressNanos > PATIENCE.toNanos()) {
                throw new UnreachableException(
                        "no decision or release for %s: %,d of %,d requests have no decision, %,d are still queued"
                                .formatted(
                                        DurationsAndSizes.duration(PATIENCE.toMillis()),
                                        requests.size() - answered,
                                        requests.size(),
                                        waiting),
                        null);
            }
        }

        /** Starts the line of progress, which is drawn only on a terminal. */
        private ProgressLine progress() throws InterruptedException {
            PrintStream terminal = Terminal.isStandardError()
                    ? System.err
                    : new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
            return new ProgressLine(terminal, "Decided", requests.size());
        }

        private void receive(
                TopicReader<Decision> decisions,
                TopicReader<Release> releases,
                Duration timeout,
                ProgressLine progress) {
            decisions.poll(timeout, decision -> {
                progressNanos = System.nanoTime();
                SentRequest request = sent.get(decision.requestId());
                stats.add(request.tier, decision);
                if (decision.endsWait()) {
                    waiting--;
                    return;
                }
                waiting += decision.outcome() == Outcome.QUEUED ? 1 : 0;
                if (pace.isCounted(request.atNanos)) {
                    latenciesMicros.recordValue((progressNanos - request.atNanos) / 1_000);
                }
                answered++;
                progress.step();
            });
            releases.poll(Duration.ZERO, release -> {
                progressNanos = System.nanoTime();
                stats.add(release);
                waiting--;
            });
        }

        void print(PrintWriter out, Map<String, QueueRules> queues) {
            new StatsPrinter(out).print(StatsTree.of(stats, queues, MAX_CLIENTS));
        }

        void printLatencies(PrintWriter out) {
            out.println();
            out.printf(
                    "%,d requests in %s. %s%n",
                    requests.size(), DurationsAndSizes.rounded(Math.round(seconds * 1e3)), latencies());
            out.flush();
        }

        private String latencies() {
            return DemoPace.isEnough(latenciesMicros.getTotalCount())
                    ? "At %,d requests/s, from request to committed decision: p50 %s, p99 %s."
                            .formatted(
                                    pace.rate(),
                                    DurationsAndSizes.rounded(
                                            Math.round(latenciesMicros.getValueAtPercentile(50) / 1e3)),
                                    DurationsAndSizes.rounded(
                                            Math.round(latenciesMicros.getValueAtPercentile(99) / 1e3)))
                    : "This machine was too busy to measure latencies.";
        }
    }
}
