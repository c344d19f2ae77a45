package dev.weir.cli;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command {@code help}, which also prints the help of nested commands: {@code weir help policies apply}. */
@Command(
        name = "help",
        helpCommand = true,
        mixinStandardHelpOptions = true,
        description = "Prints the help of a command, such as: help policies apply.")
public final class HelpCommand implements Runnable {

    @Parameters(
            paramLabel = "COMMAND",
            arity = "0..*",
            description = "The command, and the command within it (default: all commands).")
    private List<String> path = List.of();

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        CommandLine command = spec.parent().commandLine();
        for (String name : path) {
            CommandLine nested = command.getSubcommands().get(name);
            if (nested == null) {
                throw new UnmatchedArgumentException(command, List.of(name));
            }
            command = nested;
        }
        command.usage(spec.commandLine().getOut(), spec.commandLine().getColorScheme());
    }
}
