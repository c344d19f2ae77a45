package dev.weir.bench.cli;

import dev.weir.bench.DecideBench;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.RunPlan;
import dev.weir.cli.option.DurationConverter;
import dev.weir.config.WeirConfig;
import dev.weir.console.UserFiles;
import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.wire.OutputFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "decide",
        mixinStandardHelpOptions = true,
        description = {
            "Measures decisions per second.",
            "Compares Weir with a topology that only forwards requests. Starts a broker in this process, and each"
                    + " candidate in a separate process; the candidates run in turns. Takes some minutes."
        })
final class BenchDecideCommand implements Callable<Integer> {

    /** With this many clients or more, each sends a request first: the warm-up does not reach all of them. */
    private static final long MANY_CLIENTS = 1_000_000;

    @Option(
            names = "--clients",
            split = ",",
            description = "The number of clients; requests have a Zipf distribution (default: ${DEFAULT-VALUE}).")
    private List<Long> clients = List.of(100_000L);

    @Option(names = "--algorithms", split = ",", description = "The algorithms (default: ${DEFAULT-VALUE}).")
    private List<String> algorithms = List.of("sliding-window-counter");

    @Option(
            names = "--slots-in-use",
            split = ",",
            description =
                    "The slots in use of all clients together, for the algorithm concurrency: every second request"
                            + " is a RELEASE (default: ${DEFAULT-VALUE}).")
    private List<Long> slotsInUse = List.of(10L, 1_000_000L);

    @Option(
            names = {"-p", "--policies"},
            paramLabel = "FILE",
            description = "A policy file to measure instead. Requests have the attributes endpoint, ip and agent.")
    private Path policies;

    @Option(names = "--rounds", description = "How often each candidate is measured (default: ${DEFAULT-VALUE}).")
    private int rounds = 7;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "4s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up-requests",
            description =
                    "The warm-up requests of each candidate (default: ${DEFAULT-VALUE}). With slots in use, they are at"
                            + " most 1,000,000, or two for each slot.")
    private long warmUpRequests = 8_000_000;

    @Option(
            names = "--hot-memory",
            split = ",",
            description = "Values of state.hot-memory in bytes, one candidate each (default: an eighth of the heap).")
    private List<Long> hotMemory = List.of(WeirConfig.DEFAULTS.state().hotMemoryBytes());

    @Option(names = "--threads", description = "The stream threads of each candidate (default: ${DEFAULT-VALUE}).")
    private int threads = 1;

    @Option(
            names = "--format",
            description = "The format of requests and decisions: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private OutputFormat format = OutputFormat.AVRO;

    @Option(names = "--kafka", description = "A Kafka client setting of the candidates, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan plan = new RunPlan(rounds, turn, warmUpRequests);
        DecideBench decide = new DecideBench(plan, threads, hotMemory, format, kafka, bench.progress()::println);
        List<ResultTable> tables = new ArrayList<>();
        for (Map.Entry<String, String> rules : rules().entrySet()) {
            for (long count : clients) {
                for (OptionalLong held : held(rules.getKey())) {
                    boolean isMany = count >= MANY_CLIENTS && held.isEmpty();
                    String text = held.isPresent() ? DecideBench.slotsYaml(held.getAsLong()) : rules.getValue();
                    tables.add(decide.run(new DecideBench.DecideLoad(rules.getKey(), text, count, isMany, held)));
                }
            }
        }
        bench.print(tables);
        return 0;
    }

    private List<OptionalLong> held(String rules) {
        boolean isOfSlots = policies == null && rules.equals(DecideBench.CONCURRENCY);
        return isOfSlots ? slotsInUse.stream().map(OptionalLong::of).toList() : List.of(OptionalLong.empty());
    }

    /** Returns the texts of the policy files by name. */
    private Map<String, String> rules() throws FaultsException {
        Map<String, String> rules = new LinkedHashMap<>();
        if (policies != null) {
            UserFiles.read(policies, PolicyFile::read); // reports faults
            rules.put(policies.getFileName().toString(), UserFiles.read(policies, Files::readString));
            return rules;
        }
        for (String algorithm : algorithms) {
            boolean isOfSlots = algorithm.equals(DecideBench.CONCURRENCY);
            String text = isOfSlots ? DecideBench.slotsYaml(0) : DecideBench.policyYaml(algorithm);
            PolicyFile.read("--algorithms " + algorithm, text); // rejects an unknown algorithm before any measurement
            rules.put(algorithm, text);
        }
        return rules;
    }
}
