package dev.weir.runtime;

import dev.weir.fault.SafeText;
import dev.weir.topics.UnreachableException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One of an enforcer's two Kafka Streams applications, which goes on without a thread that failed if that makes sense.
 */
final class StreamsApplication {

    private static final Logger LOG = LoggerFactory.getLogger(StreamsApplication.class);

    private static final int MAX_REASON_LENGTH = 1000;

    /** What a thread that works says of itself. */
    private static final String RUNNING = "RUNNING";

    private final String name;
    private final String stateDirectory;
    private final WakeableClients clients = new WakeableClients();
    private final KafkaStreams streams;
    private final ThreadFailures failures = new ThreadFailures();
    private volatile Throwable lastFailure;

    /** @param does what it is for, in one word */
    StreamsApplication(String does, Topology topology, Properties settings) {
        name = does + " (" + settings.get(StreamsConfig.APPLICATION_ID_CONFIG) + ")";
        stateDirectory = settings.getProperty(StreamsConfig.STATE_DIR_CONFIG);
        streams = create(topology, settings);
    }

    /** @throws UnreachableException if the state directory cannot be used */
    private KafkaStreams create(Topology topology, Properties settings) {
        try {
            return new KafkaStreams(topology, settings, clients, new MonotonicTime());
        } catch (StreamsException e) {
            if (reason(e).contains("state directory")) {
                throw new UnreachableException(
                        "cannot use the state directory " + stateDirectory + ": " + reason(e), e);
            }
            throw e;
        }
    }

    KafkaStreams streams() {
        return streams;
    }

    /**
     * Before it starts.
     *
     * @param up run whenever it has become able to work
     * @param end told once or more that it is over, and why if it failed
     */
    void watch(Runnable up, Consumer<Optional<Throwable>> end) {
        streams.setUncaughtExceptionHandler(failure -> {
            lastFailure = failure;
            if (failures.isReplaced(failure, System.nanoTime())) {
                LOG.warn("a thread of {} is replaced: {}", name, reason(failure));
                return StreamThreadExceptionResponse.REPLACE_THREAD;
            }
            end.accept(Optional.of(failed(failure)));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            LOG.info("{} is {}", name, now);
            if (now == KafkaStreams.State.RUNNING) {
                up.run();
            } else if (now == KafkaStreams.State.ERROR) { // the thread of the global store is never replaced
                end.accept(Optional.of(failed(lastFailure)));
            } else if (now == KafkaStreams.State.NOT_RUNNING) {
                end.accept(Optional.empty());
            }
        });
    }

    /** @throws UnreachableException if the state that is there cannot be opened */
    void start() {
        try {
            streams.start();
        } catch (StreamsException e) {
            lastFailure = e;
            throw new UnreachableException(failed(e).getMessage(), e);
        }
    }

    /** Whether it has stopped within the time. State that is damaged is deleted then. */
    boolean close(Duration within) {
        boolean stopped = streams.close(CloseOptions.timeout(within)
                .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        if (stopped && StateDirectoryFailures.isDamage(lastFailure)) {
            deleteState();
        }
        return stopped;
    }

    private void deleteState() {
        try {
            streams.cleanUp();
        } catch (RuntimeException e) {
            LOG.error("the state of {} cannot be deleted, so delete {}: {}", name, stateDirectory, reason(e));
        }
    }

    /**
     * Lets its threads go on that wait for records; without it they wait on for as long as the wall clock went back.
     */
    void wake() {
        clients.wake();
    }

    /**
     * Whether all of its threads work. Streams itself says so too while its only thread is dead and not yet replaced.
     */
    boolean isRunning() {
        Set<ThreadMetadata> threads = streams.metadataForLocalThreads();
        return streams.state() == KafkaStreams.State.RUNNING
                && !threads.isEmpty()
                && threads.stream().allMatch(thread -> thread.threadState().equals(RUNNING));
    }

    /**
     * Whether a thread has not asked for records for so long: one that works does so all the time, if there are none
     * too.
     */
    boolean isStalled(Duration forSo) {
        Set<String> consumers = streams.metadataForLocalThreads().stream()
                .map(ThreadMetadata::consumerClientId)
                .collect(Collectors.toSet());
        return streams.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("last-poll-seconds-ago"))
                .filter(metric -> consumers.contains(metric.metricName().tags().get("client-id")))
                .anyMatch(metric -> (double) metric.metricValue() >= forSo.toSeconds());
    }

    @Override
    public String toString() {
        return name + " is " + streams.state();
    }

    private IllegalStateException failed(Throwable failure) {
        String why = failure == null ? "it ended" : reason(failure);
        String what = StateDirectoryFailures.advice(failure, stateDirectory)
                .map(advice -> advice + " (" + why + ")")
                .orElse(why);
        return new IllegalStateException(name + " failed: " + what, failure);
    }

    /**
     * All that is said down to the cause, in one line: it may be in the middle, and Streams' own may hold a stack
     * trace.
     */
    private static String reason(Throwable failure) {
        Set<String> said = new LinkedHashSet<>();
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            said.add(cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage());
        }
        String why = String.join(": ", said).replaceAll("\\s*\\R\\s*", " ");
        return SafeText.of(why, MAX_REASON_LENGTH);
    }
}
