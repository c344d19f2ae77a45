package dev.weir.pacing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.time.DueTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommitPaceTest {

    private static final long MS = 1_000_000;

    private final CommitPace pace = new CommitPace(5 * MS, 100 * MS);
    private long nowMs;

    /** Works for a time, is idle for another, and then commits. */
    private void cycle(long workMs, long idleMs, long commitMs) {
        pace.work(nowMs * MS);
        pace.idle(idleMs * MS);
        nowMs += workMs + idleMs;
        pace.start(nowMs * MS);
        nowMs += commitMs;
        pace.finish(nowMs * MS);
    }

    /** Returns the time from the end of the last commit to the next one, if there is work at once. */
    private long gapMs() {
        pace.work(nowMs * MS);
        return pace.dueNanos() / MS - nowMs;
    }

    @ParameterizedTest(name = "work {0}, idle {1}, commit {2}: next after {3}")
    @CsvSource({
        // commits take half of the time that the records leave
        "0, 60, 6, 6",
        "1, 1000, 6, 6",
        "33, 27, 6, 18",
        "24, 0, 6, 54",
        "54, 0, 6, 100",
        "95, 95, 10, 28",
        // the bounds
        "0, 60, 1, 5",
        "0, 60, 0, 5",
        "0, 60, 300, 100",
        "1000, 0, 6, 100",
        "1000, 0, 0, 5",
    })
    void the_gap_depends_on_the_cost_of_commits_and_on_the_load(long workMs, long idleMs, long commitMs, long gapMs) {
        cycle(workMs, idleMs, commitMs);
        assertThat(gapMs()).isEqualTo(gapMs);
    }

    @Test
    void under_saturation_the_gap_doubles_up_to_the_maximum() {
        cycle(6, 0, 6);
        for (long gapMs : new long[] {18, 42, 90, 100, 100}) {
            assertThat(gapMs()).isEqualTo(gapMs);
            cycle(gapMs, 0, 6);
        }
        cycle(0, 100, 6);
        assertThat(gapMs()).as("when the load ends").isEqualTo(6);
    }

    @Test
    void one_slow_commit_counts_for_a_quarter() {
        cycle(0, 50, 4);
        cycle(0, 50, 44);
        assertThat(gapMs()).isEqualTo(14);
        cycle(0, 50, 14);
        assertThat(gapMs()).isEqualTo(14);
        cycle(0, 50, 6);
        assertThat(gapMs()).isEqualTo(12);
    }

    @Test
    void after_an_idle_time_a_commit_is_due_soon_after_the_first_record() {
        cycle(10, 0, 6);
        nowMs += 3_600_000;
        pace.work(nowMs * MS);
        pace.work((nowMs + 4) * MS);
        assertThat(pace.dueNanos()).isEqualTo((nowMs + 5) * MS);
        assertThat(pace.request((nowMs + 5) * MS - 1)).isFalse();
        assertThat(pace.request((nowMs + 5) * MS)).isTrue();
    }

    @Test
    void nothing_is_due_without_work() {
        assertThat(pace.dueNanos()).isEqualTo(DueTime.NEVER);
        cycle(1, 1, 1);
        assertThat(pace.dueNanos()).isEqualTo(DueTime.NEVER);
        pace.hurry();
        assertThat(pace.dueNanos()).isEqualTo(DueTime.NEVER);
        pace.work(nowMs * MS);
        pace.forget();
        assertThat(pace.dueNanos()).isEqualTo(DueTime.NEVER);
    }

    @Test
    void a_request_that_has_no_effect_is_repeated_after_the_maximum() {
        pace.work(0);
        assertThat(pace.request(5 * MS)).isTrue();
        assertThat(pace.request(5 * MS)).isFalse();
        assertThat(pace.dueNanos()).isEqualTo(105 * MS);
        assertThat(pace.request(105 * MS)).isTrue();
    }

    @Test
    void what_others_wait_for_is_committed_in_half_of_the_time_also_under_load() {
        cycle(1000, 0, 8);
        assertThat(gapMs()).isEqualTo(100);
        pace.hurry();
        assertThat(gapMs()).isEqualTo(8);
        cycle(1000, 0, 8);
        assertThat(gapMs()).as("once").isEqualTo(100);
    }

    @Test
    void a_commit_that_failed_is_not_measured() {
        pace.work(0);
        pace.start(5 * MS);
        pace.work(70_000 * MS);
        assertThat(pace.dueNanos()).isEqualTo(70_005 * MS);
        pace.idle(70_000 * MS);
        pace.start(70_005 * MS);
        pace.start(70_010 * MS); // each task is flushed
        pace.finish(70_012 * MS);
        nowMs = 70_012;
        assertThat(gapMs()).isEqualTo(7);
    }
}
