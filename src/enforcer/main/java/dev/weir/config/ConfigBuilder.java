package dev.weir.config;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Builds a {@link WeirConfig}; what is not set stays as it is in the configuration that the builder starts from. */
public final class ConfigBuilder {

    private String applicationId;
    private int threads;
    private WeirConfig.Topics topics;
    private WeirConfig.State state;
    private WeirConfig.Requests requests;
    private WeirConfig.Shaping shaping;
    private WeirConfig.Leases leases;
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
        leases = from.leases();
        service = from.service();
        registry = from.registry();
        kafka = from.kafka();
    }

    public ConfigBuilder applicationId(String value) {
        applicationId = value;
        return this;
    }

    public ConfigBuilder threads(int value) {
        threads = value;
        return this;
    }

    public ConfigBuilder topics(WeirConfig.Topics value) {
        topics = value;
        return this;
    }

    /** Sets the topics, with the cluster's default replication factor. */
    public ConfigBuilder topics(String prefix, int partitions) {
        return topics(new WeirConfig.Topics(prefix, partitions, Optional.empty()));
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

    public ConfigBuilder leases(WeirConfig.Leases value) {
        leases = value;
        return this;
    }

    public ConfigBuilder service(WeirConfig.Service value) {
        service = value;
        return this;
    }

    /** Sets the properties of the schema registry, without {@code apicurio.registry.}; none if there is no registry. */
    public ConfigBuilder registry(Map<String, String> value) {
        registry = value;
        return this;
    }

    /** Replaces all properties of Kafka's clients. */
    public ConfigBuilder kafka(Map<String, String> value) {
        kafka = value;
        return this;
    }

    /** Adds a property of Kafka's clients, or replaces its value. */
    public ConfigBuilder kafka(String key, String value) {
        Map<String, String> changed = new TreeMap<>(kafka);
        changed.put(key, value);
        return kafka(changed);
    }

    /** @throws IllegalArgumentException if a value is not permitted */
    public WeirConfig build() {
        return new WeirConfig(
                applicationId, threads, topics, state, requests, shaping, leases, service, registry, kafka);
    }
}
