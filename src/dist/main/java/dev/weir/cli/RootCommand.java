package dev.weir.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.weir.backtest.BadRequestException;
import dev.weir.fault.FaultsException;
import dev.weir.fault.UnreadableLineException;
import dev.weir.rules.ConflictException;
import dev.weir.rules.RefusedChangeException;
import dev.weir.runtime.BadStateDirectoryException;
import dev.weir.service.http.BadSettingException;
import dev.weir.topics.UnreachableException;
import dev.weir.topics.WrongTopicsException;
import dev.weir.wire.RegistryException;
import java.io.PrintWriter;
import java.util.Set;
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

/** The top of a command line. Exit codes: 0 done, 1 failed, 2 wrong usage or bad input. */
public abstract class RootCommand implements Callable<Integer> {

    private static final int BAD_INPUT = 2;

    private static final Logger LOG = LoggerFactory.getLogger(RootCommand.class);

    /** How many lines of a stack trace are logged. */
    private static final String TRACES = "weir.log.traces";

    /** Which of the patterns of {@code log4j2.properties} lines are written by. */
    private static final String FORMAT = "weir.log.format";

    /** The commands that go on until they are stopped. */
    private static final Set<String> LONG_RUNNING = Set.of("run", "watch");

    @Option(
            names = "--verbose",
            scope = ScopeType.INHERIT,
            description = "Log what happens; show stack traces. Twice: log what Kafka's clients do, too.")
    private boolean[] verbose = {};

    /** Whether machines read the log: all that goes to standard error is in it then. */
    private boolean logsJson;

    /** The exit code of a command that failed. */
    private int failureExitCode = CommandLine.ExitCode.SOFTWARE;

    @Spec
    private CommandSpec spec;

    /** Prints the version that the jar was built as. */
    public static final class Version implements CommandLine.IVersionProvider {

        @Spec
        private CommandSpec spec;

        @Override
        public String[] getVersion() {
            String version = RootCommand.class.getPackage().getImplementationVersion();
            return new String[] {spec.root().name() + " " + (version == null ? "(from source)" : version)};
        }
    }

    /** The command as it was parsed. */
    public final CommandSpec spec() {
        return spec;
    }

    /** Runs a command with the process's standard streams and ends the process with its exit code. */
    public final void runAndExit(String... args) {
        System.exit(run(new PrintWriter(System.out, true, UTF_8), new PrintWriter(System.err, true, UTF_8), args));
    }

    /** Runs a command and returns its exit code. */
    public final int run(PrintWriter out, PrintWriter err, String... args) {
        CommandLine line = new CommandLine(this).setOut(out).setErr(err);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setParameterExceptionHandler(RootCommand::handleUsageError);
        line.setExecutionExceptionHandler((failure, command, parsed) -> handleFailure(failure, command));
        line.setExecutionStrategy(parsed -> {
            CommandSpec command = (parsed.hasSubcommand() ? parsed.subcommand() : parsed).commandSpec();
            failureExitCode = command.exitCodeOnExecutionException();
            logsJson = command.userObject() instanceof RunCommand run && run.logsJson();
            configureLogging(LONG_RUNNING.contains(command.name()));
            return new CommandLine.RunLast().execute(parsed);
        });
        try {
            return line.execute(args);
        } catch (OutOfMemoryError e) {
            // A client without TLS takes the first bytes that a broker with TLS says for a length.
            String why = "out of memory; if the brokers speak TLS, kafka.security.protocol must say SSL or SASL_SSL";
            if (logsJson) {
                LOG.error(why);
            } else {
                err.println("weir: " + why);
            }
            return failureExitCode;
        }
    }

    /** A command that comes to an end tells in its one line what failed; what the clients log would only repeat it. */
    private void configureLogging(boolean lasts) {
        if (isVerbose()) {
            System.setProperty(TRACES, "full");
        }
        if (logsJson) {
            System.setProperty(FORMAT, "json");
            Thread.setDefaultUncaughtExceptionHandler(
                    (thread, failure) -> LOG.error("the thread {} failed", thread.getName(), failure));
        }
        if (isVerbose() || logsJson) {
            Configurator.reconfigure();
        }
        if (isVerbose()) {
            Configurator.setAllLevels(verbose.length > 1 ? "" : "dev.weir", Level.INFO);
        } else if (!lasts) {
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
        PrintWriter err = command.getErr();
        err.println(command.getCommandSpec().qualifiedName() + ": " + e.getMessage() + " (try --help)");
        return command.getCommandSpec().exitCodeOnInvalidInput();
    }

    private int handleFailure(Exception failure, CommandLine command) {
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
        return failure instanceof InputException
                || failure instanceof BadRequestException
                || failure instanceof RefusedChangeException
                || failure instanceof ConflictException
                || failure instanceof UnreadableLineException
                || failure instanceof FaultsException
                || failure instanceof BadSettingException
                || failure instanceof WrongTopicsException
                || failure instanceof BadStateDirectoryException
                || failure instanceof ConfigException;
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
