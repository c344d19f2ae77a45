package dev.weir.gateway;

import dev.weir.config.ConfigFile;
import dev.weir.console.InputException;
import dev.weir.console.UserFiles;
import dev.weir.fault.FaultsException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BiFunction;
import picocli.CommandLine.Option;

/** The options of commands that run a gateway. */
public final class GatewayOptions {

    @Option(
            names = "--http-port",
            paramLabel = "PORT",
            description = "The port of the gateway for HTTP; 0 selects a free port (default: that of the configuration,"
                    + " or " + GatewayConfig.DEFAULT_HTTP_PORT + ").")
    private Integer httpPort;

    @Option(
            names = "--grpc-port",
            paramLabel = "PORT",
            description = "The port of the gateway for gRPC; 0 selects a free port (default: that of the configuration,"
                    + " or " + GatewayConfig.DEFAULT_GRPC_PORT + ").")
    private Integer grpcPort;

    /**
     * Reads a configuration file, and applies the options.
     *
     * @throws FaultsException if the configuration is invalid
     * @throws InputException if an option is invalid, or the file cannot be read
     */
    public GatewayFile.Contents read(Optional<Path> file) throws FaultsException {
        GatewayFile.Contents read = file.isPresent()
                ? UserFiles.read(file.get(), GatewayFile::read)
                : new GatewayFile.Contents(ConfigFile.defaults(System.getenv()), GatewayConfig.DEFAULTS);
        GatewayConfig config = with("--http-port", httpPort, read.gateway(), GatewayConfig::withHttpPort);
        return new GatewayFile.Contents(
                read.weir(), with("--grpc-port", grpcPort, config, GatewayConfig::withGrpcPort));
    }

    /** Returns whether an option is given. */
    public boolean isGiven() {
        return httpPort != null || grpcPort != null;
    }

    private static GatewayConfig with(
            String option, Integer port, GatewayConfig config, BiFunction<GatewayConfig, Integer, GatewayConfig> set) {
        try {
            return port == null ? config : set.apply(config, port);
        } catch (IllegalArgumentException e) {
            throw new InputException(option + ": " + e.getMessage(), e);
        }
    }
}
