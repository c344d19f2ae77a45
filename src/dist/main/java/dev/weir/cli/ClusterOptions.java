package dev.weir.cli;

import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import dev.weir.topics.KafkaSettings;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Which cluster, and how it is reached. */
final class ClusterOptions {

    @Mixin
    private ConfigOption config;

    @Option(
            names = {"-b", "--bootstrap-server"},
            paramLabel = "HOST:PORT",
            description = "The Kafka brokers (default: the configuration's, else "
                    + KafkaSettings.DEFAULT_BOOTSTRAP_SERVERS + ").")
    private String bootstrapServer;

    WeirConfig read() throws FaultsException {
        WeirConfig read = config.read();
        return bootstrapServer == null ? read : read.withKafka("bootstrap.servers", bootstrapServer);
    }
}
