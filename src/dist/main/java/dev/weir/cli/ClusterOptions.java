package dev.weir.cli;

import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import dev.weir.topics.KafkaSettings;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of commands that connect to a cluster. */
final class ClusterOptions {

    @Mixin
    private ConfigOption config;

    @Option(
            names = {"-b", "--bootstrap-server"},
            paramLabel = "HOST:PORT",
            description = "The Kafka brokers (default: those of the configuration, or "
                    + KafkaSettings.DEFAULT_BOOTSTRAP_SERVERS + ").")
    private String bootstrapServer;

    /** @throws FaultsException if the configuration is invalid */
    WeirConfig read() throws FaultsException {
        WeirConfig read = config.read();
        return bootstrapServer == null ? read : read.withKafka("bootstrap.servers", bootstrapServer);
    }
}
