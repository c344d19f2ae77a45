package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/**
 * Tests GCRA with 1 token a second and a burst of 5, in a table like that of throttled: all outputs of each request.
 */
class GcraTableTest {

    private static final String ROWS = """
            # now, cost, limited, remaining, reset, retry
                0,    6,    true,         5,     0,    -1
                0,    1,   false,         4,  1000,     0
                0,    1,   false,         3,  2000,     0
                0,    1,   false,         2,  3000,     0
                0,    1,   false,         1,  4000,     0
                0,    1,   false,         0,  5000,     0
                0,    1,    true,         0,  5000,  1000
             3000,    1,   false,         2,  3000,     0
             3100,    1,   false,         1,  3900,     0
             4000,    1,   false,         1,  4000,     0
             8000,    1,   false,         4,  1000,     0
             9500,    1,   false,         4,  1000,     0
             9500,    6,    true,         4,  1000,    -1
             9500,    2,   false,         2,  3000,     0
             9500,    2,   false,         0,  5000,     0
             9500,    3,    true,         0,  5000,  3000
            """;

    private record Answer(boolean limited, long remaining, long resetMs, long retryMs) {}

    @Test
    void every_row() {
        TrialAccount<Gcra.Arrival> trial = TrialAccount.open(new Gcra(Rate.of(1, 1_000), 5, false), 0);
        ROWS.lines().filter(row -> !row.startsWith("#")).forEach(row -> {
            String[] cells = row.strip().split("\\s*,\\s*", -1);
            long nowMs = Long.parseLong(cells[0]);
            long cost = Long.parseLong(cells[1]);
            boolean permitted = trial.request(cost, nowMs);
            LimitAccount<?> account = trial.account();
            boolean fits = trial.limit().fits(cost);
            long retryMs = permitted ? 0 : fits ? account.waitMs(cost, nowMs) : -1;
            assertThat(new Answer(!permitted, account.remaining(nowMs), account.resetAfterMs(nowMs), retryMs))
                    .as(row)
                    .isEqualTo(new Answer(
                            Boolean.parseBoolean(cells[2]),
                            Long.parseLong(cells[3]),
                            Long.parseLong(cells[4]),
                            Long.parseLong(cells[5])));
        });
    }
}
