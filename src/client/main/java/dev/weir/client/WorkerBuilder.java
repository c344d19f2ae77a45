package dev.weir.client;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;

/** How a {@link ReleaseWorker} is to be. It is read when the worker starts. */
public final class WorkerBuilder {

    private static final Duration DECISION_TIMEOUT = Duration.ofSeconds(30);

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

    WorkerBuilder(Map<?, ?> kafka, ReleaseTask.Handler handler) {
        this.kafka = kafka;
        this.handler = handler;
    }

    /** What the topics' names begin with; {@code weir.} if it is not said. */
    public WorkerBuilder prefix(String value) {
        prefix = value;
        return this;
    }

    /** How many releases are handled at the same time; 4 if it is not said. */
    public WorkerBuilder threads(int value) {
        require(value >= 1, "threads", value);
        threads = value;
        return this;
    }

    /** How often a release is tried in all; 5 if it is not said. With 1, nothing goes through the queue again. */
    public WorkerBuilder attempts(int value) {
        require(value >= 1, "attempts", value);
        attempts = value;
        return this;
    }

    /**
     * How long after a failure the next attempt is asked for; twice as long each time. 1 s at first and 1 min at most
     * if it is not said. The time in the queue comes on top.
     */
    public WorkerBuilder backOff(Duration first, Duration most) {
        require(!first.isNegative() && first.compareTo(most) <= 0, "backOff", first);
        backOff = first;
        maxBackOff = most;
        return this;
    }

    /**
     * How many releases may be handed out behind one that is not done, and how many of those that are done are
     * remembered; 10,000 if it is not said.
     */
    public WorkerBuilder ahead(int value) {
        require(value >= 1, "ahead", value);
        ahead = value;
        return this;
    }

    /**
     * How long closing, or giving partitions to another worker, waits for what is handed out; 20 s if it is not said.
     */
    public WorkerBuilder finishWithin(Duration value) {
        require(!value.isNegative(), "finishWithin", value);
        finishWithin = value;
        return this;
    }

    /** Who is told of what is not tried any more; if it is not said, it goes to the dead letters. */
    public WorkerBuilder givenUp(ReleaseTask.GivenUp value) {
        givenUp = value;
        return this;
    }

    /**
     * @throws KafkaException if the properties are wrong, the topics are missing, or the brokers refuse or do not
     *     answer
     */
    public ReleaseWorker start() {
        return new ReleaseWorker(this);
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

    /** After so many attempts. */
    Duration backOff(int attempt) {
        Duration wait = backOff;
        for (int i = 1; i < attempt && wait.compareTo(maxBackOff) < 0; i++) {
            wait = wait.multipliedBy(2);
        }
        return wait.compareTo(maxBackOff) < 0 ? wait : maxBackOff;
    }

    /** As much, or as long as is asked for; but never longer than the most. */
    Duration backOff(int attempt, Duration atLeast) {
        Duration wait = backOff(attempt);
        Duration longer = wait.compareTo(atLeast) < 0 ? atLeast : wait;
        return longer.compareTo(maxBackOff) < 0 ? longer : maxBackOff;
    }

    ReleaseConsumer consumer() {
        return new ReleaseConsumer(ClientBuilder.settings(kafka, "consumer."), prefix + "releases");
    }

    /** Asks for next attempts: what it is told must hold, so it is committed. */
    WeirClient client() {
        return new ClientBuilder(kafka)
                .prefix(prefix)
                .timeout(DECISION_TIMEOUT)
                .maxInFlight(Integer.MAX_VALUE)
                .rules(ClientBuilder.ANY)
                .committed(true)
                .noCircuit()
                .start();
    }

    DeadLetterWriter deadLetters() {
        Map<String, Object> settings = ClientBuilder.settings(kafka, "producer.");
        settings.putIfAbsent(ProducerConfig.ACKS_CONFIG, "all");
        settings.putIfAbsent(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, DeadLetterWriter.MAX_BYTES);
        return new DeadLetterWriter(settings, prefix + "dead-letters");
    }

    private static void require(boolean holds, String name, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(name + " is out of its range: " + value);
        }
    }
}
