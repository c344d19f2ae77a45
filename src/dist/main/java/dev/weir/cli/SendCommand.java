package dev.weir.cli;

import dev.weir.backtest.BadRequestException;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicReader;
import dev.weir.wire.DecisionJson;
import dev.weir.wire.NdjsonLines;
import java.io.IOException;
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
            "  echo '{\"requestId\":\"r1\",\"client\":\"alice\",\"tier\":\"free\"}' | weir send --await"
        })
final class SendCommand implements Callable<Integer> {

    private static final int MAX_AWAITED = 1_000_000;

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
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "How many seconds --await waits for the next decision (default: ${DEFAULT-VALUE}).")
    private int timeoutSeconds;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        WeirConfig config = cluster.read();
        try (NdjsonLines lines = open();
                TopicReader<Decision> decisions =
                        await ? TopicReader.decisions(config, TopicReader.From.END, true) : null) {
            AwaitedDecisions open = new AwaitedDecisions();
            long sent = send(lines, config, open);
            spec.commandLine().getErr().printf("%d sent%n", sent);
            return await ? await(decisions, open) : 0;
        }
    }

    private long send(NdjsonLines lines, WeirConfig config, AwaitedDecisions open) throws IOException {
        long sent = 0;
        try (RequestSender sender = new RequestSender(config)) {
            for (String line = lines.next(); line != null; line = lines.next()) {
                Request request;
                try {
                    request = BadRequestException.read(line, lines, config, System.currentTimeMillis(), 0);
                } catch (BadRequestException e) {
                    sender.flush();
                    throw new InputException(e.getMessage() + " (the " + sent + " requests before it were sent)", e);
                }
                if (await) {
                    if (open.size == MAX_AWAITED) {
                        throw new InputException("--await supports at most " + MAX_AWAITED + " requests", null);
                    }
                    open.add(request.client(), request.requestId());
                }
                sender.send(request);
                sent++;
            }
            sender.flush();
        }
        return sent;
    }

    private int await(TopicReader<Decision> decisions, AwaitedDecisions open) throws IOException {
        DecisionJson out = new DecisionJson(spec.commandLine().getOut());
        long patienceNanos = Duration.ofSeconds(timeoutSeconds).toNanos();
        long lastNanos = System.nanoTime();
        while (open.size > 0 && System.nanoTime() - lastNanos < patienceNanos) {
            int before = open.size;
            decisions.poll(Duration.ofMillis(100), decision -> {
                if (open.remove(decision.client(), decision.requestId())) {
                    WatchCommand.print(spec, out, decision);
                }
            });
            lastNanos = open.size < before ? System.nanoTime() : lastNanos;
        }
        if (open.size > 0) {
            spec.commandLine()
                    .getErr()
                    .printf(
                            "weir send: timed out after %d s; %d requests have no decision. Is `weir run` running?%n",
                            timeoutSeconds, open.size);
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
