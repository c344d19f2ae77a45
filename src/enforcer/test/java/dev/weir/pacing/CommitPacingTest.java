package dev.weir.pacing;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the processors and clients of a thread do, without Kafka's threads and clients. */
class CommitPacingTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration LONG = Duration.ofHours(1);
    private static final Duration SHORT = Duration.ofMillis(20);

    @TempDir
    private Path directory;

    private final CommitPacing pacing = new CommitPacing(WeirConfig.DEFAULTS.commits());
    private final ThreadPace pace = pacing.ofThread();
    private final List<String> seen = new ArrayList<>();
    private MockProcessorContext<String, String> context;
    private Processor<String, String, String, String> processor;

    /** Keeps what it reads, asks for a commit if it reads "now", and has a timer. */
    private final class Reader implements Processor<String, String, String, String>, CacheOwner {
        private ProcessorContext<String, String> ofTask;

        @Override
        public void init(ProcessorContext<String, String> opened) {
            ofTask = opened;
            var unused = ofTask.schedule(LONG, PunctuationType.WALL_CLOCK_TIME, atMs -> seen.add("timer"));
        }

        @Override
        public void process(Record<String, String> record) {
            seen.add(record.value());
            if (record.value().equals("now")) {
                ofTask.commit();
            }
        }

        @Override
        public void shrinkCaches() {
            seen.add("shrunk");
        }
    }

    @BeforeEach
    void open() {
        context = new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        processor = pacing.<String, String, String, String>paced(Reader::new).get();
        processor.init(context);
    }

    private void poll() {
        Duration wait = pace.startPoll(LONG);
        assertThat(wait).isLessThanOrEqualTo(LONG);
        pace.endPoll(false);
    }

    private void commit() {
        pace.startCommit();
        pace.endCommit();
        context.resetCommit();
    }

    private void read(String value) {
        processor.process(new Record<>("k", value, 0));
    }

    /** Runs the timer that was scheduled last. */
    private void punctuate() {
        List<MockProcessorContext.CapturedPunctuator> timers = context.scheduledPunctuators();
        timers.get(timers.size() - 1).getPunctuator().punctuate(0);
    }

    private void awaitRequest() {
        await("a commit is requested", PATIENCE, () -> {
            poll();
            return context.committed();
        });
    }

    @Test
    void a_record_is_committed_without_another_one() {
        read("a");
        assertThat(pace.startPoll(LONG))
                .isLessThanOrEqualTo(WeirConfig.DEFAULTS.commits().min());
        awaitRequest();
        commit();
        assertThat(pace.startPoll(LONG)).as("nothing is uncommitted").isGreaterThan(SHORT);
        assertThat(context.committed()).isFalse();
    }

    @Test
    void a_timer_is_committed_too() {
        punctuate();
        assertThat(seen).contains("timer");
        awaitRequest();
    }

    @Test
    void a_poll_ends_when_a_timer_is_due() {
        ProcessorContext<String, String> ofTask = new PacedContext<>(context, pace);
        Cancellable timer = ofTask.schedule(SHORT, PunctuationType.WALL_CLOCK_TIME, atMs -> seen.add("short"));
        assertThat(pace.startPoll(LONG)).isLessThanOrEqualTo(SHORT);
        await("the timer is due", PATIENCE, () -> pace.startPoll(LONG).isZero());
        punctuate();
        commit();
        assertThat(pace.startPoll(LONG)).as("it is due again").isLessThanOrEqualTo(SHORT);
        timer.cancel();
        assertThat(pace.startPoll(LONG)).isGreaterThan(SHORT);
        assertThat(seen).contains("short");
    }

    /** Its task is suspended, or the wall clock was set back. */
    @Test
    void a_timer_that_is_late_does_not_end_polls_at_once() {
        new PacedContext<>(context, pace).schedule(SHORT, PunctuationType.WALL_CLOCK_TIME, atMs -> {});
        await("the timer is due", PATIENCE, () -> pace.startPoll(LONG).isZero());
        assertThat(pace.startPoll(LONG)).isPositive().isLessThanOrEqualTo(SHORT);
    }

    @Test
    void timers_of_a_task_that_was_closed_end_no_poll() {
        new PacedContext<>(context, pace).schedule(SHORT, PunctuationType.WALL_CLOCK_TIME, atMs -> {});
        processor.close();
        assertThat(pace.startPoll(LONG)).isEqualTo(LONG);
    }

    @Test
    void a_processor_that_asks_for_a_commit_does_not_wait_for_a_poll_longer_than_the_minimum() {
        read("now");
        assertThat(pace.startPoll(LONG))
                .isLessThanOrEqualTo(WeirConfig.DEFAULTS.commits().min());
        awaitRequest();
    }

    @Test
    void many_records_between_two_polls_do_not_delay_a_commit() {
        await("a commit is requested", PATIENCE, () -> {
            for (int i = 0; i < 100; i++) {
                read("a");
            }
            return context.committed();
        });
    }

    @Test
    void a_task_that_was_closed_is_not_asked() {
        read("a");
        processor.close();
        assertThat(pace.startPoll(LONG)).isEqualTo(LONG);
    }

    @Test
    void caches_shrink_between_polls_until_the_processor_is_closed() {
        await("the caches shrink", PATIENCE, () -> {
            poll();
            return seen.contains("shrunk");
        });
        assertThat(context.committed()).isFalse();
    }
}
