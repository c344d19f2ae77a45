package dev.weir.runtime;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
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
 * Which stream threads are replaced when they fail: those that failed by what brokers answered or did not answer, some
 * times within a while: too few replicas, a transaction or a member that they have given up. What would fail the same
 * way again ends the process: a bug, a wrong set-up, a store that cannot be used.
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

    /** Whether a thread that failed now is to be replaced; if so, it counts. */
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

    /** Whether it may be over by itself. */
    private static boolean passes(Throwable failure) {
        boolean passes = false;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (isLasting(cause)) {
                return false;
            }
            passes |= cause instanceof ApiException;
        }
        return passes;
    }

    private static boolean isLasting(Throwable cause) {
        return LASTING.stream().anyMatch(type -> type.isInstance(cause));
    }
}
