package dev.weir.console;

import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.BootstrapCheck;
import dev.weir.kafka.BrokerAddress;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.kafka.common.config.ConfigException;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options of commands that connect to a cluster. */
public final class ClusterOptions {

    private static final String OPTION = "--bootstrap-server";

    private static final String VARIABLE = "WEIR_BOOTSTRAP";

    @Mixin
    private ConfigOption config;

    @Option(
            names = {"-b", OPTION},
            paramLabel = "HOST:PORT",
            description = "The Kafka brokers, separated by commas (default: the environment variable " + VARIABLE
                    + ", those of the configuration, or " + KafkaSettings.DEFAULT_BOOTSTRAP_SERVERS + ").")
    private String bootstrapServer;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    private boolean isConnected;

    /**
     * Reads the configuration and checks that a broker responds. Kafka's clients would report only a timeout.
     *
     * @throws FaultsException if the configuration is invalid
     * @throws InputException if the addresses are invalid
     * @throws UnreachableException if no broker responds
     */
    public WeirConfig connect() throws FaultsException {
        WeirConfig read = read();
        requireBrokers(read);
        return read;
    }

    /** Does the check of {@link #connect()} if it has not been done. */
    public void requireBrokers(WeirConfig read) {
        if (!isConnected) {
            BootstrapCheck.require(read, this::printConnecting);
            isConnected = true;
        }
    }

    /** Explains a wait to a person. Anything else that reads standard error gets only errors. */
    private void printConnecting(String addresses) {
        boolean logsJson = command.userObject() instanceof ServerCommand server && server.logsJson();
        if (!logsJson && Terminal.isStandardError()) {
            PrintWriter err = command.commandLine().getErr();
            err.println(command.qualifiedName() + ": connecting to " + addresses + " ...");
            err.flush();
        }
    }

    /**
     * Reads the configuration.
     *
     * @throws FaultsException if the configuration is invalid
     * @throws InputException if the addresses are invalid
     */
    public WeirConfig read() throws FaultsException {
        return withBrokers(config.read());
    }

    /** Returns whether the option names brokers. */
    public boolean hasBootstrapServers() {
        return bootstrapServer != null;
    }

    /** Returns the configuration file; empty if none is named. */
    public Optional<Path> file() {
        return config.file();
    }

    /**
     * Returns a configuration with the brokers of the option or of the environment variable, if one of them is set.
     *
     * @throws InputException if the addresses are invalid
     */
    public WeirConfig withBrokers(WeirConfig read) {
        if (bootstrapServer != null) {
            return withBrokers(read, OPTION, bootstrapServer);
        }
        Optional<String> variable = variable(VARIABLE);
        return variable.isPresent() ? withBrokers(read, VARIABLE, variable.get()) : read;
    }

    /** Returns the value of an environment variable; empty if it is blank or not set. */
    public static Optional<String> variable(String name) {
        return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isBlank());
    }

    private static WeirConfig withBrokers(WeirConfig config, String source, String addresses) {
        try {
            for (String address : addresses.split(",", -1)) {
                BrokerAddress.parse(address.strip());
            }
        } catch (ConfigException e) {
            throw new InputException(
                    source + " must be HOST:PORT, or several separated by commas, is '" + addresses + "'", e);
        }
        return config.withKafka("bootstrap.servers", addresses);
    }
}
