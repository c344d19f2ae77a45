package dev.weir.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.weir.fault.BadInput;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.RegistryException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/**
 * The root of a command line. Exit codes: 0 for success, also if the reader of a pipe on standard output has exited; 1 for a
 * failure, 2 for wrong usage or bad input. A command can define another code for failures by {@link
 * CommandSpec#exitCodeOnExecutionException}.
 */
public abstract class RootCommand implements Callable<Integer> {

    private static final int BAD_INPUT = 2;

    private static final Logger LOG = LoggerFactory.getLogger(RootCommand.class);

    /** The system property for the number of lines of a stack trace in the log, or {@code full}. */
    private static final String TRACES = "weir.log.traces";

    /** The system property for the name of the log pattern in {@code log4j2.properties}. */
    private static final String FORMAT = "weir.log.format";

    @Option(
            names = "--verbose",
            scope = ScopeType.INHERIT,
            description = "Log informational messages and stack traces. Repeat the option to include Kafka's log.")
    private boolean[] verbose = {};

    /** Whether the log is JSON. Then errors are logged instead of printed, so that standard error is JSON only. */
    private boolean logsJson;

    /** The exit code of the command for a failure that is not bad input. */
    private int failureExitCode = CommandLine.ExitCode.SOFTWARE;

    @Spec
    private CommandSpec spec;

    /** Provides the version of the jar. */
    public static final class Version implements CommandLine.IVersionProvider {

        @Spec
        private CommandSpec spec;

        @Override
        public String[] getVersion() {
            String version = RootCommand.class.getPackage().getImplementationVersion();
            return new String[] {spec.root().name() + " " + (version == null ? "(from source)" : version)};
        }
    }

    /** Returns the specification of this command. */
    public final CommandSpec spec() {
        return spec;
    }

    /** Runs a command with the standard streams, and exits the process with the exit code of the command. */
    public final void runAndExit(String... args) {
        System.exit(run(StandardOutput.writer(), new PrintWriter(System.err, true, UTF_8), args));
    }

    /** Runs a command with the given streams. Returns its exit code. */
    public final int run(PrintWriter out, PrintWriter err, String... args) {
        CommandLine line = new CommandLine(this).setOut(out).setErr(err);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setParameterExceptionHandler(RootCommand::handleUsageError);
        line.setExecutionExceptionHandler((failure, command, parsed) -> handleFailure(failure, command));
        line.setExecutionStrategy(parsed -> {
            CommandSpec command = (parsed.hasSubcommand() ? parsed.subcommand() : parsed).commandSpec();
            failureExitCode = command.exitCodeOnExecutionException();
            logsJson = command.userObject() instanceof ServerCommand server && server.logsJson();
            configureLogging(command.userObject() instanceof ServerCommand);
            try {
                return new CommandLine.RunLast().execute(parsed);
            } catch (OutputException e) {
                // The help could not be printed. Failures of commands are handled by the handler above.
                return handleFailure(e, command.commandLine());
            }
        });
        try {
            return line.execute(args);
        } catch (OutOfMemoryError e) {
            // A client without TLS reads the first bytes of a TLS response as the size of a buffer.
            String why = "out of memory; if the brokers use TLS, set kafka.security.protocol to SSL or SASL_SSL";
            if (logsJson) {
                LOG.error(why);
            } else {
                err.println("weir: " + why);
            }
            return failureExitCode;
        }
    }

    /**
     * Sets the log levels and the format.
     *
     * @param isServer whether the command is a {@link ServerCommand}. Other commands print a failure themselves, in one line, so
     *     warnings of the Kafka clients about the same failure are not logged.
     */
    private void configureLogging(boolean isServer) {
        if (isVerbose()) {
            System.setProperty(TRACES, "full");
        }
        if (logsJson) {
            System.setProperty(FORMAT, "json");
            Thread.setDefaultUncaughtExceptionHandler(
                    (thread, failure) -> LOG.error("Thread {} failed", thread.getName(), failure));
        }
        if (isVerbose() || logsJson) {
            Configurator.reconfigure();
        }
        if (isVerbose()) {
            Configurator.setAllLevels(verbose.length > 1 ? "" : "dev.weir", Level.INFO);
        } else if (!isServer) {
            Configurator.setAllLevels("", Level.ERROR);
            Configurator.setAllLevels("org.apache.kafka.clients", Level.OFF);
            Configurator.setAllLevels("org.apache.kafka.common", Level.OFF);
        }
    }

    private boolean isVerbose() {
        return verbose.length > 0;
    }

    private static int handleUsageError(CommandLine.ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        command.getErr().println(UsageErrors.line(e));
        return command.getCommandSpec().exitCodeOnInvalidInput();
    }

    private int handleFailure(Exception failure, CommandLine command) {
        if (failure instanceof OutputException output && output.isClosedPipe()) {
            return CommandLine.ExitCode.OK;
        }
        PrintWriter err = command.getErr();
        if (logsJson) {
            log(failure);
        } else if (isVerbose()) {
            failure.printStackTrace(err);
        } else if (failure instanceof FaultsException faults) {
            faults.faults().forEach(err::println);
        } else {
            err.println(command.getCommandSpec().qualifiedName() + ": " + message(failure));
        }
        return isBadInput(failure) ? BAD_INPUT : failureExitCode;
    }

    private void log(Exception failure) {
        if (failure instanceof FaultsException faults) {
            faults.faults().forEach(fault -> LOG.error("{}", fault));
        } else {
            LOG.error("{}", message(failure), isBadInput(failure) && !isVerbose() ? null : failure);
        }
    }

    private static boolean isBadInput(Exception failure) {
        return failure instanceof BadInput || failure instanceof ConfigException;
    }

    private static String message(Exception failure) {
        if (failure instanceof ConfigException) {
            return "the kafka section: " + failure.getMessage();
        }
        if (failure instanceof KafkaException) {
            return UnreachableException.causeMessage(failure);
        }
        boolean expected = isBadInput(failure)
                || failure instanceof UnreachableException
                || failure instanceof RegistryException
                || failure instanceof OutputException;
        return expected ? failure.getMessage() : failure.toString();
    }
}
