package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that changed limits, denials and settlements do not cause a client to be denied for much longer than a window
 * of its limit.
 */
class BoundsOnDebtTest {

    private static final long START_MS = 1_767_225_600_000L;
    private static final long HOUR_MS = 3_600_000;

    @TempDir
    Path directory;

    private TopologyHarness weir;

    @BeforeEach
    void open() {
        weir = new TopologyHarness(directory.resolve("weir-state"));
    }

    @AfterEach
    void close() {
        weir.close();
    }

    private void apply(String limit, long version) throws Exception {
        weir.apply("policies:\n  - {id: p, limits: [{" + limit + "}]}\n", version);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "token-bucket",
                "leaky-bucket",
                "gcra",
                "sliding-window-log",
                "sliding-window-counter",
                "fixed-window",
                "token-bucket, refill: interval"
            })
    void a_lowered_limit_permits_again_after_one_of_its_windows(String algorithm) throws Exception {
        apply("algorithm: " + algorithm + ", limit: 1000, per: 1h", 1);
        assertThat(weir.ask("c", 1_000, START_MS).remaining()).isZero();
        apply("algorithm: " + algorithm + ", limit: 10, per: 1h", 2);
        Decision denied = weir.ask("c", 1, START_MS + 60_000);
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        boolean isEstimate = algorithm.equals("sliding-window-counter"); // counts the previous window, too
        long longestMs = HOUR_MS + (isEstimate ? HOUR_MS / 10 : 0);
        assertThat(denied.retryAfterMs()).isLessThanOrEqualTo(longestMs);
        Decision then = weir.ask("c", 1, START_MS + 60_000 + denied.retryAfterMs());
        assertThat(then.outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"token-bucket", "leaky-bucket", "gcra", "token-bucket, refill: interval"})
    void counted_denials_deny_a_client_for_at_most_two_windows(String algorithm) throws Exception {
        apply("algorithm: " + algorithm + ", limit: 10, per: 1h, count-denied: true", 1);
        long longestMs = 0;
        for (int i = 0; i < 1_000; i++) {
            Decision decision = weir.ask("c", 10, START_MS + i);
            longestMs = Math.max(longestMs, decision.retryAfterMs());
        }
        assertThat(longestMs).isBetween(HOUR_MS, 2 * HOUR_MS);
        Decision then = weir.ask("c", 10, START_MS + 999 + 2 * HOUR_MS);
        assertThat(then.outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ", max-debt: 5"})
    void a_settlement_leaves_at_most_the_maximum_debt(String maxDebt) throws Exception {
        weir.apply("policies:\n  - {id: p, limits: [{algorithm: gcra, limit: 10, per: 1h}]" + maxDebt + "}\n", 1);
        Request settlement = Request.builder("s", "c")
                .kind(RequestKind.SETTLE)
                .cost(1_000_000_000_000L)
                .timestampMs(START_MS)
                .source(0, 0)
                .build();
        assertThat(weir.ask(settlement).reason()).isEqualTo(Reason.SETTLED);
        long tokens = 1L + (maxDebt.isEmpty() ? 10 : 5);
        assertThat(weir.ask("c", 1, START_MS).retryAfterMs()).isEqualTo(tokens * HOUR_MS / 10);
    }
}
