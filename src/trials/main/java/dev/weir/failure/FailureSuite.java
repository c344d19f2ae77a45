package dev.weir.failure;

import dev.weir.cli.option.DurationConverter;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command of the failure suite. It exits with 1 if an invariant does not hold. */
@Command(name = "failures", description = "Kills brokers and enforcers under load, and checks what they wrote.")
public final class FailureSuite implements Callable<Integer> {

    @Option(names = "--seed", description = "Seed of the schedule and the load (default: ${DEFAULT-VALUE}).")
    private long seed = 1;

    @Option(names = "--kills", description = "Kill at least this many processes (default: ${DEFAULT-VALUE}).")
    private int kills = 24;

    @Option(names = "--faults", split = ",", description = "Run these instead of a schedule: ${COMPLETION-CANDIDATES}.")
    private List<InjectedFault.Kind> faults = List.of();

    @Option(names = "--enforcers", description = "Number of enforcers (default: ${DEFAULT-VALUE}).")
    private int enforcers = 3;

    @Option(names = "--partitions", description = "Partitions of the topics (default: ${DEFAULT-VALUE}).")
    private int partitions = 4;

    @Option(names = "--rate", description = "Requests a second (default: ${DEFAULT-VALUE}).")
    private int rate = 300;

    @Option(
            names = "--misplaced",
            paramLabel = "PERCENT",
            description = "Write this share of the requests to another partition than their client's, as producers"
                    + " do with CRC32, another key or no key (default: ${DEFAULT-VALUE}).")
    private int misplacedPercent = FailureRun.Conditions.USUAL.misplacedPercent();

    @Option(
            names = "--skew",
            paramLabel = "DURATION",
            converter = DurationConverter.OrZero.class,
            description = "Start enforcers with wall clocks that are up to this far ahead or behind, such as 2s or 0s"
                    + " (default: 1h).")
    private Duration skew = FailureRun.Conditions.USUAL.skew();

    @Option(names = "--no-takeover", description = "Wait for the sessions of enforcers that fail.")
    private boolean hasNoTakeover;

    @Option(names = "--kafka", description = "A setting of the enforcers' Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    public static void main(String[] args) {
        System.exit(new CommandLine(new FailureSuite()).execute(args));
    }

    @Override
    public Integer call() throws Exception {
        Configurator.setLevel("org.apache.kafka.clients", Level.ERROR); // hides warnings about killed brokers
        Path directory = Files.createTempDirectory("weir-failures-");
        System.out.println("logs and data: " + directory);
        PrintStream out = System.out;
        List<InjectedFault> schedule = faults.isEmpty()
                ? InjectedFault.schedule(seed, kills, enforcers)
                : InjectedFault.sequence(seed, faults, enforcers);
        FailureRun.Conditions conditions = new FailureRun.Conditions(misplacedPercent, skew, !hasNoTakeover);
        FailureRun.Setup setup = new FailureRun.Setup(seed, schedule, enforcers, partitions, rate, conditions, kafka);
        try (FailureRun run = new FailureRun(setup, directory, out::println)) {
            FailureRun.Report report = run.run();
            print(report, out);
            return report.isOk() ? 0 : 1;
        }
    }

    private static void print(FailureRun.Report report, PrintStream out) {
        out.printf("%n%,d requests, %d kills, %d takeovers%n%n", report.requests(), report.kills(), report.takeovers());
        report.findings().forEach(out::println);
        Map<String, List<RecoveryTimer.Recovery>> byCause = new TreeMap<>();
        for (RecoveryTimer.Recovery recovery : report.recoveries()) {
            String what = recovery.partition().topic().endsWith("requests") ? "decisions" : "queues";
            byCause.computeIfAbsent(recovery.cause() + ", " + what, cause -> new ArrayList<>())
                    .add(recovery);
        }
        out.printf("%n%-28s %9s %9s %9s %9s%n", "recovery after", "times", "p50 ms", "p99 ms", "max ms");
        byCause.forEach((cause, recoveries) -> {
            long[] millis = recoveries.stream()
                    .mapToLong(RecoveryTimer.Recovery::millis)
                    .sorted()
                    .toArray();
            out.printf(
                    "%-28s %9d %,9d %,9d %,9d%n",
                    cause,
                    millis.length,
                    at(millis, 0.5),
                    at(millis, 0.99),
                    Arrays.stream(millis).max().orElse(0));
        });
    }

    private static long at(long[] sorted, double share) {
        return sorted[(int) Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
    }
}
