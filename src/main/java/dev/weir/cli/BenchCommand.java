package dev.weir.cli;

import dev.weir.bench.DecideBench;
import dev.weir.bench.Effort;
import dev.weir.bench.Peers;
import dev.weir.bench.Table;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        description = "Measures what this machine can do, side by side with what it is held against.",
        synopsisSubcommandLabel = "COMMAND")
final class BenchCommand {

    private static final String POLICY = "policies: [{id: bench, limits: [{algorithm: %s, limit: 1000000, per: 1m}]}]";

    /** All that a client has asked is known before, if they are more than come by while it warms up. */
    private static final long MANY_CLIENTS = 1_000_000;

    @Spec
    private CommandSpec spec;

    @Command(
            name = "decide",
            mixinStandardHelpOptions = true,
            description = "Decisions a second, against a topology that only passes requests through.",
            footer = {
                "",
                "Starts a broker in this process, and each candidate in one of its own; they work in turns. Takes some minutes."
            })
    int decide(
            @Option(
                            names = "--clients",
                            split = ",",
                            defaultValue = "100000",
                            description =
                                    "How many clients ask, the k-th in proportion to 1/k (default: ${DEFAULT-VALUE}).")
                    List<Long> clients,
            @Option(
                            names = "--algorithms",
                            split = ",",
                            defaultValue = "sliding-window-counter",
                            description = "What decides (default: ${DEFAULT-VALUE}).")
                    List<String> algorithms,
            @Option(
                            names = "--rounds",
                            defaultValue = "7",
                            description = "How often each has its turn (default: ${DEFAULT-VALUE}).")
                    int rounds,
            @Option(
                            names = "--turn",
                            defaultValue = "PT4S",
                            description = "How long a turn lasts (default: ${DEFAULT-VALUE}).")
                    Duration turn,
            @Option(
                            names = "--warm-up",
                            defaultValue = "8000000",
                            description = "Requests that each does before (default: ${DEFAULT-VALUE}).")
                    long warmUp,
            @Option(
                            names = "--hot-memory",
                            split = ",",
                            defaultValue = "33554432",
                            description = "state.hot-memory in bytes, each a candidate (default: ${DEFAULT-VALUE}).")
                    List<Long> hotMemory,
            @Option(names = "--kafka", description = "A setting of the candidates' Kafka clients, as KEY=VALUE.")
                    Map<String, String> kafka)
            throws Exception {
        Map<String, String> settings = kafka == null ? Map.of() : new LinkedHashMap<>(kafka);
        PrintWriter err = spec.commandLine().getErr();
        DecideBench bench = new DecideBench(new Effort(rounds, turn, warmUp), hotMemory, settings, err::println);
        for (String algorithm : algorithms) {
            for (long count : clients) {
                DecideBench.Load load =
                        new DecideBench.Load(algorithm, POLICY.formatted(algorithm), count, count >= MANY_CLIENTS);
                print(bench.run(load));
            }
        }
        return 0;
    }

    private void print(Table table) {
        PrintWriter out = spec.commandLine().getOut();
        out.printf("%-52s %14s %14s %14s %7s%n", table.title(), table.unit(), "min", "max", "ratio");
        for (Table.Row row : table.rows()) {
            out.printf(
                    "  %-50s %,14.0f %,14.0f %,14.0f %7.2f%n",
                    row.name(), row.median(), row.min(), row.max(), row.ratio());
        }
        table.notes().forEach(note -> out.println("  " + note));
        out.println();
        out.flush();
    }

    @Command(
            name = "peers",
            mixinStandardHelpOptions = true,
            description =
                    "A decision in process, without Kafka: the algorithms against Bucket4j, Resilience4j and Guava,"
                            + " and the whole core.",
            footer = {"", "Each benchmark runs in JVMs of its own, by JMH. Takes some minutes."})
    int peers(
            @Option(
                            names = "--only",
                            defaultValue = "",
                            description = "Those whose names contain a match of this regular expression.")
                    String only,
            @Option(
                            names = "--rounds",
                            defaultValue = "3",
                            description = "How many JVMs measure each (default: ${DEFAULT-VALUE}).")
                    int rounds,
            @Option(
                            names = "--turn",
                            defaultValue = "PT1S",
                            description =
                                    "How long an iteration lasts, of which five warm up (default: ${DEFAULT-VALUE}).")
                    Duration turn) {
        PrintWriter err = spec.commandLine().getErr();
        PrintWriter out = spec.commandLine().getOut();
        Peers.Effort effort = new Peers.Effort(rounds, 5, 5, (int) turn.toMillis());
        List<Peers.Measurement> measured = Peers.measure(only, effort, err::println);
        out.printf("%-64s %10s %8s %8s%n", "a decision by", "ns", "+-", "bytes");
        for (Peers.Measurement one : measured) {
            out.printf("  %-62s %10.1f %8.1f %8.0f%n", one.name(), one.nanos(), one.error(), one.bytes());
        }
        out.flush();
        return 0;
    }
}
