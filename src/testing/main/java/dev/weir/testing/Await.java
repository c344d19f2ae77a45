package dev.weir.testing;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Waits for conditions in tests. A condition is evaluated at once and then every 20 ms, on the calling thread, since
 * Kafka's consumers belong to one thread. An exception that it throws ends the wait.
 */
public final class Await {

    private static final Duration POLL_INTERVAL = Duration.ofMillis(20);

    private Await() {}

    /**
     * Waits until a condition holds.
     *
     * @param what the description of the condition, for the message of the failure
     * @throws ConditionTimeoutException if the condition does not hold within {@code atMost}
     */
    public static void await(String what, Duration atMost, Callable<Boolean> condition) {
        await(() -> what, atMost, condition);
    }

    /**
     * Waits like {@link #await(String, Duration, Callable)}.
     *
     * @param what returns the description when the wait has failed, so that it can include the state at that time
     */
    public static void await(Supplier<String> what, Duration atMost, Callable<Boolean> condition) {
        try {
            atMost(atMost).until(condition);
        } catch (ConditionTimeoutException e) {
            throw timeout(what.get(), atMost, e);
        }
    }

    /**
     * Waits like {@link #await(String, Duration, Callable)} for a condition that takes much processor time to evaluate
     * and holds only after seconds.
     *
     * @param interval the time between two evaluations
     */
    public static void await(String what, Duration atMost, Duration interval, Callable<Boolean> condition) {
        try {
            atMost(atMost).pollInterval(interval).until(condition);
        } catch (ConditionTimeoutException e) {
            throw timeout(what, atMost, e);
        }
    }

    /** Waits until there is a value, and returns it. Fails like {@link #await(String, Duration, Callable)}. */
    public static <T> T awaitValue(String what, Duration atMost, Callable<T> value) {
        try {
            return atMost(atMost).until(value, Objects::nonNull);
        } catch (ConditionTimeoutException e) {
            throw timeout(what, atMost, e);
        }
    }

    private static ConditionFactory atMost(Duration atMost) {
        return Awaitility.await()
                .pollInSameThread()
                .dontCatchUncaughtExceptions() // some tests let threads fail
                .pollDelay(Duration.ZERO)
                .pollInterval(POLL_INTERVAL)
                .atMost(atMost);
    }

    private static ConditionTimeoutException timeout(String what, Duration atMost, ConditionTimeoutException cause) {
        return new ConditionTimeoutException("not within " + atMost.toMillis() + " ms: " + what, cause);
    }
}
