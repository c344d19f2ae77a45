package dev.weir.cli;

import dev.weir.bench.LendBench;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "lend",
        mixinStandardHelpOptions = true,
        description = "How much of a limit that all clients share is had, and for how many messages.",
        footer = {
            "",
            "Starts a broker in this process, and an enforcer in one of its own, which is asked at a steady rate. Takes"
                    + " some minutes."
        })
final class BenchLendCommand implements Callable<Integer> {

    @Option(names = "--of", split = ",", description = "Who asks: ${COMPLETION-CANDIDATES} (default: all).")
    private List<LendBench.Scene> of = List.of(LendBench.Scene.values());

    @Option(names = "--algorithm", description = "Of the limit (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(names = "--per", description = "The window of the limit (default: ${DEFAULT-VALUE}).")
    private Duration per = Duration.ofSeconds(10);

    @Option(names = "--seconds", description = "How long each is measured (default: ${DEFAULT-VALUE}).")
    private long seconds = 60;

    @Option(names = "--warm-up", description = "Seconds before that (default: ${DEFAULT-VALUE}).")
    private long warmUp = 30;

    @Option(names = "--kafka", description = "A setting of the enforcer's Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        LendBench.Effort effort = new LendBench.Effort(Duration.ofSeconds(warmUp), Duration.ofSeconds(seconds));
        bench.print(List.of(new LendBench(effort, kafka, bench.progress()::println).run(algorithm, per, of)));
        return 0;
    }
}
