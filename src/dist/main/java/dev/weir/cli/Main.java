package dev.weir.cli;

import java.io.PrintWriter;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the enforcer. */
@Command(
        name = "weir",
        mixinStandardHelpOptions = true,
        versionProvider = RootCommand.Version.class,
        description = "Enforces quotas on request events that flow through Kafka.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Try it:",
            "  weir demo                              a real trace through a broker of its own",
            "  weir run --dev --policies rules.yaml   a broker and the enforcer, on localhost:9092",
            "  weir send --await requests.ndjson      requests in, their decisions out"
        },
        subcommands = {
            DemoCommand.class,
            RunCommand.class,
            DoctorCommand.class,
            AuditCommand.class,
            BacktestCommand.class,
            PoliciesCommand.class,
            UsageCommand.class,
            QueuesCommand.class,
            SendCommand.class,
            WatchCommand.class,
            AutoComplete.GenerateCompletion.class,
            CommandLine.HelpCommand.class
        })
public final class Main extends RootCommand {

    public static void main(String[] args) {
        new Main().runAndExit(args);
    }

    /** Runs a command and returns its exit code. */
    public static int execute(PrintWriter out, PrintWriter err, String... args) {
        return new Main().run(out, err, args);
    }

    /** Runs the demo, if no command is given. */
    @Override
    public Integer call() {
        CommandLine own = spec().commandLine();
        return own.getSubcommands()
                .get("demo")
                .setOut(own.getOut())
                .setErr(own.getErr())
                .execute();
    }
}
