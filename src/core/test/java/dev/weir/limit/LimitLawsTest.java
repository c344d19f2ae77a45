package dev.weir.limit;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Checks the laws of limits for each algorithm. */
@Tag("slow")
class LimitLawsTest {

    @Nested
    class OfFixedWindow extends LimitLaws<AlignedWindow.Window> {
        @Override
        List<LimitCase<AlignedWindow.Window>> terms() {
            return LimitCase.fixedWindows(false);
        }
    }

    @Nested
    class OfFixedWindowThatCountsDenied extends LimitLaws<AlignedWindow.Window> {
        @Override
        List<LimitCase<AlignedWindow.Window>> terms() {
            return LimitCase.fixedWindows(true);
        }
    }

    @Nested
    class OfCalendarWindow extends LimitLaws<AlignedWindow.Window> {
        @Override
        List<LimitCase<AlignedWindow.Window>> terms() {
            return LimitCase.calendarWindows(false);
        }

        @Override
        long repeatsAfterMs(LimitCase<AlignedWindow.Window> terms) {
            boolean sameOffset =
                    ((CalendarWindow) terms.limit()).zone().getRules().isFixedOffset();
            return sameOffset ? Duration.ofDays(146_097).toMillis() : Long.MAX_VALUE; // 400 years, in whole weeks
        }
    }

    @Nested
    class OfCalendarWindowThatCountsDenied extends OfCalendarWindow {
        @Override
        List<LimitCase<AlignedWindow.Window>> terms() {
            return LimitCase.calendarWindows(true);
        }
    }

    @Nested
    class OfSlidingWindowLog extends LimitLaws<SlidingWindowLog.Log> {
        @Override
        List<LimitCase<SlidingWindowLog.Log>> terms() {
            return LimitCase.logs(false);
        }
    }

    @Nested
    class OfSlidingWindowLogThatCountsDenied extends LimitLaws<SlidingWindowLog.Log> {
        @Override
        List<LimitCase<SlidingWindowLog.Log>> terms() {
            return LimitCase.logs(true);
        }

        @Override
        boolean knowsItsDebt() {
            return false;
        }
    }

    @Nested
    class OfSlidingWindowCounter extends LimitLaws<SlidingWindowCounter.Windows> {
        @Override
        List<LimitCase<SlidingWindowCounter.Windows>> terms() {
            return LimitCase.counters(false, false);
        }

        @Override
        boolean givesBackWhole() {
            return false;
        }
    }

    @Nested
    class OfStrictSlidingWindowCounter extends LimitLaws<SlidingWindowCounter.Windows> {
        @Override
        List<LimitCase<SlidingWindowCounter.Windows>> terms() {
            return LimitCase.counters(true, false);
        }

        @Override
        boolean givesBackWhole() {
            return false;
        }
    }

    @Nested
    class OfSlidingWindowCounterThatCountsDenied extends LimitLaws<SlidingWindowCounter.Windows> {
        @Override
        List<LimitCase<SlidingWindowCounter.Windows>> terms() {
            return LimitCase.counters(false, true);
        }

        @Override
        boolean givesBackWhole() {
            return false;
        }
    }

    @Nested
    class OfTokenBucket extends LimitLaws<ContinuousBucket.Level> {
        @Override
        List<LimitCase<ContinuousBucket.Level>> terms() {
            return LimitCase.tokenBuckets(false);
        }
    }

    @Nested
    class OfTokenBucketThatCountsDenied extends LimitLaws<ContinuousBucket.Level> {
        @Override
        List<LimitCase<ContinuousBucket.Level>> terms() {
            return LimitCase.tokenBuckets(true);
        }
    }

    @Nested
    class OfLeakyBucket extends LimitLaws<ContinuousBucket.Level> {
        @Override
        List<LimitCase<ContinuousBucket.Level>> terms() {
            return LimitCase.leakyBuckets(false);
        }
    }

    @Nested
    class OfGcra extends LimitLaws<Gcra.Arrival> {
        @Override
        List<LimitCase<Gcra.Arrival>> terms() {
            return LimitCase.gcras(false);
        }
    }

    @Nested
    class OfGcraThatCountsDenied extends LimitLaws<Gcra.Arrival> {
        @Override
        List<LimitCase<Gcra.Arrival>> terms() {
            return LimitCase.gcras(true);
        }
    }

    @Nested
    class OfIntervalBucket extends LimitLaws<IntervalBucket.Steps> {
        @Override
        List<LimitCase<IntervalBucket.Steps>> terms() {
            return LimitCase.intervalBuckets(false);
        }
    }

    @Nested
    class OfIntervalBucketThatCountsDenied extends LimitLaws<IntervalBucket.Steps> {
        @Override
        List<LimitCase<IntervalBucket.Steps>> terms() {
            return LimitCase.intervalBuckets(true);
        }
    }

    @Nested
    class OfUncounted extends LimitLaws<UncountedLimit.NoState> {
        @Override
        List<LimitCase<UncountedLimit.NoState>> terms() {
            return LimitCase.uncounted();
        }
    }
}
