package dev.weir.gateway;

import dev.weir.console.ClusterOptions;
import dev.weir.console.LogOption;
import dev.weir.console.OutputException;
import dev.weir.console.ServerCommand;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

@Command(
        name = "gateway",
        mixinStandardHelpOptions = true,
        description = {
            "Runs a gateway until it is stopped (Ctrl-C, SIGTERM).",
            "Proxies such as nginx, Caddy, Traefik and Envoy ask it over HTTP or gRPC whether to pass a request on. It"
                    + " has no state, needs a running enforcer, and starts without brokers too."
        },
        footer = {
            "",
            "Examples:",
            "  weir gateway                                     for proxies on this machine",
            "  weir gateway -b kafka-1:9092 -c gateway.yaml     on a cluster"
        })
public final class GatewayCommand implements Callable<Integer>, ServerCommand {

    private static final Logger LOG = LoggerFactory.getLogger(GatewayCommand.class);

    /** Longer than a gateway waits for brokers. */
    private static final Duration START = Duration.ofMinutes(1);

    @Mixin
    private ClusterOptions cluster;

    @Mixin
    private GatewayOptions options;

    @Mixin
    private LogOption log;

    @Spec
    private CommandSpec spec;

    @Override
    public boolean logsJson() {
        return log.isJson();
    }

    @Override
    public Integer call() throws Exception {
        GatewayFile.Contents read = options.read(cluster.file());
        Gateway gateway = Gateway.open(cluster.withBrokers(read.weir()), read.gateway(), System.getenv());
        Runtime.getRuntime().addShutdownHook(new Thread(gateway::close, "stop"));
        var unused = gateway.awaitReady(START);
        print("weir gateway is ready: gRPC on port " + gateway.grpcPort() + ", HTTP on " + gateway.url());
        gateway.awaitClose();
        return 0;
    }

    /** Prints to standard output. The gateway also runs if that fails, for example because it is closed. */
    private void print(String line) {
        try {
            spec.commandLine().getOut().println(line);
        } catch (OutputException e) {
            LOG.warn(e.getMessage());
        }
    }
}
