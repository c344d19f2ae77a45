package dev.weir.gateway;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.weir.gateway.envoy.ConnectionBounds;
import java.lang.management.ManagementFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The share of the process's file descriptors that connections of callers may have. Each connection needs one, and so
 * does a gateway itself, for files and brokers: without any left, it could not even answer health checks.
 */
final class DescriptorShare {

    private static final Logger LOG = LoggerFactory.getLogger(DescriptorShare.class);

    /** A quarter of the descriptors stays for the rest of the process, but no more than this. */
    private static final long MAX_RESERVED = 4_096;

    private static final int RESERVED_PART = 4;

    private DescriptorShare() {}

    /** Returns the configuration with the numbers of connections that fit into the limit of the process. */
    static GatewayConfig fit(GatewayConfig config) {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                ? fit(config, system.getMaxFileDescriptorCount())
                : config;
    }

    /** @param max how many descriptors the process can have */
    static GatewayConfig fit(GatewayConfig config, long max) {
        long share = max - Math.min(MAX_RESERVED, max / RESERVED_PART);
        ConnectionBounds grpc = config.envoy().connections();
        long wanted = (long) config.maxConnections() + grpc.maxConnections();
        if (wanted <= share) {
            return config;
        }
        int forHttp = (int) Math.max(GatewayConfig.MIN_CONNECTIONS, config.maxConnections() * share / wanted);
        int forGrpc = (int) Math.max(1, grpc.maxConnections() * share / wanted);
        LOG.warn(
                "The process can have {} file descriptors, too few for gateway.max-connections {} and"
                        + " gateway.envoy.max-connections {}: it accepts {} and {}; raise the limit (ulimit -n) or lower"
                        + " the settings",
                max,
                config.maxConnections(),
                grpc.maxConnections(),
                forHttp,
                forGrpc);
        return config.with(forHttp, grpc.withMaxConnections(forGrpc));
    }
}
