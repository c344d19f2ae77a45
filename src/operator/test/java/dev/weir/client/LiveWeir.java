package dev.weir.client;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;

/** Topics with rules on a broker, on which tests can start an enforcer. */
record LiveWeir(WeirConfig config) {

    static final Duration PATIENCE = Duration.ofMinutes(5);

    static LiveWeir create(EmbeddedBroker broker, Path directory, String prefix, String policies) throws Exception {
        return create(broker.bootstrapServers(), directory, prefix, policies);
    }

    static LiveWeir create(String bootstrapServers, Path directory, String prefix, String policies) throws Exception {
        WeirConfig config = WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(prefix, 2)
                .kafka(TestBroker.clientSettings(bootstrapServers))
                .stateDirectory(directory.resolve(prefix + "state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", policies), PolicyTopic.Options.DEFAULTS, 0);
        return new LiveWeir(config);
    }

    /** Returns a copy with other lease settings. */
    LiveWeir leases(WeirConfig.Leases leases) {
        return new LiveWeir(config.toBuilder().leases(leases).build());
    }

    /** Starts an enforcer and waits until it is running. */
    Enforcer enforce() {
        Enforcer enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
        return enforcer;
    }

    ClientBuilder client() {
        return WeirClient.builder(config.kafka())
                .prefix(config.topics().prefix())
                .applicationId(config.applicationId())
                .timeout(PATIENCE);
    }

    /** Returns the id of a consumer group, which no other test on the broker uses. */
    String groupId(String name) {
        return config.topics().prefix() + name;
    }

    /** Returns the properties of a consumer in the group of this {@linkplain #groupId name}. */
    Map<String, Object> group(String name) {
        Map<String, Object> kafka = new HashMap<>(config.kafka());
        kafka.put("group.id", groupId(name));
        return kafka;
    }

    /** Starts a client and waits until it is ready. */
    static WeirClient ready(ClientBuilder builder) throws InterruptedException {
        WeirClient client = builder.start();
        if (!client.awaitReady(PATIENCE)) {
            throw new AssertionError("the client is not ready: " + client.failure());
        }
        return client;
    }
}
