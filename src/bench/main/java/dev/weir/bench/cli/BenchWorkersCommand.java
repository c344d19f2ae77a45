package dev.weir.bench.cli;

import dev.weir.bench.WorkersBench;
import dev.weir.cli.option.DurationConverter;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "workers",
        mixinStandardHelpOptions = true,
        description = {
            "Measures how a queue with slots keeps its workers busy.",
            "Measures the time L from the end of a job to the start of the next one in a queue with one slot, and then"
                    + " which share of the time handlers run in a pool of workers with random job times of a mean D, beside"
                    + " D / (D + L). Starts a broker and the workers in this process, and Weir in a separate one. Takes"
                    + " some minutes."
        })
final class BenchWorkersCommand implements Callable<Integer> {

    @Option(
            names = "--slots",
            description = "The slots of the queue and threads of workers (default: ${DEFAULT-VALUE}).")
    private int slots = 20;

    @Option(
            names = "--jobs",
            split = ",",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "200ms,1s,5s",
            description = "The mean times of jobs (default: ${DEFAULT-VALUE}).")
    private List<Duration> jobs;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "30s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up",
            paramLabel = "DURATION",
            converter = DurationConverter.OrZero.class,
            defaultValue = "15s",
            description = "The time before each measurement (default: ${DEFAULT-VALUE}).")
    private Duration warmUp;

    @Option(names = "--kafka", description = "A Kafka client setting of the candidates, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        WorkersBench.WorkersPlan plan = new WorkersBench.WorkersPlan(slots, jobs, warmUp, turn);
        bench.print(new WorkersBench(plan, kafka, bench.progress()::println).run());
        return 0;
    }
}
