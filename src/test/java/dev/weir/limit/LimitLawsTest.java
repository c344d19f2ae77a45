package dev.weir.limit;

import java.util.List;
import org.junit.jupiter.api.Nested;

/** The laws of all limits, tried on each algorithm. */
class LimitLawsTest {

    @Nested
    class OfFixedWindow extends LimitLaws<FixedWindow.Window> {
        @Override
        List<Terms<FixedWindow.Window>> terms() {
            return Terms.fixedWindows(false);
        }
    }

    @Nested
    class OfFixedWindowThatCountsDenied extends LimitLaws<FixedWindow.Window> {
        @Override
        List<Terms<FixedWindow.Window>> terms() {
            return Terms.fixedWindows(true);
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
    class OfUncounted extends LimitLaws<Unlimited.Nothing> {
        @Override
        List<Terms<Unlimited.Nothing>> terms() {
            return Terms.uncounted();
        }
    }
}
