package dev.weir.cli;

import dev.weir.cli.policy.PoliciesCommand;
import dev.weir.cli.queue.QueuesCommand;
import dev.weir.console.RootCommand;
import dev.weir.gateway.GatewayCommand;
import java.io.PrintWriter;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command {@code weir}. */
@Command(
        name = "weir",
        mixinStandardHelpOptions = true,
        versionProvider = RootCommand.Version.class,
        description = "Enforces quotas on request events that flow through Kafka.",
        synopsisSubcommandLabel = "[COMMAND]",
        footer = {
            "",
            "Examples:",
            "  weir demo                              replay real web traffic",
            "  weir run --dev --policies rules.yaml   run Weir with an embedded broker",
            "  weir send --await requests.ndjson      send requests, print decisions"
        },
        subcommands = {
            DemoCommand.class,
            RunCommand.class,
            GatewayCommand.class,
            DoctorCommand.class,
            RepartitionCommand.class,
            AuditCommand.class,
            BacktestCommand.class,
            PoliciesCommand.class,
            UsageCommand.class,
            ReservationsCommand.class,
            TopCommand.class,
            QueuesCommand.class,
            DeadLettersCommand.class,
            SendCommand.class,
            WatchCommand.class,
            AutoComplete.GenerateCompletion.class,
            HelpCommand.class
        })
public final class Main extends RootCommand {

    public static void main(String[] args) {
        new Main().runAndExit(args);
    }

    /** Runs a command with the given streams. Returns its exit code. */
    public static int execute(PrintWriter out, PrintWriter err, String... args) {
        return new Main().run(out, err, args);
    }

    /** Prints the help: no command was given. */
    @Override
    public Integer call() {
        CommandLine own = spec().commandLine();
        own.usage(own.getOut());
        return 0;
    }
}
