package dev.weir.cli;

import dev.weir.backtest.Backtest;
import dev.weir.backtest.DecisionStats;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.wire.DecisionJson;
import dev.weir.wire.NdjsonLines;
import dev.weir.wire.ReleaseJson;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "backtest",
        mixinStandardHelpOptions = true,
        description =
                "Decides requests from a file, with no broker, and tells who would be limited and who would wait.",
        footer = {
            "",
            "Takes the decisions that the enforcer takes for the same requests in the same order. Queues drain by the",
            "requests' times, and run dry after the last one. Requests are NDJSON:",
            "  {\"requestId\":\"r1\",\"client\":\"c1\",\"timestamp\":1000,\"tier\":\"free\",\"cost\":1,"
                    + "\"attributes\":{\"endpoint\":\"/a\"}}",
            "The timestamp is in ms (absent: now), a file ending in .gz is decompressed, - is standard input or output."
        })
final class BacktestCommand implements Callable<Integer> {

    private static final int TOP = 10;

    @Mixin
    private ConfigOption config;

    @Option(
            names = {"-p", "--policies"},
            paramLabel = "FILE",
            required = true,
            description = "The policies.")
    private Path policies;

    @Option(
            names = {"-r", "--requests"},
            paramLabel = "FILE",
            required = true,
            description = "The requests, NDJSON.")
    private String requests;

    @Option(
            names = {"-d", "--decisions"},
            paramLabel = "FILE",
            description = "Where the decisions go, NDJSON.")
    private String decisions;

    @Option(names = "--releases", paramLabel = "FILE", description = "Where the releases of queues go, NDJSON.")
    private String releases;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        WeirConfig read = config.read();
        PolicyFile.Contents rules = UserFiles.read(policies, PolicyFile::read);
        requireOutputs();
        Backtest backtest = new Backtest(rules, read, Clock.systemUTC());
        DecisionStats tally;
        try (NdjsonLines lines = openRequests();
                DecisionJson decisionsOut = decisions == null ? null : new DecisionJson(open(decisions));
                ReleaseJson releasesOut = releases == null ? null : new ReleaseJson(open(releases))) {
            tally = backtest.run(lines, decisionsOut, releasesOut);
        }
        boolean toStandardOutput = "-".equals(decisions) || "-".equals(releases);
        if (toStandardOutput) {
            OutputException.check(spec.commandLine().getOut());
        }
        PrintWriter report = toStandardOutput
                ? spec.commandLine().getErr()
                : spec.commandLine().getOut();
        new StatsPrinter(report).print(tally, rules.queueRules(), TOP);
        return 0;
    }

    private void requireOutputs() throws IOException {
        for (String input : List.of(requests, policies.toString())) {
            requireOther("--decisions", decisions, input);
            requireOther("--releases", releases, input);
        }
        if (decisions != null && (decisions.equals(releases) || isSameFile(decisions, releases))) {
            throw new InputException("--decisions and --releases must not be the same", null);
        }
    }

    /** What is written must not be written over what it is made of. */
    private static void requireOther(String option, String output, String input) throws IOException {
        if (isSameFile(output, input)) {
            throw new InputException(option + " would overwrite " + input, null);
        }
    }

    private static boolean isSameFile(String one, String other) throws IOException {
        boolean files = one != null && other != null && !one.equals("-") && !other.equals("-");
        if (!files) {
            return false;
        }
        Path first = Path.of(one).toAbsolutePath().normalize();
        Path second = Path.of(other).toAbsolutePath().normalize();
        return first.equals(second) || (Files.exists(first) && Files.exists(second) && Files.isSameFile(first, second));
    }

    private NdjsonLines openRequests() {
        try {
            return NdjsonLines.open(requests);
        } catch (IOException e) {
            throw UserFiles.unreadable(requests, e);
        }
    }

    private Writer open(String file) {
        try {
            return file.equals("-") ? spec.commandLine().getOut() : Files.newBufferedWriter(Path.of(file));
        } catch (IOException e) {
            throw UserFiles.unreadable(file, e);
        }
    }
}
