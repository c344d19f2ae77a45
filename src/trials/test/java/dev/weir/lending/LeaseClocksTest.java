package dev.weir.lending;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.LeaseTerms;
import dev.weir.lease.LentLimits;
import dev.weir.lending.Lending.Arrivals;
import dev.weir.lending.Lending.Clocks;
import dev.weir.lending.Lending.Mishaps;
import dev.weir.lending.Lending.Scene;
import dev.weir.limit.Limit;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests every algorithm with windows from 1 s to 1 d and wrong clocks. A stream task and a client that request twice
 * the limit together get as much as with correct clocks, and each of them gets its share.
 */
@Tag("slow")
class LeaseClocksTest {

    private static final long SECOND = 1_000;
    private static final long HOUR = 3_600 * SECOND;
    private static final long[] SKEWS_MS = {-HOUR, -30 * SECOND, -2 * SECOND, -250, 250, 2 * SECOND, 30 * SECOND, HOUR};
    private static final long DELAY_MS = 40;
    private static final long MOST_DRIFT_MS = 51; // 1 % of a term, rounded up
    private static final int SEEDS = 2;

    /** The least that each holder gets, as a fraction of an even share. */
    private static final double LEAST_SHARE = 0.7;

    /** A disturbance besides the skew. */
    private enum Event {
        NOTHING(0, 0, 0),
        STEP_FORWARD(HOUR, 0, 0),
        STEP_BACK(-HOUR, 0, 0),
        FAST_AND_SLOW(0, 0.01, 0),
        LEDGER_MOVES(0, 0, 2 * SECOND);

        private final long stepMs;
        private final double drift;
        private final long moveMs;

        Event(long stepMs, double drift, long moveMs) {
            this.stepMs = stepMs;
            this.drift = drift;
            this.moveMs = moveMs;
        }
    }

    /**
     * A limit and its demand.
     *
     * @param perSecond requests a second by each of the two holders
     */
    record Row(Limit<?> limit, double perSecond, long forMs) {

        /** Returns a row whose demand is twice the limit, over some windows. */
        static Row twice(Limit<?> limit, long tokens, long perMs, long forMs) {
            return new Row(limit, (double) tokens * SECOND / perMs, forMs);
        }

        /** Returns a row whose limit is used up within some terms. */
        static Row usedUp(Limit<?> limit) {
            return new Row(limit, 10, 30 * SECOND);
        }
    }

    static Stream<Row> rows() {
        return Stream.of(
                        LentLimits.of(20, SECOND).map(limit -> Row.twice(limit, 20, SECOND, 15 * SECOND)),
                        LentLimits.of(100, 10 * SECOND).map(limit -> Row.twice(limit, 100, 10 * SECOND, 40 * SECOND)),
                        LentLimits.of(300, 60 * SECOND).map(limit -> Row.twice(limit, 300, 60 * SECOND, 90 * SECOND)),
                        LentLimits.of(400, HOUR).map(Row::usedUp),
                        LentLimits.of(400, 24 * HOUR).map(Row::usedUp))
                .flatMap(rows -> rows);
    }

    private static Lending run(Row row, long skewMs, Event event, double drift, long seed) {
        Scene scene = new Scene(
                List.of(List.of(row.limit)),
                LeaseTerms.DEFAULTS.forWindow(row.limit.windowMs(0)),
                new Arrivals(new double[] {row.perSecond, row.perSecond}, 1, row.forMs),
                DELAY_MS,
                0,
                100,
                Mishaps.NONE);
        Clocks task = new Clocks(true, skewMs, skewMs == 0 ? 0 : event.stepMs, drift);
        Clocks client = new Clocks(false, -skewMs, skewMs == 0 ? 0 : event.stepMs, -drift);
        Lending lending = new Lending(scene, seed, List.of(task, client));
        return (event.moveMs == 0 ? lending : lending.withMove(event.moveMs)).run();
    }

    @ParameterizedTest
    @MethodSource("rows")
    void wrong_clocks_neither_cost_nor_add_quota(Row row) {
        double leastPart = row.limit.windowMs(0) <= SECOND ? 0.9 : 0.95;
        for (Event event : Event.values()) {
            double[] right = new double[SEEDS];
            Arrays.setAll(right, seed -> run(row, 0, event, 0, seed).share());
            for (int i = 0; i < SKEWS_MS.length; i++) {
                int seed = i % SEEDS;
                Lending lending = run(row, SKEWS_MS[i], event, event.drift, seed);
                String what = "%s, skew %d ms, seed %d of %s".formatted(event, SKEWS_MS[i], seed, row);
                assertThat(lending.broken()).as(what).isNull();
                assertThat(lending.mostBehindMs).as(what).isLessThanOrEqualTo(MOST_DRIFT_MS);
                assertThat(lending.mostAheadMs).as(what).isLessThanOrEqualTo(DELAY_MS + MOST_DRIFT_MS);
                assertThat(lending.share() / right[seed]).as(what).isGreaterThanOrEqualTo(leastPart);
                assertThat(lending.leastShare()).as(what).isGreaterThanOrEqualTo(LEAST_SHARE);
            }
        }
    }
}
