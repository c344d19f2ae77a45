package dev.weir.gateway;

import static dev.weir.testing.Await.await;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.TopicSetup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;

/**
 * A broker and an enforcer that all tests of a JVM share. They start when the first test needs them and are closed when
 * the JVM exits. Tests keep apart by their clients.
 */
final class SharedWeir {

    static final Duration PATIENCE = Duration.ofMinutes(5);

    private static final String POLICIES = """
            policies:
              - {id: three, match: {path: /three/**}, limits: [{algorithm: sliding-window-log, limit: 3, per: 1h}]}
              - {id: ten, match: {path: /ten/**}, idempotency: 1h, limits: [
                  {algorithm: sliding-window-log, limit: 10, per: 1h}]}
              - {id: leased, match: {path: /leased/**}, lease: client, max-wait: 10s, limits: [
                  {algorithm: sliding-window-log, limit: 100, per: 1h}]}
              - {id: banned, match: {path: /banned}, on-exceed: shadow-ban, limits: [
                  {algorithm: sliding-window-log, limit: 1, per: 1h}]}
              - {id: observed, match: {path: /observed}, on-exceed: observe, limits: [
                  {algorithm: sliding-window-log, limit: 1, per: 1h}]}
              - {id: unavailable, match: {path: /unavailable}, deny-status: 503, limits: [
                  {algorithm: sliding-window-log, limit: 0, per: 1h}]}
              - {id: throttled, match: {path: /throttled}, on-exceed: throttle, max-delay: 1h, limits: [
                  {algorithm: gcra, limit: 1, per: 2s, burst: 1}]}
              - {id: slow, match: {path: /slow}, on-exceed: throttle, max-delay: 1h, limits: [
                  {algorithm: gcra, limit: 1, per: 1m, burst: 1}]}
              - {id: queued, match: {path: /queued}, queue: queued}
            queues:
              - {id: queued, limit: 1, per: 1h}
            """;

    private static SharedWeir shared;

    private final WeirConfig config;

    private SharedWeir(WeirConfig config) {
        this.config = config;
    }

    static synchronized SharedWeir get() throws Exception {
        if (shared == null) {
            EmbeddedBroker broker = EmbeddedBroker.start();
            Path directory = Files.createTempDirectory("weir-gateway-test-");
            WeirConfig config = WeirConfig.builder()
                    .applicationId("gateway")
                    .topics("gateway.", 2)
                    .kafka(Map.of("bootstrap.servers", broker.bootstrapServers()))
                    .stateDirectory(directory)
                    .build();
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
            Enforcer enforcer = Enforcer.start(config);
            broker.beforeClose(enforcer);
            enforcer.awaitRunning(PATIENCE);
            shared = new SharedWeir(config);
        }
        return shared;
    }

    WeirConfig config() {
        return config;
    }

    /** Opens a gateway on any free port, and waits until it has reached the broker. */
    Gateway open(GatewayConfig gateway) {
        return open(gateway, 0);
    }

    /** Opens a gateway on a port, and waits until it has reached the broker. */
    Gateway open(GatewayConfig gateway, int port) {
        Gateway opened = Gateway.open(config, gateway.withHttpPort(port).withGrpcPort(0), Map.of());
        await("the gateway has reached the broker", PATIENCE, opened::isConnected);
        return opened;
    }
}
