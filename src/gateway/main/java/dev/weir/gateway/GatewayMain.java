package dev.weir.gateway;

import dev.weir.console.RootCommand;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command {@code weir} of {@code weir-gateway.jar}, which has the subcommand {@code gateway} only. */
@Command(
        name = "weir",
        mixinStandardHelpOptions = true,
        versionProvider = RootCommand.Version.class,
        description = "Asks Weir for decisions on behalf of proxies.",
        synopsisSubcommandLabel = "[COMMAND]",
        subcommands = GatewayCommand.class)
public final class GatewayMain extends RootCommand {

    public static void main(String[] args) {
        new GatewayMain().runAndExit(args);
    }

    /** Runs a command with the given streams. Returns its exit code. */
    static int execute(PrintWriter out, PrintWriter err, String... args) {
        return new GatewayMain().run(out, err, args);
    }

    /** Prints the help: no command was given. */
    @Override
    public Integer call() {
        CommandLine own = spec().commandLine();
        own.usage(own.getOut());
        return 0;
    }
}
