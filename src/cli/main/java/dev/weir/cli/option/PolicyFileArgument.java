package dev.weir.cli.option;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A policy file: the parameter of a command, or its option {@code --file}. */
public final class PolicyFileArgument {

    @Parameters(
            paramLabel = "FILE",
            arity = "0..1",
            description = "The policy file (YAML or JSON); - is standard input.")
    private String parameter;

    @Option(
            names = {"-f", "--file"},
            paramLabel = "FILE",
            description = "The same as the parameter FILE.")
    private String option;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    /**
     * Returns the name of the file.
     *
     * @throws ParameterException unless exactly one file is named
     */
    public String name() {
        if (option != null && parameter != null) {
            throw new ParameterException(command.commandLine(), "FILE and --file are the same: give one of them");
        }
        if (option == null && parameter == null) {
            throw new MissingParameterException(
                    command.commandLine(), List.copyOf(command.positionalParameters()), "FILE is missing");
        }
        return option != null ? option : parameter;
    }

    /** Reads a file whose policies refer only to queues of the same file, like {@link PolicyFiles#read(String)}. */
    public PolicyFile.Contents read() throws FaultsException {
        return PolicyFiles.read(name());
    }

    /** Reads a file like {@link PolicyFiles#read(String, Supplier)}. */
    public PolicyFile.Contents read(Supplier<Set<String>> existingQueues) throws FaultsException {
        return PolicyFiles.read(name(), existingQueues);
    }
}
