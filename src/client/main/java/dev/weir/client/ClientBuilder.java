package dev.weir.client;

import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.KafkaClients;
import dev.weir.client.lease.LeaseSettings;
import dev.weir.client.pipeline.PipelineSettings;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.RequestRules;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigDef;

/**
 * The settings of a {@link WeirClient}. {@link #start} copies them, so later changes do not affect clients that were
 * started before, and one builder can start several clients. Not thread-safe.
 */
public final class ClientBuilder {

    /** The defaults of the enforcer's {@code requests} section. */
    static final RequestRules DEFAULT_RULES = new RequestRules(64 << 10, 64, 1_024, 1_000_000_000_000L);

    /** The shortest {@code request.timeout.ms} that the client sets by itself. */
    private static final int MIN_REQUEST_MS = 1_000;

    /** The shortest wait for a decision. */
    static final Duration MIN_TIMEOUT = Duration.ofMillis(1);

    private static final Duration MAX_TIMEOUT = Duration.ofDays(1);

    /** How long the producer keeps the metadata of a topic to which nothing is written. */
    private static final Duration METADATA_IDLE = Duration.ofDays(3_650);

    private final Map<Object, Object> kafka;
    private String prefix = "weir.";
    private String applicationId = "weir";
    private Duration timeout = Duration.ofSeconds(1);
    private Fallback fallback = Fallback.FAIL;
    private int maxInFlight = 10_000;
    private Duration maxWait = Duration.ZERO;
    private boolean committed;
    private CircuitSettings circuit = CircuitSettings.DEFAULT;
    private boolean fallbackOnOverload;
    private boolean leased;
    private LeaseTerms leases = LeaseTerms.DEFAULTS;
    private RequestRules rules = DEFAULT_RULES;
    private Executor executor;

    ClientBuilder(Map<?, ?> kafka) {
        this.kafka = new HashMap<>(kafka);
    }

    /**
     * Sets the prefix of the topic names. It must be the enforcers' {@code topics.prefix}. The default is {@code weir.}
     * with the dot.
     *
     * @param value the prefix, with its trailing dot
     * @return this builder
     */
    public ClientBuilder prefix(String value) {
        prefix = value;
        return this;
    }

    /**
     * Sets the {@code application-id} of the enforcers. Only a {@linkplain #leased leased} client needs it: it is the
     * last part of the names of the topics on which leases are requested. The default is {@code weir}.
     *
     * @param value the application id
     * @return this builder
     */
    public ClientBuilder applicationId(String value) {
        applicationId = value;
        return this;
    }

    /**
     * Sets how long a request waits for its decision, and for the connection to the brokers. The default is 1 s.
     *
     * <p>The producer drops a request that is not written within this time, or within 1 s if that is longer. If you set
     * {@code linger.ms} or {@code request.timeout.ms}, the limit is at least their sum, as Kafka requires; if you set
     * {@code delivery.timeout.ms}, that is the limit.
     *
     * @param value the time-out, 1 ms to 1 day
     * @return this builder
     * @throws IllegalArgumentException if the value is out of its range
     */
    public ClientBuilder timeout(Duration value) {
        require(
                value.compareTo(MIN_TIMEOUT) >= 0 && value.compareTo(MAX_TIMEOUT) <= 0,
                "timeout must be 1 ms to 1 day",
                value);
        timeout = value;
        return this;
    }

    /**
     * Sets what {@link WeirClient#decide} returns if there is no decision in time. The default is {@link Fallback#FAIL}.
     *
     * @param value the fallback
     * @return this builder
     */
    public ClientBuilder fallback(Fallback value) {
        fallback = value;
        return this;
    }

    /**
     * Sets how many requests can wait for their decisions at the same time. Further requests end with
     * {@link NoDecisionReason#TOO_MANY_WAITING}. The default is 10,000.
     *
     * @param value the number of requests, at least 1
     * @return this builder
     * @throws IllegalArgumentException if the value is below 1
     */
    public ClientBuilder maxInFlight(int value) {
        require(value >= 1, "maxInFlight must be at least 1", value);
        maxInFlight = value;
        return this;
    }

    /**
     * Sets how long the calling thread waits if {@link #maxInFlight} requests are waiting, before its request ends with
     * {@link NoDecisionReason#TOO_MANY_WAITING}. A request that needs a lease does not wait for this. The default is 0:
     * no wait.
     *
     * @param value the longest wait; not negative
     * @return this builder
     * @throws IllegalArgumentException if the value is negative
     */
    public ClientBuilder maxWait(Duration value) {
        require(!value.isNegative(), "maxWait must not be negative", value);
        maxWait = value;
        return this;
    }

    /**
     * Sets whether the client waits until decisions are committed. By default it does not. If it does, a decision takes
     * longer, under load by up to the enforcer's {@code commit.max} (100 ms). Use a {@link #timeout} of
     * at least four times that plus the round trip, such as 500 ms: requests that take more than half of the timeout count
     * as signs of overload.
     *
     * <p>Uncommitted decisions arrive earlier, since they do not wait for the enforcer's next commit. If an enforcer
     * crashes before the commit, it decides the requests again. The decisions are then the same unless a policy was
     * changed in between; those of queues can differ, because they depend on the time. Each request is charged once in
     * either case.
     *
     * @param value {@code true} to wait for the commit
     * @return this builder
     */
    public ClientBuilder committed(boolean value) {
        committed = value;
        return this;
    }

    /**
     * Sets when the client stops sending requests because recent ones got no decision. The default is
     * {@link CircuitSettings#DEFAULT}.
     *
     * @param value the settings of the circuit breaker
     * @return this builder
     */
    public ClientBuilder circuit(CircuitSettings value) {
        circuit = value;
        return this;
    }

    /**
     * Disables the circuit breaker: requests are sent however many of the recent ones got no decision, and wait for
     * leases however long their ledgers have been silent.
     *
     * @return this builder
     */
    public ClientBuilder noCircuit() {
        circuit = null;
        return this;
    }

    /**
     * Sets whether the fallback also decides the requests that are shed because there are too many
     * ({@link NoDecisionReason#isOverload}). By default it does not: {@link Fallback#FAIL_OPEN} would let a burst pass
     * unchecked, so it refuses these requests.
     *
     * @param value {@code true} to apply the fallback, {@code false} to refuse
     * @return this builder
     */
    public ClientBuilder fallbackOnOverload(boolean value) {
        fallbackOnOverload = value;
        return this;
    }

    /**
     * Sets whether the client leases quota and decides requests in this process. By default it does not.
     *
     * <p>A leased client decides {@code CONSUME} and {@code PEEK} requests to which at least one policy applies, if all
     * policies that apply have {@code lease: client}, none has {@code idempotency}, and none shapes. All other requests
     * go over the topic. The client needs additional permissions; see topology-docs/how-to/secure.md.
     *
     * @param value {@code true} to lease quota
     * @return this builder
     */
    public ClientBuilder leased(boolean value) {
        leased = value;
        return this;
    }

    /**
     * Sets the timing of leases. It must match the enforcers' {@code leases} section. The default is
     * {@link LeaseTerms#DEFAULTS}.
     *
     * @param value the timing
     * @return this builder
     */
    public ClientBuilder leases(LeaseTerms value) {
        leases = value;
        return this;
    }

    /**
     * Sets the bounds that a request is checked against before it is sent. They should match the enforcers'
     * {@code requests} section. By default, a payload has at most 64 KiB, there are at most 64 attributes with names
     * and values of up to 1,024 characters, and the cost is at most 10<sup>12</sup>.
     *
     * @param value the bounds
     * @return this builder
     */
    public ClientBuilder rules(RequestRules value) {
        rules = value;
        return this;
    }

    /**
     * Sets where futures are completed. Dependent actions without an executor of their own run there, so a blocking
     * action occupies one of its threads. The client does not shut it down. The default is a pool of the client's own
     * with one thread per processor.
     *
     * @param value the executor
     * @return this builder
     */
    public ClientBuilder executor(Executor value) {
        executor = value;
        return this;
    }

    /**
     * Starts a client. It connects to the brokers in the background. So this method does not wait for brokers, and does
     * not fail if they are away, if a topic does not exist yet, or if a permission is missing. {@link
     * WeirClient#awaitReady} waits, and {@link WeirClient#failure} returns the reason. Looking up the brokers' host
     * names can take up to 5 s, after which it continues in the background.
     *
     * @return a running client, to be closed by the caller
     * @throws KafkaException if a property is invalid
     * @throws dev.weir.wire.RegistryException if the properties name a schema registry and are invalid, or no registry
     *     client is on the class path
     */
    public WeirClient start() {
        return new WeirClient(copy()).connect();
    }

    private ClientBuilder copy() {
        ClientBuilder copy = new ClientBuilder(kafka);
        copy.prefix = prefix;
        copy.applicationId = applicationId;
        copy.timeout = timeout;
        copy.fallback = fallback;
        copy.maxInFlight = maxInFlight;
        copy.maxWait = maxWait;
        copy.committed = committed;
        copy.circuit = circuit;
        copy.fallbackOnOverload = fallbackOnOverload;
        copy.leased = leased;
        copy.leases = leases;
        copy.rules = rules;
        copy.executor = executor;
        return copy;
    }

    PipelineSettings pipelineSettings() {
        PipelineSettings.Kafka topics =
                new PipelineSettings.Kafka(prefix + "requests", replies(), producer(), consumer(), mayBlock());
        return new PipelineSettings(
                topics,
                leased ? Optional.of(leaseSettings()) : Optional.empty(),
                maxInFlight,
                maxWait,
                Optional.ofNullable(executor));
    }

    private String replies() {
        return prefix + "replies";
    }

    private LeaseSettings leaseSettings() {
        LeaseSettings.Topics topics = new LeaseSettings.Topics(
                prefix + "policies",
                prefix + "lease-requests." + applicationId,
                prefix + "lease-responses." + applicationId,
                prefix + "lease-usage",
                replies());
        return new LeaseSettings(topics, producer(), consumer(), leases, timeout, circuit != null);
    }

    Duration timeout() {
        return timeout;
    }

    boolean hasFallbackOnOverload() {
        return fallbackOnOverload;
    }

    Fallback fallback() {
        return fallback;
    }

    RequestRules rules() {
        return rules;
    }

    CircuitBreaker breaker() {
        CircuitBreaker breaker = (circuit == null ? CircuitSettings.DEFAULT : circuit).breaker();
        if (circuit == null) {
            breaker.transitionToDisabledState();
        }
        return breaker;
    }

    /**
     * Returns the settings of the producer. It drops a request that is not written by the time-out, since its decision
     * could no longer arrive in time. Kafka requires that {@code delivery.timeout.ms} is at least {@code linger.ms} and
     * {@code request.timeout.ms} together.
     *
     * @throws KafkaException if one of these properties is not a number
     */
    Map<String, Object> producer() {
        Map<String, Object> own = KafkaClients.settings(kafka, KafkaClients.PRODUCER);
        Map<String, Object> settings = new HashMap<>();
        int requestMs = Math.max(MIN_REQUEST_MS, (int) timeout.toMillis());
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 0); // the calling thread must not wait for brokers
        settings.put(ProducerConfig.METADATA_MAX_IDLE_CONFIG, METADATA_IDLE.toMillis());
        settings.put(ProducerConfig.LINGER_MS_CONFIG, 1);
        settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, requestMs);
        settings.putAll(own);
        long attemptMs = millis(settings, ProducerConfig.LINGER_MS_CONFIG, ConfigDef.Type.LONG)
                + millis(settings, ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, ConfigDef.Type.INT);
        int deliveryMs = (int) Math.min(Integer.MAX_VALUE, Math.max(requestMs, attemptMs));
        settings.putIfAbsent(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, deliveryMs);
        return settings;
    }

    /** Returns whether the producer may block the thread that sends a request. */
    private boolean mayBlock() {
        return millis(producer(), ProducerConfig.MAX_BLOCK_MS_CONFIG, ConfigDef.Type.LONG) > 0;
    }

    /** Returns a setting, at most {@link Integer#MAX_VALUE}. Like Kafka, it throws if the setting is not a number. */
    private static long millis(Map<String, Object> settings, String name, ConfigDef.Type type) {
        Number value = (Number) ConfigDef.parseType(name, settings.get(name), type);
        return value == null ? 0 : Math.min(Integer.MAX_VALUE, value.longValue());
    }

    Map<String, Object> consumer() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, committed ? "read_committed" : "read_uncommitted");
        settings.putAll(KafkaClients.settings(kafka, KafkaClients.CONSUMER));
        return settings;
    }

    private static void require(boolean holds, String rule, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ", is " + value);
        }
    }
}
