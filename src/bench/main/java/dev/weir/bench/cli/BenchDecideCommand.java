package dev.weir.bench.cli;

import dev.weir.bench.DecideBench;
import dev.weir.bench.ResultTable;
import dev.weir.bench.RunPlan;
import dev.weir.cli.UserFiles;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "decide",
        mixinStandardHelpOptions = true,
        description = "Decisions a second, against a topology that only passes requests through.",
        footer = {
            "",
            "Starts a broker in this process, and each candidate in one of its own; they work in turns. Takes some minutes."
        })
final class BenchDecideCommand implements Callable<Integer> {

    /** All that a client has asked is known before, if they are more than come by while it warms up. */
    private static final long MANY_CLIENTS = 1_000_000;

    @Option(
            names = "--clients",
            split = ",",
            description = "How many clients ask, the k-th in proportion to 1/k (default: ${DEFAULT-VALUE}).")
    private List<Long> clients = List.of(100_000L);

    @Option(names = "--algorithms", split = ",", description = "What decides (default: ${DEFAULT-VALUE}).")
    private List<String> algorithms = List.of("sliding-window-counter");

    @Option(
            names = {"-p", "--policies"},
            paramLabel = "FILE",
            description = "Policies to decide by instead, for requests with an endpoint, an ip and an agent.")
    private Path policies;

    @Option(names = "--rounds", description = "How often each has its turn (default: ${DEFAULT-VALUE}).")
    private int rounds = 7;

    @Option(names = "--turn", description = "How long a turn lasts (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(4);

    @Option(names = "--warm-up", description = "Requests that each does before (default: ${DEFAULT-VALUE}).")
    private long warmUp = 8_000_000;

    @Option(
            names = "--hot-memory",
            split = ",",
            description = "state.hot-memory in bytes, each a candidate (default: an eighth of a candidate's heap).")
    private List<Long> hotMemory = List.of(WeirConfig.DEFAULTS.state().hotMemoryBytes());

    @Option(names = "--threads", description = "Stream threads of each (default: ${DEFAULT-VALUE}).")
    private int threads = 1;

    @Option(names = "--kafka", description = "A setting of the candidates' Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan effort = new RunPlan(rounds, turn, warmUp);
        DecideBench decide = new DecideBench(effort, threads, hotMemory, kafka, bench.progress()::println);
        List<ResultTable> tables = new ArrayList<>();
        for (Map.Entry<String, String> rules : rules().entrySet()) {
            for (long count : clients) {
                tables.add(decide.run(
                        new DecideBench.DecideLoad(rules.getKey(), rules.getValue(), count, count >= MANY_CLIENTS)));
            }
        }
        bench.print(tables);
        return 0;
    }

    /** Policy files by what they are called. */
    private Map<String, String> rules() throws FaultsException {
        Map<String, String> rules = new LinkedHashMap<>();
        if (policies != null) {
            UserFiles.read(policies, PolicyFile::read); // tells what is wrong with them
            rules.put(policies.getFileName().toString(), UserFiles.read(policies, Files::readString));
            return rules;
        }
        for (String algorithm : algorithms) {
            String text = DecideBench.policyYaml(algorithm);
            PolicyFile.read(
                    "--algorithms " + algorithm, text); // tells that there is none, before the first is measured
            rules.put(algorithm, text);
        }
        return rules;
    }
}
