package dev.weir.bench.cli;

import dev.weir.bench.LeasesBench;
import dev.weir.cli.option.DurationConverter;
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
        name = "leases",
        mixinStandardHelpOptions = true,
        description = {
            "Measures how much of a shared limit is used, and the messages.",
            "Starts one broker in this process, or several broker processes, and an enforcer process. Sends requests"
                    + " at a steady rate. Takes some minutes."
        })
final class BenchLeasesCommand implements Callable<Integer> {

    private static final int MAX_BROKERS = 5;
    private static final int MAX_BUSY = 64;

    @Option(names = "--of", split = ",", description = "The scenarios: ${COMPLETION-CANDIDATES} (default: all).")
    private List<LeasesBench.LeaseScenario> of = List.of(LeasesBench.LeaseScenario.values());

    @Option(names = "--algorithm", description = "The algorithm of the limit (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(
            names = "--per",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "10s",
            description = "The window of the limit (default: ${DEFAULT-VALUE}).")
    private Duration per;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "60s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up",
            paramLabel = "DURATION",
            converter = DurationConverter.OrZero.class,
            defaultValue = "30s",
            description = "The warm-up (default: ${DEFAULT-VALUE}).")
    private Duration warmUp;

    @Option(
            names = "--brokers",
            description = "The number of brokers. Each has a replica of each topic; min.insync.replicas is one less"
                    + " (default: ${DEFAULT-VALUE}).")
    private int brokers = 1;

    @Option(
            names = "--busy",
            description = "The number of threads that each keep a processor busy (default: ${DEFAULT-VALUE}).")
    private int busy = 0;

    @Option(names = "--kafka", description = "A Kafka client setting of the enforcer, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        requireRange("--brokers", brokers, 1, MAX_BROKERS);
        requireRange("--busy", busy, 0, MAX_BUSY);
        LeasesBench.LeasePlan plan = new LeasesBench.LeasePlan(warmUp, turn);
        LeasesBench.Conditions conditions = new LeasesBench.Conditions(brokers, busy);
        LeasesBench leases = new LeasesBench(plan, conditions, kafka, bench.progress()::println);
        bench.print(List.of(leases.run(algorithm, per, of)));
        return 0;
    }

    private void requireRange(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new ParameterException(
                    spec.commandLine(), "%s must be %d to %d, is %d".formatted(option, least, most, value));
        }
    }
}
