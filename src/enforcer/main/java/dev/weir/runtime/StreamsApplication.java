package dev.weir.runtime;

import dev.weir.fault.SafeText;
import dev.weir.kafka.UnreachableException;
import dev.weir.pacing.CommitPacing;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.takeover.Announcement;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
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
 * One of the two Kafka Streams applications of an enforcer. Failed threads are replaced if the failure may
 * be temporary.
 */
final class StreamsApplication {

    private static final Logger LOG = LoggerFactory.getLogger(StreamsApplication.class);

    private static final int MAX_REASON_LENGTH = 1000;

    /** The state of a thread that processes records. */
    private static final String RUNNING = "RUNNING";

    private final String id;
    private final String name;
    private final String stateDirectory;
    private final WakeableClients clients;
    private final KafkaStreams streams;
    private final ThreadFailures failures = new ThreadFailures();
    private volatile Throwable lastFailure;

    /**
     * @param purpose the purpose of the application, in one word, for messages
     * @param commits when its threads commit
     */
    StreamsApplication(String purpose, Topology topology, Properties settings, CommitPacing commits) {
        clients = new WakeableClients(commits);
        id = settings.getProperty(StreamsConfig.APPLICATION_ID_CONFIG);
        name = purpose + " (" + id + ")";
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

    /** Returns the {@code application.id}, which is also the name of the consumer group. */
    String id() {
        return id;
    }

    KafkaStreams streams() {
        return streams;
    }

    /**
     * Sets the listeners. Must be called before the application is started.
     *
     * @param up called whenever the application has changed to RUNNING
     * @param end called at least once when the application ends, with the failure if there is one
     */
    void watch(Runnable up, Consumer<Optional<Throwable>> end) {
        streams.setUncaughtExceptionHandler(failure -> {
            lastFailure = failure;
            if (failures.isReplaced(failure, System.nanoTime())) {
                LOG.warn("A thread of {} has failed and is replaced: {}", name, reason(failure));
                return StreamThreadExceptionResponse.REPLACE_THREAD;
            }
            end.accept(Optional.of(failed(failure)));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            LOG.info("{} is {}", name, now);
            if (now == KafkaStreams.State.RUNNING) {
                up.run();
            } else if (now == KafkaStreams.State.ERROR) { // the global stream thread is never replaced
                end.accept(Optional.of(failed(lastFailure)));
            } else if (now == KafkaStreams.State.NOT_RUNNING) {
                end.accept(Optional.empty());
            }
        });
    }

    /** @throws UnreachableException if existing state cannot be opened */
    void start() {
        try {
            streams.start();
        } catch (StreamsException e) {
            lastFailure = e;
            throw new UnreachableException(failed(e).getMessage(), e);
        }
    }

    /** Closes the application. Returns whether it has stopped within the timeout; if so, damaged state is deleted. */
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
            LOG.error("Cannot delete the damaged state of {}; delete {}: {}", name, stateDirectory, reason(e));
        }
    }

    /** Ends the polls in progress, which would otherwise wait for as long as the wall clock was set back. */
    void wake() {
        clients.wake();
    }

    /**
     * Returns whether all threads are running. The state of {@link KafkaStreams} alone is not sufficient: it is RUNNING
     * too while the only thread has died and is not replaced yet.
     */
    boolean isRunning() {
        Set<ThreadMetadata> threads = streams.metadataForLocalThreads();
        return streams.state() == KafkaStreams.State.RUNNING
                && !threads.isEmpty()
                && threads.stream().allMatch(thread -> thread.threadState().equals(RUNNING));
    }

    /**
     * Returns whether a thread has not polled for {@code limit} or longer. A healthy thread polls continuously, even if
     * there are no records.
     */
    boolean isStalled(Duration limit) {
        return clients.isStalled(limit);
    }

    List<Announcement.Member> members() {
        return clients.members();
    }

    /** Returns whether a member of it was removed from the group and has joined it again, a short time ago. */
    boolean hasJoinedAgain() {
        return clients.hasJoinedAgain();
    }

    List<String> transactionalIds() {
        return clients.transactionalIds();
    }

    /** Returns the lag of each partition that a thread reads, as of its last fetch. */
    Map<TopicPartition, Long> lags() {
        return clients.lags();
    }

    /**
     * Returns what is missing until the application decides, in words; empty if nothing is.
     *
     * @param limit how long a thread that has not polled is {@linkplain #isStalled stalled}
     */
    Optional<String> missing(Duration limit) {
        if (!isRunning()) {
            return Optional.of(
                    streams.state() == KafkaStreams.State.RUNNING ? name + " waits for a thread" : toString());
        }
        return isStalled(limit)
                ? Optional.of(
                        "a thread of " + name + " has not polled for " + DurationsAndSizes.duration(limit.toMillis()))
                : Optional.empty();
    }

    /** Returns the input partitions of the active tasks of this instance. */
    Set<TopicPartition> inputs() {
        return streams.metadataForLocalThreads().stream()
                .flatMap(thread -> thread.activeTasks().stream())
                .flatMap(task -> task.topicPartitions().stream())
                .collect(Collectors.toSet());
    }

    @Override
    public String toString() {
        return name + " is " + streams.state();
    }

    private IllegalStateException failed(Throwable failure) {
        String why = failure == null ? "it has ended unexpectedly" : reason(failure);
        String what = StateDirectoryFailures.advice(failure, stateDirectory)
                .map(advice -> advice + " (" + why + ")")
                .orElse(why);
        return new IllegalStateException(name + " failed: " + what, failure);
    }

    /**
     * Returns the messages of a failure and all of its causes in one line. The informative one can be in the middle of
     * the chain, and messages of Kafka Streams can contain a stack trace.
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
