package dev.weir.fuzz;

import static dev.weir.testing.Await.await;

import dev.weir.api.Caller;
import dev.weir.api.WeirService;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;

/** An instance with an embedded broker, as {@code weir run --dev} starts it. */
final class RunningService implements AutoCloseable {

    static final String TOKEN = "a-token-of-some-length";

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private final EmbeddedBroker broker = EmbeddedBroker.start();
    private final WeirConfig config;
    private final WeirService service;
    private final Enforcer enforcer;

    RunningService() throws IOException {
        Path directory = Files.createTempDirectory("weir-fuzz");
        config = WeirConfig.DEFAULTS
                .withKafka("bootstrap.servers", broker.bootstrapServers())
                .withStateDirectory(directory.resolve("weir-state"))
                .toBuilder()
                .service(WeirConfig.DEFAULTS
                        .service()
                        .withPort(0)
                        .withDecideToken(WeirConfig.Service.TokenRule.LOOPBACK))
                .build();
        broker.beforeClose(() -> TopologyFuzz.delete(directory));
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        service = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        enforcer = Enforcer.start(config, Optional.of(service.address()));
        enforcer.awaitRunning(PATIENCE);
        service.setHealth(enforcer::health);
        service.setMetrics(enforcer.metrics()::scrape);
        service.attachEnforcer(enforcer.policies(), enforcer.queries());
    }

    /** Returns a caller without the token. */
    Caller caller() throws IOException {
        return Caller.at(service.address(), null);
    }

    /** Deletes all policies and queues. */
    void deleteAll() throws FaultsException {
        new PolicyTopic(config)
                .apply(
                        PolicyFile.read("none", "{}"),
                        PolicyTopic.Options.DEFAULTS.withPrune(true),
                        System.currentTimeMillis());
        await("no policies in force", PATIENCE, () -> enforcer.policies()
                .applied()
                .isEmpty());
    }

    @Override
    public void close() {
        service.close();
        enforcer.close();
        broker.close();
    }
}
