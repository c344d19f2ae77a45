package dev.weir.runtime;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.streams.errors.MissingSourceTopicException;
import org.apache.kafka.streams.errors.ProcessorStateException;

/**
 * Decides which failed stream threads are replaced. A thread is replaced if its failure was caused by brokers and may
 * be temporary, such as too few replicas, an aborted transaction or a fenced member, but at most {@value #MOST} times
 * within {@link #WITHIN}. Failures that would occur again end the process, such as a bug, a wrong configuration or an
 * unusable store.
 */
final class ThreadFailures {

    static final int MOST = 5;
    static final Duration WITHIN = Duration.ofMinutes(10);

    private static final List<Class<? extends Throwable>> LASTING = List.of(
            Error.class,
            AuthenticationException.class,
            AuthorizationException.class,
            InvalidConfigurationException.class,
            InvalidTopicException.class,
            UnsupportedVersionException.class,
            RecordTooLargeException.class,
            UnknownTopicOrPartitionException.class,
            MissingSourceTopicException.class,
            ProcessorStateException.class);

    private final Deque<Long> replacedAtNanos = new ArrayDeque<>();

    /** Returns whether a thread that has failed now is replaced. If so, the replacement is counted. */
    synchronized boolean isReplaced(Throwable failure, long nowNanos) {
        if (!passes(failure)) {
            return false;
        }
        while (!replacedAtNanos.isEmpty() && nowNanos - replacedAtNanos.peek() >= WITHIN.toNanos()) {
            replacedAtNanos.remove();
        }
        if (replacedAtNanos.size() == MOST) {
            return false;
        }
        replacedAtNanos.add(nowNanos);
        return true;
    }

    /** Returns whether a failure may be temporary. */
    private static boolean passes(Throwable failure) {
        boolean passes = false;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (isLasting(cause)) {
                return false;
            }
            passes |= cause instanceof ApiException || isUnhandled(cause);
        }
        return passes;
    }

    /** Returns whether a broker has responded with an error that Kafka's clients do not expect. They give it no type. */
    private static boolean isUnhandled(Throwable cause) {
        return cause.getClass() == KafkaException.class && cause.getCause() == null;
    }

    private static boolean isLasting(Throwable cause) {
        return LASTING.stream().anyMatch(type -> type.isInstance(cause));
    }
}
