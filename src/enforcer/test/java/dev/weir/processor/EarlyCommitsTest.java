package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EarlyCommitsTest {

    /** Each record requests a commit. A round trip takes twice as long as a commit. */
    @ParameterizedTest
    @CsvSource({"5, 20", "10, 20", "300, 600", "1000, 2000"})
    void they_take_at_most_half_of_the_time(long tookMs, long apartMs) {
        EarlyCommits early = new EarlyCommits();
        long nowMs = 0;
        long lastMs = Long.MIN_VALUE / 2;
        for (int commits = 0; commits < 20; nowMs++) {
            early.resumed(nowMs, 2 * tookMs);
            if (early.request(nowMs)) {
                assertThat(nowMs - lastMs)
                        .isGreaterThanOrEqualTo(commits == 0 ? 0 : apartMs)
                        .isLessThanOrEqualTo(commits == 0 ? Long.MAX_VALUE : apartMs + tookMs);
                lastMs = nowMs;
                early.started(nowMs);
                nowMs += tookMs;
                commits++;
            } else {
                assertThat(early.dueMs()).isGreaterThan(nowMs);
            }
        }
    }

    @Test
    void a_regular_commit_covers_what_was_requested_before_it() {
        EarlyCommits early = new EarlyCommits();
        early.started(0);
        early.resumed(5, 600);
        assertThat(early.request(6)).isFalse();
        assertThat(early.dueMs()).isEqualTo(20);
        early.started(15);
        assertThat(early.dueMs()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void the_first_request_after_an_idle_time_does_not_wait() {
        EarlyCommits early = new EarlyCommits();
        early.started(0);
        early.resumed(10_000, 600);
        assertThat(early.request(10_000)).isTrue();
        assertThat(early.dueMs()).isEqualTo(Long.MAX_VALUE);
    }
}
