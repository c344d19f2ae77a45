package dev.weir.bench.cli;

import dev.weir.bench.LendBench;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

@Command(
        name = "lend",
        mixinStandardHelpOptions = true,
        description = "How much of a limit that all clients share is had, and for how many messages.",
        footer = {
            "",
            "Starts one broker in this process, or several as processes, and an enforcer as a process. Sends requests at a"
                    + " steady rate. Takes some minutes."
        })
final class BenchLendCommand implements Callable<Integer> {

    private static final int MAX_BROKERS = 5;
    private static final int MAX_BUSY = 64;

    @Option(names = "--of", split = ",", description = "Who asks: ${COMPLETION-CANDIDATES} (default: all).")
    private List<LendBench.LendScenario> of = List.of(LendBench.LendScenario.values());

    @Option(names = "--algorithm", description = "Of the limit (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(names = "--per", description = "The window of the limit (default: ${DEFAULT-VALUE}).")
    private Duration per = Duration.ofSeconds(10);

    @Option(names = "--seconds", description = "How long each is measured (default: ${DEFAULT-VALUE}).")
    private long seconds = 60;

    @Option(names = "--warm-up", description = "Seconds before that (default: ${DEFAULT-VALUE}).")
    private long warmUp = 30;

    @Option(
            names = "--brokers",
            description = "How many brokers, each with a replica of each topic; all but one must have a record"
                    + " (default: ${DEFAULT-VALUE}).")
    private int brokers = 1;

    @Option(
            names = "--busy",
            description = "Threads that occupy a processor each while it is measured (default: ${DEFAULT-VALUE}).")
    private int busy = 0;

    @Option(names = "--kafka", description = "A setting of the enforcer's Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        requireRange("--brokers", brokers, 1, MAX_BROKERS);
        requireRange("--busy", busy, 0, MAX_BUSY);
        LendBench.LendPlan effort = new LendBench.LendPlan(Duration.ofSeconds(warmUp), Duration.ofSeconds(seconds));
        LendBench.Conditions conditions = new LendBench.Conditions(brokers, busy);
        LendBench lend = new LendBench(effort, conditions, kafka, bench.progress()::println);
        bench.print(List.of(lend.run(algorithm, per, of)));
        return 0;
    }

    private void requireRange(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new ParameterException(
                    spec.commandLine(), "%s must be %d to %d, is %d".formatted(option, least, most, value));
        }
    }
}
