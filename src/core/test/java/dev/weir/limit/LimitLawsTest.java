package dev.weir.limit;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Nested;

/** The laws of all limits, tried on each algorithm. */
class LimitLawsTest {

    @Nested
    class OfFixedWindow extends LimitLaws<AlignedWindow.Window> {
        @Override
        List<Terms<AlignedWindow.Window>> terms() {
            return Terms.fixedWindows(false);
        }
    }

    @Nested
    class OfFixedWindowThatCountsDenied extends LimitLaws<AlignedWindow.Window> {
        @Override
        List<Terms<AlignedWindow.Window>> terms() {
            return Terms.fixedWindows(true);
        }
    }

    @Nested
    class OfCalendarWindow extends LimitLaws<AlignedWindow.Window> {
        @Override
        List<Terms<AlignedWindow.Window>> terms() {
            return Terms.calendarWindows(false);
        }

        @Override
        long repeatsAfterMs(Terms<AlignedWindow.Window> terms) {
            boolean sameOffset =
                    ((CalendarWindow) terms.limit()).zone().getRules().isFixedOffset();
            return sameOffset ? Duration.ofDays(146_097).toMillis() : Long.MAX_VALUE; // 400 years, in weeks too
        }
    }

    @Nested
    class OfCalendarWindowThatCountsDenied extends OfCalendarWindow {
        @Override
        List<Terms<AlignedWindow.Window>> terms() {
            return Terms.calendarWindows(true);
        }
    }

    @Nested
    class OfSlidingWindowLog extends LimitLaws<SlidingWindowLog.Log> {
        @Override
        List<Terms<SlidingWindowLog.Log>> terms() {
            return Terms.logs(false);
        }
    }

    @Nested
    class OfSlidingWindowLogThatCountsDenied extends LimitLaws<SlidingWindowLog.Log> {
        @Override
        List<Terms<SlidingWindowLog.Log>> terms() {
            return Terms.logs(true);
        }

        @Override
        boolean knowsItsDebt() {
            return false;
        }
    }

    @Nested
    class OfSlidingWindowCounter extends LimitLaws<SlidingWindowCounter.Windows> {
        @Override
        List<Terms<SlidingWindowCounter.Windows>> terms() {
            return Terms.counters(false, false);
        }

        @Override
        boolean givesBackWhole() {
            return false;
        }
    }

    @Nested
    class OfStrictSlidingWindowCounter extends LimitLaws<SlidingWindowCounter.Windows> {
        @Override
        List<Terms<SlidingWindowCounter.Windows>> terms() {
            return Terms.counters(true, false);
        }

        @Override
        boolean givesBackWhole() {
            return false;
        }
    }

    @Nested
    class OfSlidingWindowCounterThatCountsDenied extends LimitLaws<SlidingWindowCounter.Windows> {
        @Override
        List<Terms<SlidingWindowCounter.Windows>> terms() {
            return Terms.counters(false, true);
        }

        @Override
        boolean givesBackWhole() {
            return false;
        }
    }

    @Nested
    class OfTokenBucket extends LimitLaws<Meter.Level> {
        @Override
        List<Terms<Meter.Level>> terms() {
            return Terms.tokenBuckets(false);
        }
    }

    @Nested
    class OfTokenBucketThatCountsDenied extends LimitLaws<Meter.Level> {
        @Override
        List<Terms<Meter.Level>> terms() {
            return Terms.tokenBuckets(true);
        }
    }

    @Nested
    class OfLeakyBucket extends LimitLaws<Meter.Level> {
        @Override
        List<Terms<Meter.Level>> terms() {
            return Terms.leakyBuckets(false);
        }
    }

    @Nested
    class OfGcra extends LimitLaws<Gcra.Arrival> {
        @Override
        List<Terms<Gcra.Arrival>> terms() {
            return Terms.gcras(false);
        }
    }

    @Nested
    class OfGcraThatCountsDenied extends LimitLaws<Gcra.Arrival> {
        @Override
        List<Terms<Gcra.Arrival>> terms() {
            return Terms.gcras(true);
        }
    }

    @Nested
    class OfIntervalBucket extends LimitLaws<IntervalBucket.Steps> {
        @Override
        List<Terms<IntervalBucket.Steps>> terms() {
            return Terms.intervalBuckets(false);
        }
    }

    @Nested
    class OfIntervalBucketThatCountsDenied extends LimitLaws<IntervalBucket.Steps> {
        @Override
        List<Terms<IntervalBucket.Steps>> terms() {
            return Terms.intervalBuckets(true);
        }
    }

    @Nested
    class OfUncounted extends LimitLaws<Unlimited.NoState> {
        @Override
        List<Terms<Unlimited.NoState>> terms() {
            return Terms.uncounted();
        }
    }
}
