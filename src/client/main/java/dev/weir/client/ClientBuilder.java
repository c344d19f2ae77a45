package dev.weir.client;

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

/** How a {@link WeirClient} is to be. It is read when the client starts; later changes are another client's. */
public final class ClientBuilder {

    /** What an enforcer takes unless its {@code requests} section says otherwise. */
    static final RequestRules DEFAULT_RULES = new RequestRules(64 << 10, 64, 1_024, 1_000_000_000_000L);

    /** For what an enforcer has taken before. */
    static final RequestRules ANY =
            new RequestRules(Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE);

    private static final String PRODUCER = "producer.";
    private static final String CONSUMER = "consumer.";

    /** Brokers have less time only if they say so. */
    private static final int MIN_REQUEST_MS = 1_000;

    private final Map<Object, Object> kafka;
    private String prefix = "weir.";
    private String applicationId = "weir";
    private Duration timeout = Duration.ofSeconds(1);
    private Fallback fallback = Fallback.FAIL;
    private int maxInFlight = 10_000;
    private Duration maxWait = Duration.ZERO;
    private boolean committed;
    private CircuitSettings circuit = CircuitSettings.DEFAULT;
    private boolean leased;
    private LeaseTerms leases = LeaseTerms.DEFAULTS;
    private RequestRules rules = DEFAULT_RULES;
    private Executor executor;

    ClientBuilder(Map<?, ?> kafka) {
        this.kafka = new HashMap<>(kafka);
    }

    /** What the topics' names begin with, as {@code topics.prefix} of the enforcer; {@code weir.} if it is not said. */
    public ClientBuilder prefix(String value) {
        prefix = value;
        return this;
    }

    /**
     * Sets the {@code application-id} of the enforcers, {@code weir} by default. Only a {@linkplain #leased leased}
     * client needs it: it is the end of the names of the topics on which leases are requested.
     */
    public ClientBuilder applicationId(String value) {
        applicationId = value;
        return this;
    }

    /** How long a request waits for its decision; 1 s if it is not said. */
    public ClientBuilder timeout(Duration value) {
        require(value.toMillis() >= 1, "timeout", value);
        timeout = value;
        return this;
    }

    /** What {@link WeirClient#check} answers where Weir does not; {@link Fallback#FAIL} if it is not said. */
    public ClientBuilder fallback(Fallback value) {
        fallback = value;
        return this;
    }

    /** How many requests wait for their decisions at most; 10,000 if it is not said. */
    public ClientBuilder maxInFlight(int value) {
        require(value >= 1, "maxInFlight", value);
        maxInFlight = value;
        return this;
    }

    /**
     * How long the caller's thread waits for one of them to end, before it is refused; not at all if it is not said.
     */
    public ClientBuilder maxWait(Duration value) {
        require(!value.isNegative(), "maxWait", value);
        maxWait = value;
        return this;
    }

    /**
     * Whether decisions count only once they are committed; not if it is not said. Uncommitted ones come some 70 ms
     * earlier. After a crash of an enforcer they are made anew, from the same requests and so with the same content,
     * unless a policy changed in between; what a queue said may differ, since it goes by the clock.
     */
    public ClientBuilder committed(boolean value) {
        committed = value;
        return this;
    }

    /** When to ask no more for a while; {@link CircuitSettings#DEFAULT} if it is not said. */
    public ClientBuilder circuit(CircuitSettings value) {
        circuit = value;
        return this;
    }

    /** Asks however often there was no answer. */
    public ClientBuilder noCircuit() {
        circuit = null;
        return this;
    }

    /**
     * Whether it decides in this process what it can, by slices of the quota that are lent to it: requests to which
     * only policies with {@code lease: client} apply, and none of them has {@code idempotency} or shapes. All others go
     * over the topic. Not, if it is not said.
     */
    public ClientBuilder leased(boolean value) {
        leased = value;
        return this;
    }

    /** The enforcer's {@code leases} section, if it is not the default. */
    public ClientBuilder leases(LeaseTerms value) {
        leases = value;
        return this;
    }

    /** What the enforcer's {@code requests} section allows, if it is not the default. */
    public ClientBuilder rules(RequestRules value) {
        rules = value;
        return this;
    }

    /** Where futures are completed, and so what hangs on them runs; a pool of the client's own if it is not said. */
    public ClientBuilder executor(Executor value) {
        executor = value;
        return this;
    }

    /**
     * Starts it: it is ready when this returns, and no answer of a request that is sent then is missed.
     *
     * @throws KafkaException if the topics are missing, or the brokers refuse or do not answer
     * @throws dev.weir.wire.RegistryException if the schema registry does not answer, where there is one
     */
    public WeirClient start() {
        return new WeirClient(copy());
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
        copy.leased = leased;
        copy.leases = leases;
        copy.rules = rules;
        copy.executor = executor;
        return copy;
    }

    String requests() {
        return prefix + "requests";
    }

    String decisions() {
        return prefix + "decisions";
    }

    String leaseUsage() {
        return prefix + "lease-usage";
    }

    String policies() {
        return prefix + "policies";
    }

    String leaseRequests() {
        return prefix + "lease-requests." + applicationId;
    }

    String leaseResponses() {
        return prefix + "lease-responses." + applicationId;
    }

    boolean leased() {
        return leased;
    }

    LeaseTerms leases() {
        return leases;
    }

    Duration timeout() {
        return timeout;
    }

    Fallback fallback() {
        return fallback;
    }

    int maxInFlight() {
        return maxInFlight;
    }

    Duration maxWait() {
        return maxWait;
    }

    RequestRules rules() {
        return rules;
    }

    Optional<Executor> executor() {
        return Optional.ofNullable(executor);
    }

    CircuitBreaker breaker() {
        CircuitBreaker breaker = (circuit == null ? CircuitSettings.DEFAULT : circuit).breaker();
        if (circuit == null) {
            breaker.transitionToDisabledState();
        }
        return breaker;
    }

    /** What is not written by the time-out is not worth writing. */
    Map<String, Object> producer() {
        Map<String, Object> own = settings(kafka, PRODUCER);
        Map<String, Object> settings = new HashMap<>();
        int requestMs = (int) Math.min(Integer.MAX_VALUE / 2, Math.max(MIN_REQUEST_MS, timeout.toMillis()));
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, timeout.toMillis());
        settings.put(ProducerConfig.LINGER_MS_CONFIG, 1);
        if (!own.containsKey(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG)
                && !own.containsKey(ProducerConfig.LINGER_MS_CONFIG)) {
            settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, requestMs);
            settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, requestMs + 1);
        }
        settings.putAll(own);
        return settings;
    }

    Map<String, Object> consumer() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, committed ? "read_committed" : "read_uncommitted");
        settings.putAll(settings(kafka, CONSUMER));
        return settings;
    }

    /** What all clients are given, and over it what this one is, without its prefix. */
    static Map<String, Object> settings(Map<?, ?> kafka, String own) {
        Map<String, Object> settings = new HashMap<>();
        Map<String, Object> over = new HashMap<>();
        kafka.forEach((name, value) -> {
            String key = String.valueOf(name);
            if (key.startsWith(own)) {
                over.put(key.substring(own.length()), value);
            } else if (!key.startsWith(PRODUCER) && !key.startsWith(CONSUMER)) {
                settings.put(key, value);
            }
        });
        settings.putAll(over);
        return settings;
    }

    private static void require(boolean holds, String name, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(name + " is out of its range: " + value);
        }
    }
}
