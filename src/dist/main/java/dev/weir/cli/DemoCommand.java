package dev.weir.cli;

import dev.weir.backtest.DecisionStats;
import dev.weir.backtest.DemoTrace;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import dev.weir.topics.UnreachableException;
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
                    + " prints who was limited and how long requests waited. All data is deleted at the end."
        })
final class DemoCommand implements Callable<Integer> {

    /** Well below the capacity of two cores, so that no backlog adds to the latencies. */
    private static final int REQUESTS_PER_SECOND = 2_500;

    /** The time over which the rate rises, while the JVM warms up. Latencies are counted from its end. */
    private static final int RAMP_UP_SECONDS = 6;

    /** Short, because a decision becomes visible when its transaction is committed. */
    private static final String COMMIT_INTERVAL_MS = "20";

    private static final Duration PATIENCE = Duration.ofSeconds(30);
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
                    .withKafka("commit.interval.ms", COMMIT_INTERVAL_MS)
                    .withStateDirectory(state.path());
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.CREATE);
            }
            PolicyFile.Contents rules = PolicyFile.read("policies.yaml", DemoTrace.policies());
            new PolicyTopic(config).apply(rules, PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
            Enforcer enforcer = Enforcer.start(config);
            broker.beforeClose(enforcer);
            enforcer.awaitRunning(PATIENCE);
            TraceRun run = new TraceRun(config, DemoTrace.requests());
            run.run();
            run.print(out, rules.queueRules());
        }
        return 0;
    }

    /** One replay of the trace, with its counts and latencies. */
    private static final class TraceRun {
        private final WeirConfig config;
        private final List<Request> requests;
        private final Map<String, SentRequest> sent = new HashMap<>();
        private final DecisionStats tally = new DecisionStats();
        private final Histogram latenciesMicros = new Histogram(3);
        private long steadyNanos; // the end of the ramp-up
        private int answered;
        private long waiting; // queued requests; below 0 if a release is read before its QUEUED decision
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
                steadyNanos = startNanos + RAMP_UP_SECONDS * 1_000_000_000L;
                int next = 0;
                while (next < requests.size()) {
                    double due = due((System.nanoTime() - startNanos) / 1e9);
                    for (; next < Math.min(due, requests.size()); next++) {
                        Request request = requests.get(next);
                        sent.put(request.requestId(), new SentRequest(request.tier(), System.nanoTime()));
                        sender.send(request);
                    }
                    receive(decisions, releases, Duration.ofMillis(1), progress);
                }
                long lastNanos = System.nanoTime();
                while (answered < requests.size() || waiting != 0) {
                    if (System.nanoTime() - lastNanos > PATIENCE.toNanos()) {
                        throw new UnreachableException(
                                "timed out: %d requests have no decision, %d are still queued"
                                        .formatted(requests.size() - answered, waiting),
                                null);
                    }
                    receive(decisions, releases, Duration.ofMillis(10), progress);
                }
                seconds = (System.nanoTime() - startNanos) / 1e9;
            }
        }

        /** Starts the line of progress, which is drawn only on a terminal. */
        private ProgressLine progress() throws InterruptedException {
            PrintStream terminal = Terminal.isStandardError()
                    ? System.err
                    : new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
            return new ProgressLine(terminal, "Decided", requests.size());
        }

        /** Returns how many requests are due after a time in seconds. */
        private static double due(double seconds) {
            double risen = Math.min(seconds, RAMP_UP_SECONDS);
            return REQUESTS_PER_SECOND * (risen * risen / (2 * RAMP_UP_SECONDS) + (seconds - risen));
        }

        private void receive(
                TopicReader<Decision> decisions,
                TopicReader<Release> releases,
                Duration timeout,
                ProgressLine progress) {
            decisions.poll(timeout, decision -> {
                SentRequest request = sent.get(decision.requestId());
                tally.add(request.tier, decision);
                if (decision.endsWait()) {
                    waiting--;
                    return;
                }
                waiting += decision.outcome() == Outcome.QUEUED ? 1 : 0;
                if (request.atNanos >= steadyNanos) {
                    latenciesMicros.recordValue((System.nanoTime() - request.atNanos) / 1_000);
                }
                answered++;
                progress.step();
            });
            releases.poll(Duration.ZERO, release -> {
                tally.add(release);
                waiting--;
            });
        }

        void print(PrintWriter out, Map<String, QueueRules> queues) {
            new StatsPrinter(out).print(StatsTree.of(tally, queues, MAX_CLIENTS));
            out.println();
            out.printf(
                    "%,d requests in %.1f s. From request to committed decision, at %,d requests/s after a ramp-up of %d s:"
                            + " p50 %.1f ms, p99 %.1f ms.%n",
                    requests.size(),
                    seconds,
                    REQUESTS_PER_SECOND,
                    RAMP_UP_SECONDS,
                    latenciesMicros.getValueAtPercentile(50) / 1e3,
                    latenciesMicros.getValueAtPercentile(99) / 1e3);
            out.flush();
        }
    }
}
