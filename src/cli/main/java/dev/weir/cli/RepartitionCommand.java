package dev.weir.cli;

import dev.weir.console.ClusterOptions;
import dev.weir.fault.FaultsException;
import dev.weir.repartition.Repartition;
import dev.weir.repartition.RepartitionPlan;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "repartition",
        mixinStandardHelpOptions = true,
        description = {
            "Moves the state of clients to as many partitions as weir.requests has, after partitions were added.",
            "Stop all instances first. Usage, idempotent answers and undecided requests move to the partitions of their"
                    + " clients; queues and shared limits are not affected. If it is interrupted, run it again:"
                    + " instances do not start before it has finished."
        },
        footer = {
            "",
            "Exit codes: 0 if the state has as many partitions, 1 if instances are running or a topic fails.",
            "",
            "Example:",
            "  weir repartition -c weir.yaml --dry-run"
        })
final class RepartitionCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Option(names = "--dry-run", description = "Print what would be done. Instances can be running.")
    private boolean dryRun;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws FaultsException {
        PrintWriter out = spec.commandLine().getOut();
        try (Repartition repartition = new Repartition(cluster.connect())) {
            RepartitionPlan plan = repartition.plan();
            if (plan.isDone()) {
                out.printf(
                        "nothing to do: %s and the state of clients have %d partitions%n", plan.requests(), plan.to());
                return 0;
            }
            out.printf(
                    "%s has %d partitions, the state of clients has %d%s%n",
                    plan.requests(), plan.to(), plan.from(), plan.isUnfinished() ? " (unfinished)" : "");
            if (dryRun) {
                plan.topics().forEach(topic -> out.println("would add partitions to " + topic));
                out.printf("would read up to %d records, and copy those of clients that move%n", plan.records());
                return 0;
            }
            Repartition.Result result = repartition.run(out::println);
            out.printf(
                    "the state of clients has %d partitions: copied %d records of usage and %d idempotent answers,"
                            + " moved %d waiting and %d routed requests%n",
                    plan.to(), result.states(), result.answers(), result.waiting(), result.routed());
            out.println("start the instances: weir run");
            return 0;
        }
    }
}
