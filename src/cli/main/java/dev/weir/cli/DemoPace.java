package dev.weir.cli;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/**
 * How fast the demo sends its requests. Times are arguments, from {@link System#nanoTime}. Not thread-safe.
 */
// A fixed rate would be too low for a fast machine, or too high for one that is slow or busy, whose backlog would grow
// for as long as requests are sent. So there are three phases:
//
// 1. WARM_UP sends as fast as decisions arrive, with at most WINDOW requests in flight. The decisions of its last
//    seconds show the capacity of this machine at this time.
// 2. STEADY sends at half of the capacity, at most MAX_RATE. Its latencies are counted, from SETTLE_NANOS on. If
//    decisions are more than a second behind, the rate is not sustained after all: the phase waits until they have
//    caught up, and begins again at half of the rate, without the latencies so far. It does so MAX_LOWERED times, since
//    on a machine that stalls by itself no rate would do.
// 3. REST, if requests are left after STEADY_NANOS, sends them like WARM_UP: a slow machine would need minutes.
//
// Example: 6,000 decisions in the last two seconds of WARM_UP are a capacity of 3,000/s, so STEADY sends 1,500/s. If it
// has 1,501 requests in flight at some time, it sends nothing until 75 are left, and then 750/s.
final class DemoPace {

    /** The maximum number of requests in flight while the rate is not fixed. */
    static final int WINDOW = 1_000;

    static final int WARM_UP_REQUESTS = 9_000;
    static final int MIN_RATE = 20;

    /** Well below the capacity of two cores that do nothing else. */
    static final int MAX_RATE = 2_500;

    /** The minimum number of latencies that are worth a quantile. */
    private static final int MIN_COUNTED = 100;

    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(12);
    private static final int MIN_WARM_UP_DECISIONS = 2_000;
    private static final long CAPACITY_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long SETTLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1_500);
    private static final long STEADY_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** The latencies of the last requests do not count, since they may be decided in the next phase. */
    private static final long UNCOUNTED_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int ROUND = 10;
    private static final int MAX_LOWERED = 3;

    /** What part of a second's requests may be in flight when a lower rate begins. */
    private static final int CAUGHT_UP = 10;

    private final long startNanos;
    private final Deque<Sample> samples = new ArrayDeque<>();
    private Phase phase = Phase.WARM_UP;
    private int rate; // of STEADY, in requests a second
    private int lowered; // how often
    private boolean isCatchingUp;
    private long steadyNanos; // when STEADY began at this rate
    private long steadySent; // how many were sent before

    private enum Phase {
        WARM_UP,
        STEADY,
        REST
    }

    private record Sample(long atNanos, long decided) {}

    DemoPace(long startNanos) {
        this.startNanos = startNanos;
        samples.add(new Sample(startNanos, 0));
    }

    /**
     * Returns how many requests to send now.
     *
     * @param sent how many have been sent
     * @param decided how many of them are decided
     */
    int due(long nowNanos, long sent, long decided) {
        if (phase == Phase.WARM_UP) {
            sample(nowNanos, decided);
            if (isWarm(nowNanos, sent, decided)) {
                phase = Phase.STEADY;
                begin((int) Math.min(MAX_RATE, capacity(nowNanos, decided) / 2));
            }
        }
        if (phase == Phase.STEADY) {
            return steadyDue(nowNanos, sent, sent - decided);
        }
        return (int) Math.max(0, WINDOW - (sent - decided));
    }

    private boolean isWarm(long nowNanos, long sent, long decided) {
        return sent >= WARM_UP_REQUESTS || nowNanos - startNanos >= WARM_UP_NANOS && decided >= MIN_WARM_UP_DECISIONS;
    }

    private void sample(long nowNanos, long decided) {
        if (nowNanos - samples.getLast().atNanos >= SAMPLE_NANOS) {
            samples.addLast(new Sample(nowNanos, decided));
        }
        while (samples.size() > 1 && nowNanos - samples.getFirst().atNanos > CAPACITY_NANOS) {
            samples.removeFirst();
        }
    }

    /** Returns the decisions a second of the last {@link #CAPACITY_NANOS}. */
    private double capacity(long nowNanos, long decided) {
        Sample first = samples.getFirst();
        return (decided - first.decided) * 1e9 / Math.max(1, nowNanos - first.atNanos);
    }

    private void begin(int next) {
        rate = Math.max(MIN_RATE, next / ROUND * ROUND);
        isCatchingUp = true;
    }

    private int steadyDue(long nowNanos, long sent, long inFlight) {
        if (!isCatchingUp && inFlight > rate && rate > MIN_RATE && lowered < MAX_LOWERED) {
            lowered++;
            begin(rate / 2);
        }
        if (isCatchingUp) {
            if (inFlight > rate / CAUGHT_UP) {
                return 0;
            }
            isCatchingUp = false;
            steadyNanos = nowNanos;
            steadySent = sent;
        }
        if (nowNanos - steadyNanos >= STEADY_NANOS) {
            phase = Phase.REST;
            return 0;
        }
        double due = (nowNanos - steadyNanos) / 1e9 * rate - (sent - steadySent);
        return (int) Math.max(0, Math.min(due, WINDOW + rate - inFlight));
    }

    /** Returns the rate at which latencies are counted, in requests a second; 0 during the warm-up. */
    int rate() {
        return rate;
    }

    /** Returns whether latencies of requests sent at a time count: it is in the steady state, at {@link #rate}. */
    boolean isCounted(long sentNanos) {
        long sinceNanos = sentNanos - steadyNanos;
        return phase != Phase.WARM_UP
                && !isCatchingUp
                && sinceNanos >= SETTLE_NANOS
                && sinceNanos < STEADY_NANOS - UNCOUNTED_NANOS;
    }

    /** Returns whether this many latencies are enough. */
    static boolean isEnough(long counted) {
        return counted >= MIN_COUNTED;
    }
}
