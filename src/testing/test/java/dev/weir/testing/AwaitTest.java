package dev.weir.testing;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Test;

class AwaitTest {

    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofMillis(200);

    private final AtomicInteger calls = new AtomicInteger();

    @Test
    void it_asks_on_the_callers_thread_until_the_condition_holds() {
        Set<Thread> threads = new HashSet<>();
        await("the third time", LONG, () -> {
            threads.add(Thread.currentThread());
            return calls.incrementAndGet() == 3;
        });
        assertThat(threads).containsOnly(Thread.currentThread());
        assertThat(calls).hasValue(3);
    }

    @Test
    void it_returns_the_first_value() {
        assertThat(awaitValue("a value", LONG, () -> calls.incrementAndGet() < 3 ? null : calls.get()))
                .isEqualTo(3);
    }

    @Test
    void what_takes_too_long_is_named_as_it_is_then() {
        assertThatThrownBy(() -> await(() -> "after " + (calls.get() > 1), SHORT, () -> calls.incrementAndGet() < 0))
                .isInstanceOf(ConditionTimeoutException.class)
                .hasMessage("not within 200 ms: after true");
        assertThatThrownBy(() -> awaitValue("a value", SHORT, () -> null)).hasMessage("not within 200 ms: a value");
    }

    @Test
    void an_exception_ends_the_wait() {
        assertThatThrownBy(() -> await("never", LONG, () -> {
                    throw new IOException("closed");
                }))
                .isInstanceOf(IOException.class)
                .hasMessage("closed");
    }
}
