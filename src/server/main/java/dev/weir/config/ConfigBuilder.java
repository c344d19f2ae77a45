package dev.weir.config;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A builder of {@link WeirConfig}. Settings that are not changed keep the values of the initial configuration. */
public final class ConfigBuilder {

    private String applicationId;
    private int threads;
    private WeirConfig.Topics topics;
    private WeirConfig.State state;
    private WeirConfig.Requests requests;
    private WeirConfig.Shaping shaping;
    private WeirConfig.Commits commits;
    private WeirConfig.Leases leases;
    private WeirConfig.Takeover takeover;
    private WeirConfig.Service service;
    private Map<String, String> registry;
    private Map<String, String> kafka;

    ConfigBuilder(WeirConfig from) {
        applicationId = from.applicationId();
        threads = from.threads();
        topics = from.topics();
        state = from.state();
        requests = from.requests();
        shaping = from.shaping();
        commits = from.commits();
        leases = from.leases();
        takeover = from.takeover();
        service = from.service();
        registry = from.registry();
        kafka = from.kafka();
    }

    /** Sets the application id: 1 to 100 letters, digits and {@code . _ -}. */
    public ConfigBuilder applicationId(String value) {
        applicationId = value;
        return this;
    }

    /** Sets the application id and a prefix of the topics, which keep installations on the same brokers apart. */
    public ConfigBuilder named(String name) {
        return applicationId(name).topics(name + ".", topics.partitions());
    }

    /** Sets the number of stream threads of the deciding application. */
    public ConfigBuilder threads(int value) {
        threads = value;
        return this;
    }

    public ConfigBuilder topics(WeirConfig.Topics value) {
        topics = value;
        return this;
    }

    /** Sets the topics, with as many partitions of the topic of replies and the cluster's default replication factor. */
    public ConfigBuilder topics(String prefix, int partitions) {
        return topics(new WeirConfig.Topics(
                prefix, partitions, partitions, Optional.empty(), WeirConfig.Topics.DEFAULTS.outputFormat()));
    }

    public ConfigBuilder state(WeirConfig.State value) {
        state = value;
        return this;
    }

    public ConfigBuilder stateDirectory(Path value) {
        return state(state.withDirectory(value));
    }

    public ConfigBuilder requests(WeirConfig.Requests value) {
        requests = value;
        return this;
    }

    public ConfigBuilder shaping(WeirConfig.Shaping value) {
        shaping = value;
        return this;
    }

    public ConfigBuilder commits(WeirConfig.Commits value) {
        commits = value;
        return this;
    }

    public ConfigBuilder leases(WeirConfig.Leases value) {
        leases = value;
        return this;
    }

    public ConfigBuilder takeover(WeirConfig.Takeover value) {
        takeover = value;
        return this;
    }

    public ConfigBuilder service(WeirConfig.Service value) {
        service = value;
        return this;
    }

    /** Sets the registry's properties without the prefix {@code apicurio.registry.}; empty if there is no registry. */
    public ConfigBuilder registry(Map<String, String> value) {
        registry = value;
        return this;
    }

    /** Replaces all properties of Kafka's clients and Kafka Streams. */
    public ConfigBuilder kafka(Map<String, String> value) {
        kafka = value;
        return this;
    }

    /** Sets a property of Kafka's clients or Kafka Streams. */
    public ConfigBuilder kafka(String key, String value) {
        Map<String, String> changed = new TreeMap<>(kafka);
        changed.put(key, value);
        return kafka(changed);
    }

    /**
     * Returns the configuration.
     *
     * @throws IllegalArgumentException if a value is not permitted
     */
    public WeirConfig build() {
        return new WeirConfig(
                applicationId,
                threads,
                topics,
                state,
                requests,
                shaping,
                commits,
                leases,
                takeover,
                service,
                registry,
                kafka);
    }
}
