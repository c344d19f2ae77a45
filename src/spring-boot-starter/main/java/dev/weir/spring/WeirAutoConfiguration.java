package dev.weir.spring;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientBuilder;
import dev.weir.client.Fallback;
import dev.weir.client.Reservation;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.kafka.KafkaConnectionDetails;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.env.Environment;

/** Configures a {@link WeirClient} by the properties {@code weir.*}, unless there is one. */
@AutoConfiguration(afterName = "org.springframework.boot.autoconfigure.kafka.KafkaAutoConfiguration")
@ConditionalOnProperty(name = "weir.enabled", matchIfMissing = true)
@EnableConfigurationProperties(WeirProperties.class)
public class WeirAutoConfiguration {

    private static final String BOOTSTRAP = "bootstrap.servers";

    /** Longer than any time-out, so the client's own time-out applies. */
    private static final Duration TIMEOUT_OF_CLIENT = Duration.ofDays(1);

    /**
     * Starts the client.
     *
     * @param properties the properties
     * @param environment has the properties of Spring for Apache Kafka
     * @param connection the brokers, if something other than properties determines them
     * @param customizers change the settings
     * @return a running client, which the context closes
     */
    @Bean
    @ConditionalOnMissingBean
    public WeirClient weirClient(
            WeirProperties properties,
            Environment environment,
            ObjectProvider<KafkaConnectionDetails> connection,
            ObjectProvider<WeirClientCustomizer> customizers) {
        Map<String, Object> kafka = kafka(properties, Binder.get(environment), connection.getIfAvailable());
        ClientBuilder client = WeirClient.builder(kafka)
                .prefix(properties.prefix())
                .applicationId(properties.applicationId())
                .timeout(properties.timeout())
                .fallback(properties.fallback())
                .fallbackOnOverload(properties.fallbackOnOverload())
                .maxInFlight(properties.maxInFlight())
                .committed(properties.committed())
                .leased(properties.leased());
        WeirProperties.CircuitProperties circuit = properties.circuit();
        if (circuit.enabled()) {
            client.circuit(new CircuitSettings(
                    circuit.window(), circuit.failurePercent(), circuit.openFor(), circuit.trials()));
        } else {
            client.noCircuit();
        }
        customizers.orderedStream().forEach(each -> each.customize(client));
        try {
            return client.start();
        } catch (KafkaException e) {
            Throwable cause = NestedExceptionUtils.getMostSpecificCause(e);
            if (!(cause instanceof ConfigException)) {
                throw e;
            }
            boolean isOfBrokers = String.valueOf(cause.getMessage()).contains(BOOTSTRAP);
            throw new InvalidConfigurationPropertyValueException(
                    isOfBrokers ? "weir.bootstrap-servers" : "weir.kafka",
                    isOfBrokers ? kafka.get(BOOTSTRAP) : properties.kafka().keySet(),
                    "Kafka's clients cannot be created: " + cause.getMessage());
        }
    }

    /**
     * Returns a decider that calls the client.
     *
     * @param weir the client
     * @return the decider
     */
    @Bean
    @ConditionalOnMissingBean
    public WeirDecider weirDecider(WeirClient weir) {
        return new WeirDecider() {
            @Override
            public CompletableFuture<ClientDecision> decide(Request request, Fallback fallback) {
                return weir.decide(request, TIMEOUT_OF_CLIENT, fallback);
            }

            @Override
            public CompletableFuture<Reservation> reserve(Request request, Duration ttl, Fallback fallback) {
                return weir.reserve(request, ttl, fallback);
            }
        };
    }

    /** Returns the properties of Kafka's clients. */
    static Map<String, Object> kafka(WeirProperties properties, Binder spring, KafkaConnectionDetails connection) {
        Map<String, Object> kafka = new HashMap<>();
        kafka.putAll(spring.bind("spring.kafka.properties", Bindable.mapOf(String.class, String.class))
                .orElse(Map.of()));
        spring.bind("spring.kafka.security.protocol", String.class)
                .ifBound(protocol -> kafka.put("security.protocol", protocol));
        List<String> servers = connection == null
                ? spring.bind("spring.kafka.bootstrap-servers", Bindable.listOf(String.class))
                        .orElse(List.of())
                : connection.getBootstrapServers();
        if (!servers.isEmpty()) {
            kafka.put(BOOTSTRAP, String.join(",", servers));
        }
        kafka.putAll(properties.kafka());
        if (!properties.bootstrapServers().isEmpty()) {
            kafka.put(BOOTSTRAP, String.join(",", properties.bootstrapServers()));
        }
        if (!kafka.containsKey(BOOTSTRAP)) {
            throw new InvalidConfigurationPropertyValueException(
                    "weir.bootstrap-servers",
                    null,
                    "Set it, or spring.kafka.bootstrap-servers, to the addresses of Kafka brokers. To start the"
                            + " application without Weir, set weir.enabled to false.");
        }
        return kafka;
    }
}
