package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.backtest.Backtest;
import dev.weir.backtest.DecisionStats;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.PolicyFiles;
import dev.weir.cli.output.StatsPrinter;
import dev.weir.cli.output.StatsTree;
import dev.weir.config.WeirConfig;
import dev.weir.console.ConfigOption;
import dev.weir.console.InputException;
import dev.weir.console.UserFiles;
import dev.weir.definition.PolicyFile;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonLines;
import dev.weir.wire.json.ReleaseJson;
import java.io.IOException;
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
        description = {
            "Tests policies on requests from a file, without a broker.",
            "Decides as the enforcer does for the same requests in the same order, and prints who would be limited and"
                    + " how long requests would wait. Queues drain by the timestamps of the requests, and completely"
                    + " at the end."
        },
        footer = {
            "",
            "A request is a JSON object on one line, for example:",
            "  {\"requestId\":\"r1\",\"client\":\"c1\",\"timestamp\":1000,\"tier\":\"free\",\"cost\":2}",
            "The timestamp is in milliseconds since the epoch (default: the current time)."
        })
final class BacktestCommand implements Callable<Integer> {

    private static final int MAX_CLIENTS = 10;

    @Mixin
    private ConfigOption config;

    @Option(
            names = {"-p", "-f", "--policies"},
            paramLabel = "FILE",
            required = true,
            description = "The policy file (YAML or JSON); - is standard input.")
    private String policies;

    @Option(
            names = {"-r", "--requests"},
            paramLabel = "FILE",
            required = true,
            description = "The file of requests (NDJSON, decompressed if the name ends in .gz); - is standard input.")
    private String requests;

    @Option(
            names = {"-d", "--decisions"},
            paramLabel = "FILE",
            description = "The file to which decisions are written (NDJSON); - is standard output.")
    private String decisions;

    @Option(
            names = "--releases",
            paramLabel = "FILE",
            description = "The file to which releases of queues are written (NDJSON); - is standard output.")
    private String releases;

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        WeirConfig read = config.read();
        if (requests.equals("-") && policies.equals("-")) {
            throw new InputException("--policies and --requests cannot both be standard input", null);
        }
        PolicyFile.Contents rules = PolicyFiles.read(policies);
        requireOutputs();
        Backtest backtest = new Backtest(rules, read, Clock.systemUTC());
        DecisionStats tally;
        try (NdjsonLines lines = openRequests();
                DecisionJson decisionsOut = decisions == null ? null : new DecisionJson(open(decisions));
                ReleaseJson releasesOut = releases == null ? null : new ReleaseJson(open(releases))) {
            tally = backtest.run(lines, decisionsOut, releasesOut);
        }
        JsonNode stats = StatsTree.of(tally, rules.queueRules(), MAX_CLIENTS);
        if (isWrittenToOutput()) {
            new StatsPrinter(spec.commandLine().getErr()).print(stats);
        } else {
            output.print(stats, (tree, out) -> new StatsPrinter(out).print(tree));
        }
        return 0;
    }

    /** Returns whether decisions or releases are written to standard output. Then the counts are not. */
    private boolean isWrittenToOutput() {
        return "-".equals(decisions) || "-".equals(releases);
    }

    private void requireOutputs() throws IOException {
        if (isWrittenToOutput() && !output.isTable()) {
            throw new InputException("--output cannot be used with decisions or releases on standard output", null);
        }
        for (String input : List.of(requests, policies)) {
            requireOther("--decisions", decisions, input);
            requireOther("--releases", releases, input);
        }
        if (decisions != null && (decisions.equals(releases) || isSameFile(decisions, releases))) {
            throw new InputException("--decisions and --releases must not be the same", null);
        }
    }

    /** @throws InputException if an output file is an input file */
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
