package dev.weir.cli;

import dev.weir.app.Backtest;
import dev.weir.app.Tally;
import dev.weir.codec.DecisionJson;
import dev.weir.codec.NdjsonLines;
import dev.weir.codec.PolicyFile;
import dev.weir.config.WeirConfig;
import dev.weir.policy.PolicyTable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "backtest",
        mixinStandardHelpOptions = true,
        description = "Decides requests from a file, with no broker, and tells who would be limited.",
        footer = {
            "",
            "Takes the decisions that the enforcer takes for the same requests in the same order. Requests are NDJSON:",
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

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        WeirConfig read = config.read();
        PolicyTable table = new PolicyTable(UserFiles.read(policies, PolicyFile::read).stream()
                .map(PolicyFile.Definition::policy)
                .toList());
        requireOther(requests);
        requireOther(policies.toString());
        Backtest backtest = new Backtest(table, Map.of(), read, Clock.systemUTC());
        Tally tally;
        try (NdjsonLines lines = openRequests();
                DecisionJson out = decisions == null ? null : openDecisions()) {
            tally = backtest.run(lines, out, null);
        }
        boolean toStandardOutput = "-".equals(decisions);
        if (toStandardOutput) {
            OutputException.check(spec.commandLine().getOut());
        }
        PrintWriter report = toStandardOutput
                ? spec.commandLine().getErr()
                : spec.commandLine().getOut();
        new Summary(report).print(tally, TOP);
        return 0;
    }

    /** The decisions must not be written over what they are made of. */
    private void requireOther(String input) throws IOException {
        boolean files = decisions != null && !decisions.equals("-") && !input.equals("-");
        if (files && Files.exists(Path.of(decisions)) && Files.isSameFile(Path.of(decisions), Path.of(input))) {
            throw new InputException("--decisions would overwrite " + input, null);
        }
    }

    private NdjsonLines openRequests() {
        try {
            return NdjsonLines.open(requests);
        } catch (IOException e) {
            throw UserFiles.unreadable(requests, e);
        }
    }

    private DecisionJson openDecisions() {
        try {
            return new DecisionJson(
                    decisions.equals("-") ? spec.commandLine().getOut() : Files.newBufferedWriter(Path.of(decisions)));
        } catch (IOException e) {
            throw UserFiles.unreadable(decisions, e);
        }
    }
}
