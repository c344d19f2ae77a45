package dev.weir.cli;

import dev.weir.backtest.BadRequestException;
import dev.weir.cli.option.DurationConverter;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.console.UserFiles;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.fault.UnreadableLineException;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicReader;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonLines;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "send",
        mixinStandardHelpOptions = true,
        description = "Writes requests (NDJSON) to the request topic.",
        footer = {
            "",
            "Example:",
            "  echo '{\"requestId\":\"r1\",\"client\":\"alice\",\"tier\":\"free\"}' | weir send --await",
            "",
            "Exit codes: 0 if all valid requests were sent, also if invalid lines were skipped; 1 if requests were not"
                    + " written or have no decision; 2 at an invalid line. The requests before it were sent."
        })
final class SendCommand implements Callable<Integer> {

    private static final int MAX_AWAITED = 1_000_000;

    /** The maximum number of skipped lines that are reported. If there are more, they are counted. */
    private static final int MAX_REPORTED = 20;

    /** The requests that have no decision yet. A request that was sent several times counts each time. */
    private static final class AwaitedDecisions {
        private final Map<List<String>, Integer> counts = new HashMap<>();
        private int size;

        void add(String client, String requestId) {
            counts.merge(List.of(client, requestId), 1, Integer::sum);
            size++;
        }

        boolean remove(String client, String requestId) {
            List<String> name = List.of(client, requestId);
            boolean awaited = counts.containsKey(name);
            counts.computeIfPresent(name, (n, count) -> count == 1 ? null : count - 1);
            size -= awaited ? 1 : 0;
            return awaited;
        }
    }

    @Mixin
    private ClusterOptions cluster;

    @Parameters(
            paramLabel = "FILE",
            arity = "0..1",
            defaultValue = "-",
            description = "The file of requests; - is standard input (default: ${DEFAULT-VALUE}).")
    private String file;

    @Option(names = "--await", description = "Print the decisions on these requests as they arrive.")
    private boolean await;

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "30s",
            description = "How long --await waits for the next decision (default: ${DEFAULT-VALUE}).")
    private Duration timeout;

    @Option(
            names = "--skip-invalid",
            description = "Report and skip lines that are not valid requests (default: exit at the first one).")
    private boolean skipInvalid;

    @Spec
    private CommandSpec spec;

    private long sent;
    private long skipped;

    @Override
    public Integer call() throws Exception {
        WeirConfig config = cluster.connect();
        try (NdjsonLines lines = open();
                TopicReader<Decision> decisions =
                        await ? TopicReader.decisions(config, TopicReader.From.END, true) : null) {
            AwaitedDecisions open = new AwaitedDecisions();
            send(lines, config, open);
            printCounts(spec.commandLine().getErr());
            return await ? await(decisions, open) : 0;
        }
    }

    private void send(NdjsonLines lines, WeirConfig config, AwaitedDecisions open) throws IOException {
        try (RequestSender sender = new RequestSender(config)) {
            for (Request request = next(lines, config, sender);
                    request != null;
                    request = next(lines, config, sender)) {
                if (await) {
                    if (open.size == MAX_AWAITED) {
                        throw invalid(
                                sender,
                                lines.place() + ": --await supports at most " + MAX_AWAITED + " requests",
                                null);
                    }
                    open.add(request.client(), request.requestId());
                }
                sender.send(request);
                sent++;
            }
            sender.flush();
        }
    }

    /** Returns the next request; null at the end of the file. */
    private Request next(NdjsonLines lines, WeirConfig config, RequestSender sender) throws IOException {
        while (true) {
            try {
                String line = lines.next();
                return line == null
                        ? null
                        : BadRequestException.read(line, lines, config, System.currentTimeMillis(), 0);
            } catch (BadRequestException e) {
                skip(e, sender);
            } catch (UnreadableLineException e) {
                if (!e.isSkippable()) {
                    throw invalid(sender, e.getMessage(), e);
                }
                skip(e, sender);
            }
        }
    }

    /** Reports an invalid line. Throws unless such lines are skipped. */
    private void skip(Exception invalid, RequestSender sender) {
        if (!skipInvalid) {
            throw invalid(sender, invalid.getMessage(), invalid);
        }
        skipped++;
        if (skipped <= MAX_REPORTED) {
            spec.commandLine().getErr().println("skipped " + SafeText.of(invalid.getMessage()));
        }
    }

    /** Returns an exception whose message says what was sent. */
    private InputException invalid(RequestSender sender, String why, Exception cause) {
        sender.flush();
        String before = sent == 0
                ? "nothing was sent"
                : sent == 1 ? "the request before it was sent" : "the " + sent + " requests before it were sent";
        return new InputException(why + " (" + before + ")", cause);
    }

    private void printCounts(PrintWriter err) {
        if (skipped > MAX_REPORTED) {
            err.printf("skipped %d more%n", skipped - MAX_REPORTED);
        }
        err.printf("%d sent%s%n", sent, skipInvalid ? ", " + skipped + " skipped" : "");
    }

    private int await(TopicReader<Decision> decisions, AwaitedDecisions open) throws IOException {
        DecisionJson out = new DecisionJson(spec.commandLine().getOut());
        long patienceNanos = timeout.toNanos();
        long lastNanos = System.nanoTime();
        while (open.size > 0 && System.nanoTime() - lastNanos < patienceNanos) {
            int before = open.size;
            decisions.poll(Duration.ofMillis(100), decision -> {
                if (open.remove(decision.client(), decision.requestId())) {
                    WatchCommand.print(out, decision);
                }
            });
            lastNanos = open.size < before ? System.nanoTime() : lastNanos;
        }
        if (open.size > 0) {
            spec.commandLine()
                    .getErr()
                    .printf(
                            "weir send: timed out after %s; %d requests have no decision. Is `weir run` running?%n",
                            DurationsAndSizes.duration(timeout.toMillis()), open.size);
            return 1;
        }
        return 0;
    }

    private NdjsonLines open() {
        try {
            return NdjsonLines.open(file);
        } catch (IOException e) {
            throw UserFiles.unreadable(file, e);
        }
    }
}
