package dev.weir.bench.jmh;

import com.google.common.util.concurrent.RateLimiter;
import dev.weir.backtest.HeapSegments;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.local.LocalBucketBuilder;
import io.github.bucket4j.local.SynchronizationStrategy;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * The cost of a decision for one token, by one limit of one key and one thread. Weir also reports the remaining tokens
 * and the times until a retry and a reset; the shortest result of the other libraries is yes or no.
 *
 * <p>Time is an argument of Weir's limits. Libraries that accept a clock get one that advances by 10 ms per request: a
 * limit of 100 a second permits every request, and a limit of 1 a second permits one request in a hundred. Libraries
 * that use the system clock are compared with a limit that reads the system clock too, at a rate that permits every
 * request.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LimitBenchmark {

    private static final long STEP_MS = 10;
    private static final long PER_MS = 1_000;
    private static final long ENDLESS = 1_000_000_000;

    /** A clock that advances on each call of {@link #nextMs}. */
    static final class VirtualClock implements TimeMeter {
        private long nowMs = STEP_MS;

        long nextMs() {
            return nowMs += STEP_MS;
        }

        @Override
        public long currentTimeNanos() {
            return nowMs * 1_000_000;
        }

        @Override
        public boolean isWallClockBased() {
            return true;
        }
    }

    /** Weir's limits with the virtual clock. */
    @State(Scope.Thread)
    public static class Weir {
        @Param({
            "fixed-window",
            "sliding-window-log",
            "sliding-window-counter",
            "token-bucket",
            "interval-bucket",
            "leaky-bucket",
            "gcra"
        })
        String algorithm;

        @Param({"100", "1"})
        long aSecond;

        final VirtualClock clock = new VirtualClock();
        LimitAccount<?> account;

        @Setup
        public void open() {
            account = LimitAccount.open(LimitTerms.of(algorithm, aSecond, PER_MS), clock.nextMs());
        }
    }

    /** Weir's limits with the system clock, at a rate that permits every request. */
    @State(Scope.Thread)
    public static class WeirByClock {
        @Param({"fixed-window", "token-bucket"})
        String algorithm;

        LimitAccount<?> account;

        @Setup
        public void open() {
            account = LimitAccount.open(LimitTerms.of(algorithm, ENDLESS, PER_MS), System.currentTimeMillis());
        }
    }

    /** Bucket4j without synchronization, with the virtual clock. */
    @State(Scope.Thread)
    public static class Bucket4j {
        @Param({"fixed-window", "token-bucket", "interval-bucket"})
        String algorithm;

        @Param({"100", "1"})
        long aSecond;

        final VirtualClock clock = new VirtualClock();
        Bucket bucket;

        @Setup
        public void open() {
            bucket = bucket(algorithm, aSecond)
                    .withSynchronizationStrategy(SynchronizationStrategy.NONE)
                    .withCustomTimePrecision(clock)
                    .build();
        }
    }

    /** Bucket4j with the system clock, at a rate that permits every request. */
    @State(Scope.Thread)
    public static class Bucket4jByClock {
        @Param({"NONE", "LOCK_FREE"})
        SynchronizationStrategy synchronization;

        Bucket bucket;

        @Setup
        public void open() {
            bucket = bucket("token-bucket", ENDLESS)
                    .withSynchronizationStrategy(synchronization)
                    .withMillisecondPrecision()
                    .build();
        }
    }

    /** Guava's rate limiter with the system clock, at a rate that permits every request. */
    @State(Scope.Thread)
    public static class Guava {
        final RateLimiter limiter = RateLimiter.create(ENDLESS);
    }

    /**
     * Resilience4j's rate limiter, whose windows begin with its creation, with the system clock, at a rate that permits
     * every request.
     */
    @State(Scope.Thread)
    public static class Resilience4j {
        final AtomicRateLimiter limiter = new AtomicRateLimiter(
                "bench",
                RateLimiterConfig.custom()
                        .limitForPeriod((int) ENDLESS)
                        .limitRefreshPeriod(Duration.ofMillis(PER_MS))
                        .timeoutDuration(Duration.ZERO)
                        .build());
    }

    /** What Weir reports for one limit. */
    public record Result(long remaining, long resetAfterMs, long retryAfterMs) {
        static Result of(LimitAccount<?> account, boolean permitted, long nowMs) {
            long retryAfterMs = permitted ? 0 : account.waitMs(1, nowMs);
            return new Result(account.remaining(nowMs), account.resetAfterMs(nowMs), retryAfterMs);
        }
    }

    @Benchmark
    public Result weir(Weir weir) {
        long nowMs = weir.clock.nextMs();
        boolean permitted = weir.account.permits(1, nowMs);
        if (permitted) {
            weir.account = stored(weir.account.charge(1, nowMs));
        }
        return Result.of(weir.account, permitted, nowMs);
    }

    @Benchmark
    public Result weirByClock(WeirByClock weir) {
        long nowMs = System.currentTimeMillis();
        boolean permitted = weir.account.permits(1, nowMs);
        if (permitted) {
            weir.account = weir.account.charge(1, nowMs);
        }
        return Result.of(weir.account, permitted, nowMs);
    }

    @Benchmark
    public boolean bucket4j(Bucket4j peer) {
        peer.clock.nextMs();
        return peer.bucket.tryConsume(1);
    }

    @Benchmark
    public ConsumptionProbe bucket4jProbe(Bucket4j peer) {
        peer.clock.nextMs();
        return peer.bucket.tryConsumeAndReturnRemaining(1);
    }

    @Benchmark
    public boolean bucket4jByClock(Bucket4jByClock peer) {
        return peer.bucket.tryConsume(1);
    }

    @Benchmark
    public boolean guavaByClock(Guava peer) {
        return peer.limiter.tryAcquire();
    }

    @Benchmark
    public boolean resilience4jByClock(Resilience4j peer) {
        return peer.limiter.acquirePermission();
    }

    @SuppressWarnings("unchecked") // the state is a log, so S is the type of a log
    private static <S> LimitAccount<S> stored(LimitAccount<S> account) {
        return account.state() instanceof SlidingWindowLog.Log log && !log.isStored()
                ? new LimitAccount<>(account.limit(), (S) HeapSegments.store(log))
                : account;
    }

    /** Returns a bucket. A fixed window is a bucket with refills of its whole capacity, aligned to the epoch. */
    private static LocalBucketBuilder bucket(String algorithm, long aSecond) {
        Duration per = Duration.ofMillis(PER_MS);
        var capacity = Bandwidth.builder().capacity(aSecond);
        return Bucket.builder()
                .addLimit(
                        switch (algorithm) {
                            case "fixed-window" ->
                                capacity.refillIntervallyAligned(aSecond, per, Instant.ofEpochMilli(PER_MS))
                                        .build();
                            case "token-bucket" ->
                                capacity.refillGreedy(aSecond, per).build();
                            case "interval-bucket" ->
                                capacity.refillIntervally(aSecond, per).build();
                            default -> throw new IllegalArgumentException(algorithm);
                        });
    }
}
