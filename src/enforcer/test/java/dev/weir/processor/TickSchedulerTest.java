package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.processor.api.MockProcessorContext.CapturedPunctuator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TickSchedulerTest {

    private static final long NOW_MS = 1_000;

    @TempDir
    private Path directory;

    private MockProcessorContext<Object, Object> context;
    private Runnable action = () -> {};
    private final TickScheduler ticks = new TickScheduler(() -> action.run());

    @BeforeEach
    void open() {
        context = new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        ticks.open(context);
    }

    private List<CapturedPunctuator> pending() {
        return context.scheduledPunctuators().stream()
                .filter(punctuator -> !punctuator.cancelled())
                .toList();
    }

    private List<Long> pendingInMs() {
        return pending().stream()
                .map(punctuator -> punctuator.getInterval().toMillis())
                .toList();
    }

    private void firePending() {
        pending().forEach(punctuator -> punctuator.getPunctuator().punctuate(0));
    }

    @Test
    void the_earliest_requested_time_is_pending() {
        assertThat(pendingInMs()).isEmpty();
        ticks.request(NOW_MS + 100, NOW_MS);
        assertThat(pendingInMs()).containsExactly(100L);
        ticks.request(NOW_MS + 101, NOW_MS);
        ticks.request(NOW_MS + 100, NOW_MS + 50);
        assertThat(context.scheduledPunctuators())
                .as("a later or equal request changes nothing")
                .hasSize(1);
        ticks.request(NOW_MS + 80, NOW_MS + 50);
        assertThat(pendingInMs()).containsExactly(30L);
    }

    @Test
    void it_runs_no_sooner_than_the_minimum_time_after_the_request() {
        for (long atMs : List.of(Long.MIN_VALUE, 0L, NOW_MS, NOW_MS + 4)) {
            ticks.open(context);
            ticks.request(atMs, NOW_MS);
            assertThat(pendingInMs()).containsExactly(TickScheduler.LEAST_MS);
        }
        ticks.request(NOW_MS, NOW_MS + 3);
        assertThat(pendingInMs()).as("the pending run is earlier").containsExactly(TickScheduler.LEAST_MS);
    }

    @Test
    void it_runs_once_and_may_request_the_next_run() {
        int[] runs = {0};
        action = () -> {
            if (runs[0]++ == 0) {
                ticks.request(NOW_MS + 300, NOW_MS + 100);
            }
        };
        ticks.request(NOW_MS + 100, NOW_MS);
        firePending();
        assertThat(pendingInMs()).containsExactly(200L);
        firePending();
        assertThat(pendingInMs()).isEmpty();
        assertThat(runs[0]).isEqualTo(2);
    }

    @Test
    void a_task_that_opens_again_has_nothing_pending() {
        ticks.request(NOW_MS + 100, NOW_MS);
        ticks.open(context);
        assertThat(pendingInMs()).isEmpty();
        ticks.request(NOW_MS + 200, NOW_MS);
        assertThat(pendingInMs()).containsExactly(200L);
    }
}
