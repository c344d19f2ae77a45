package dev.weir.client.clock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.junit.jupiter.api.Test;

class ClockStepWakeupTest {

    private static final long STEP_MS = 600_000;

    private final AtomicLong offsetMs = new AtomicLong();
    private final AtomicInteger wakeups = new AtomicInteger();
    private final MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("earliest");
    private final ClockStepWakeup clock = new ClockStepWakeup(
            () -> {
                wakeups.incrementAndGet();
                consumer.wakeup();
            },
            () -> System.currentTimeMillis() + offsetMs.get());

    private void poll() {
        var unused = clock.call(() -> consumer.poll(Duration.ZERO));
    }

    @Test
    void a_clock_that_is_set_back_ends_a_call_which_is_repeated() {
        consumer.schedulePollTask(() -> {
            offsetMs.addAndGet(-STEP_MS);
            clock.check();
        });
        AtomicInteger polls = new AtomicInteger();
        consumer.schedulePollTask(polls::incrementAndGet);
        poll();
        assertThat(wakeups).hasValue(1);
        assertThat(polls).hasValue(1);
        clock.check();
        assertThat(wakeups).as("one for each step").hasValue(1);
    }

    @Test
    void a_clock_that_is_set_forward_ends_no_call() {
        offsetMs.addAndGet(STEP_MS);
        clock.check();
        assertThat(wakeups).hasValue(0);
    }

    @Test
    void a_requested_wakeup_during_a_call_of_a_listener_ends_the_outer_call_too() {
        AtomicInteger polls = new AtomicInteger();
        assertThatThrownBy(() -> clock.run(() -> {
                    if (polls.getAndIncrement() == 0) {
                        clock.wakeup();
                    }
                    poll();
                }))
                .isInstanceOf(WakeupException.class);
        assertThat(polls).hasValue(1);
        poll();
    }

    @Test
    void a_requested_wakeup_ends_a_call_even_if_the_clock_is_set_back_too() {
        clock.wakeup();
        offsetMs.addAndGet(-STEP_MS);
        clock.check();
        assertThatThrownBy(this::poll).isInstanceOf(WakeupException.class);
        clock.check();
        poll();
    }
}
