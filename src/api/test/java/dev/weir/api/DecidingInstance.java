package dev.weir.api;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.TopicSetup;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;

/** An instance that decides over HTTP without a token. */
public final class DecidingInstance implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private final WeirService service;
    private final Enforcer enforcer;
    private final Caller caller;

    /** Starts an instance and waits until it is ready. */
    public DecidingInstance(WeirConfig config, String policies) throws Exception {
        new PolicyTopic(config).apply(PolicyFile.read("test", policies), PolicyTopic.Options.DEFAULTS, 1);
        service = WeirService.open(config, Map.of());
        enforcer = Enforcer.start(config, Optional.of(service.address()));
        enforcer.awaitRunning(PATIENCE);
        service.attachEnforcer(enforcer.policies(), enforcer.queries());
        caller = Caller.of(service.port(), null);
    }

    /** Returns a configuration with such a service on any free port, and creates its topics. */
    public static WeirConfig config(WeirConfig base) {
        WeirConfig config = base.toBuilder()
                .service(WeirConfig.DEFAULTS
                        .service()
                        .withPort(0)
                        .withDecideToken(WeirConfig.Service.TokenRule.LOOPBACK))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        return config;
    }

    public Caller caller() {
        return caller;
    }

    public int port() {
        return service.port();
    }

    @Override
    public void close() {
        service.close();
        enforcer.close();
    }
}
