package dev.weir.bench.gateway;

import dev.weir.cli.Main;
import dev.weir.config.WeirConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An enforcer and a gateway, each in its own process. The gateway decides in process or over the topics, by domain. */
final class WeirProcesses implements AutoCloseable {

    /** The domain, and the path, whose requests are decided by leases. */
    static final String LEASED = "leased";

    /** The domain, and the path, whose requests are decided by the enforcer. */
    static final String TOPICS = "topics";

    /** The domain, and the path, whose requests are decided by the enforcer or, after {@link #TIMEOUT}, allowed. */
    static final String OUTAGE = "outage";

    static final Duration TIMEOUT = Duration.ofMillis(500);

    static final String POLICIES = """
            policies:
              - id: leased
                match: {domain: leased}
                lease: client
                max-wait: 10s
                limits: [{algorithm: gcra, limit: 1_000_000_000, per: 1h}]
              - id: topics
                match: {domain: [topics, outage]}
                limits: [{algorithm: gcra, limit: 1_000_000_000, per: 1h}]
            """;

    private static final String GATEWAY = """
            gateway:
              http-port: 0
              grpc-port: 0
              envoy:
                timeout: 10s
                on-timeout: error
                rules: [{match: {domain: outage}, timeout: 500ms, on-timeout: allow}]
              routes:
                - id: leased
                  match: {path: /leased}
                  client: '{header.x-api-key}'
                  attributes: {domain: leased}
                  timeout: 10s
                  on-timeout: deny
                - id: topics
                  match: {path: /topics}
                  client: '{header.x-api-key}'
                  attributes: {domain: topics}
                  timeout: 10s
                  on-timeout: deny
                - id: outage
                  match: {path: /outage}
                  client: '{header.x-api-key}'
                  attributes: {domain: outage}
                  timeout: 500ms
                  on-timeout: allow
            """;

    private static final Pattern READY =
            Pattern.compile("weir gateway is ready: gRPC on port (\\d+), HTTP on http://127\\.0\\.0\\.1:(\\d+)");
    private static final Pattern INSTANCE = Pattern.compile(".* API on http://127.0.0.1:(\\d+)/v1.*");

    private final ServerProcess enforcer;
    private final ServerProcess gateway;
    private final Matcher ports;

    private WeirProcesses(ServerProcess enforcer, ServerProcess gateway, Matcher ports) {
        this.enforcer = enforcer;
        this.gateway = gateway;
        this.ports = ports;
    }

    /** Starts both, and waits until they are ready. */
    static WeirProcesses start(WeirConfig config) throws IOException {
        Path directory = Files.createDirectories(config.state().directory());
        String yaml = yaml(config, directory);
        Path file = Files.writeString(directory.resolve("weir.yaml"), yaml);
        Path gatewayFile = Files.writeString(directory.resolve("gateway.yaml"), yaml + GATEWAY);
        ServerProcess enforcer = new ServerProcess(Main.class, "run", "-c", file.toString());
        try {
            ServerProcess gateway = new ServerProcess(Main.class, "gateway", "-c", gatewayFile.toString());
            try {
                enforcer.awaitLine(INSTANCE);
                return new WeirProcesses(enforcer, gateway, gateway.awaitLine(READY));
            } catch (IOException | RuntimeException e) {
                gateway.close();
                throw e;
            }
        } catch (IOException | RuntimeException e) {
            enforcer.close();
            throw e;
        }
    }

    private static String yaml(WeirConfig config, Path directory) {
        return """
                application-id: %s
                topics: {prefix: %s, partitions: %d}
                state: {directory: '%s'}
                service: {port: 0}
                kafka: {bootstrap.servers: '%s'}
                """.formatted(
                        config.applicationId(),
                        config.topics().prefix(),
                        config.topics().partitions(),
                        directory.resolve("instance"),
                        config.kafka().get("bootstrap.servers"));
    }

    /** Returns the ports of the gateway: gRPC, HTTP. */
    Matcher ports() {
        return ports;
    }

    /** Suspends the enforcer. It is not resumed. */
    void pauseEnforcer() throws IOException, InterruptedException {
        enforcer.pause();
    }

    @Override
    public void close() {
        gateway.close();
        enforcer.close();
    }
}
