package dev.weir.client.release;

import dev.weir.client.WeirClient;
import dev.weir.client.kafka.KafkaClients;
import dev.weir.policy.RequestRules;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;

/** The settings of a {@link ReleaseWorker}, which are read when the worker starts. Not thread-safe. */
public final class WorkerBuilder {

    private static final int SESSION_MS = 10_000;
    private static final Duration DECISION_TIMEOUT = Duration.ofSeconds(30);

    /** Rules without bounds, since an enforcer has accepted the requests before. */
    private static final RequestRules ANY =
            new RequestRules(Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE);

    /** The longest pause after a denial, as a multiple of the longest other pause. */
    private static final int MAX_BACK_OFFS_AFTER_DENIAL = 10;

    private final Map<?, ?> kafka;
    private final ReleaseTask.Handler handler;
    private String prefix = "weir.";
    private int threads = 4;
    private int attempts = 5;
    private Duration backOff = Duration.ofSeconds(1);
    private Duration maxBackOff = Duration.ofMinutes(1);
    private int ahead = 10_000;
    private Duration finishWithin = Duration.ofSeconds(20);
    private ReleaseTask.GivenUp givenUp;
    private LateReleases late = LateReleases.PACE;

    WorkerBuilder(Map<?, ?> kafka, ReleaseTask.Handler handler) {
        this.kafka = kafka;
        this.handler = handler;
    }

    /**
     * Sets the prefix of the topic names. It must be the enforcers' {@code topics.prefix}. The default is {@code weir.}
     * with the dot.
     *
     * @param value the prefix, with its trailing dot
     * @return this builder
     */
    public WorkerBuilder prefix(String value) {
        prefix = value;
        return this;
    }

    /**
     * Sets how many releases are handled at the same time. The default is 4.
     *
     * @param value the number of threads, at least 1
     * @return this builder
     * @throws IllegalArgumentException if the value is below 1
     */
    public WorkerBuilder threads(int value) {
        require(value >= 1, "threads must be at least 1", value);
        threads = value;
        return this;
    }

    /**
     * Sets how many attempts a release has in all, if its queue has no {@code max-in-flight}. With 1, no release is
     * retried, and the worker needs access to the topics of requests and decisions only for queues with
     * {@code max-in-flight}. The default is 5.
     *
     * @param value the number of attempts, at least 1
     * @return this builder
     * @throws IllegalArgumentException if the value is below 1
     */
    public WorkerBuilder attempts(int value) {
        require(value >= 1, "attempts must be at least 1", value);
        attempts = value;
        return this;
    }

    /**
     * Sets the pause between a failed attempt and the request for the next one, if its queue has no
     * {@code max-in-flight}, and the pause after a {@code COMPLETE} without a decision. The pause doubles with each attempt, up
     * to {@code most}. After a denial it is at least the decision's {@code retryAfterMs}, but not longer than ten times
     * {@code most}: like a slow handler, a pause delays commits, and the worker stops after {@link #ahead} further
     * releases. The time in the queue is added to the pause. The defaults are 1 s and 1 min.
     *
     * @param first the pause after the first attempt; not negative
     * @param most the longest pause, after denials a tenth of it
     * @return this builder
     * @throws IllegalArgumentException if {@code first} is negative or longer than {@code most}
     */
    public WorkerBuilder backOff(Duration first, Duration most) {
        require(!first.isNegative() && first.compareTo(most) <= 0, "backOff must be 0 to " + most, first);
        backOff = first;
        maxBackOff = most;
        return this;
    }

    /**
     * Sets how many releases are handed out beyond the oldest one in progress, and how many completed releases are
     * remembered to skip duplicates. The default is 10,000.
     *
     * @param value the number of releases, at least 1
     * @return this builder
     * @throws IllegalArgumentException if the value is below 1
     */
    public WorkerBuilder ahead(int value) {
        require(value >= 1, "ahead must be at least 1", value);
        ahead = value;
        return this;
    }

    /**
     * Sets how long the worker waits for releases in progress when it is closed or loses partitions to another worker.
     * It does not wait for attempts of queues with {@code max-in-flight} when it loses partitions: it completes them all
     * the same. The default is 20 s.
     *
     * @param value the longest wait; not negative
     * @return this builder
     * @throws IllegalArgumentException if the value is negative
     */
    public WorkerBuilder finishWithin(Duration value) {
        require(!value.isNegative(), "finishWithin must not be negative", value);
        finishWithin = value;
        return this;
    }

    /**
     * Sets what happens to a release whose last attempt failed, if its queue has no {@code max-in-flight}. By default the worker writes it to the topic of
     * dead letters.
     *
     * @param value receives these releases
     * @return this builder
     */
    public WorkerBuilder givenUp(ReleaseTask.GivenUp value) {
        givenUp = value;
        return this;
    }

    /**
     * Sets when releases are handled that are late, if their queue has no {@code max-in-flight}. The default is
     * {@link LateReleases#PACE}.
     *
     * @param value at their queue's pace, or at once
     * @return this builder
     */
    public WorkerBuilder late(LateReleases value) {
        late = value;
        return this;
    }

    /**
     * Starts a worker, which joins the consumer group and runs until it is closed. Does not wait for brokers and does
     * not fail if they are away; {@link ReleaseWorker#failure} returns the reason.
     *
     * @return a running worker, to be closed by the caller
     * @throws KafkaException if a property is invalid
     * @throws dev.weir.wire.RegistryException if the properties name a schema registry and are invalid, or no registry
     *     client is on the class path
     */
    public ReleaseWorker start() {
        return ReleaseWorker.start(this, this::consumer);
    }

    ReleaseTask.Handler handler() {
        return handler;
    }

    int threads() {
        return threads;
    }

    int attempts() {
        return attempts;
    }

    int ahead() {
        return ahead;
    }

    Duration finishWithin() {
        return finishWithin;
    }

    Optional<ReleaseTask.GivenUp> givenUp() {
        return Optional.ofNullable(givenUp);
    }

    /** Returns the pause after a number of attempts. */
    Duration backOff(int attempt) {
        Duration wait = backOff;
        for (int i = 1; i < attempt && wait.compareTo(maxBackOff) < 0; i++) {
            wait = wait.multipliedBy(2);
        }
        return wait.compareTo(maxBackOff) < 0 ? wait : maxBackOff;
    }

    /**
     * Returns the pause after a number of attempts, of which the last one was denied: the back-off or, if longer,
     * {@code retryAfter} up to its bound. An earlier attempt would be denied again.
     */
    Duration backOff(int attempt, Duration retryAfter) {
        boolean isTooLong = retryAfter.dividedBy(MAX_BACK_OFFS_AFTER_DENIAL).compareTo(maxBackOff) >= 0;
        Duration bounded = isTooLong ? maxBackOff.multipliedBy(MAX_BACK_OFFS_AFTER_DENIAL) : retryAfter;
        Duration wait = backOff(attempt);
        return wait.compareTo(bounded) < 0 ? bounded : wait;
    }

    ReleaseConsumer consumer() {
        ReleaseConsumer consumer = new ReleaseConsumer(
                withSession(KafkaClients.settings(kafka, KafkaClients.CONSUMER)), prefix + "releases", late);
        consumer.failure().ifPresent(failure -> {
            consumer.close();
            throw failure; // the worker reports it and tries again
        });
        return consumer;
    }

    /**
     * Adds a session of 10 s, so that the partitions of a dead worker soon have another one; not if the user has set the
     * times of sessions, or the brokers do with the protocol {@code consumer}.
     */
    static Map<String, Object> withSession(Map<String, Object> kafka) {
        Object protocol = kafka.get(ConsumerConfig.GROUP_PROTOCOL_CONFIG);
        boolean isSetByBrokers = protocol != null && protocol.toString().equalsIgnoreCase("consumer");
        if (!isSetByBrokers && !kafka.containsKey(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG)) {
            kafka.putIfAbsent(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, SESSION_MS);
        }
        return kafka;
    }

    /**
     * Returns the client that acknowledges attempts or requests next ones. It reads committed decisions only, because the
     * release is committed once its next attempt is queued.
     */
    WeirClient client() {
        return WeirClient.builder(kafka)
                .prefix(prefix)
                .timeout(DECISION_TIMEOUT)
                .maxInFlight(Integer.MAX_VALUE)
                .rules(ANY)
                .committed(true)
                .noCircuit()
                .start();
    }

    DeadLetterWriter deadLetters() {
        Map<String, Object> settings = KafkaClients.settings(kafka, KafkaClients.PRODUCER);
        settings.putIfAbsent(ProducerConfig.ACKS_CONFIG, "all");
        settings.putIfAbsent(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, DeadLetterWriter.MAX_BYTES);
        return new DeadLetterWriter(settings, prefix + "dead-letters");
    }

    private static void require(boolean holds, String rule, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ", is " + value);
        }
    }
}
