package dev.weir.cli;

import dev.weir.bench.DecideBench;
import dev.weir.bench.Effort;
import dev.weir.bench.Report;
import dev.weir.bench.Table;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        description =
                "Measures what this machine can do, with a broker of its own and side by side with what it is held against.")
final class BenchCommand implements Callable<Integer> {

    private static final String POLICY = "policies: [{id: bench, limits: [{algorithm: %s, limit: 1000000, per: 1m}]}]";

    @Option(names = "--quick", description = "Measure for a short time: for a first look.")
    private boolean quick;

    @Option(
            names = "--clients",
            split = ",",
            defaultValue = "100000",
            description = "How many clients ask (default: ${DEFAULT-VALUE}).")
    private List<Long> clients;

    @Option(
            names = "--algorithms",
            split = ",",
            defaultValue = "sliding-window-counter",
            description = "Which algorithms decide (default: ${DEFAULT-VALUE}).")
    private List<String> algorithms;

    @Option(names = "--kafka", description = "A setting of the candidates' Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter err = spec.commandLine().getErr();
        DecideBench bench = new DecideBench(quick ? Effort.QUICK : Effort.FULL, kafka, err::println);
        List<Table> tables = new ArrayList<>();
        for (String algorithm : algorithms) {
            for (long count : clients) {
                tables.add(bench.run(
                        new DecideBench.Load(algorithm, POLICY.formatted(algorithm), count, count > 100_000)));
            }
        }
        new Report(spec.commandLine().getOut()).print(tables);
        return 0;
    }
}
