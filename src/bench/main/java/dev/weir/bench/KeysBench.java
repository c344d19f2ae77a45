package dev.weir.bench;

import dev.weir.bench.candidate.RocksQueues;
import dev.weir.bench.measure.ResultTable;
import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.QueueRules;
import dev.weir.storage.StoredQueues;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * Measures a queue with a key, by the number of keys in use and of requests waiting in each. Runs in process, on one
 * thread, with the RocksDB settings of {@code weir run}, but without a changelog.
 */
public final class KeysBench {

    private static final String KEY = "destination";
    private static final int BATCH = 1_000;
    private static final double MIB = 1 << 20;

    /** The load at which lateness is measured, as a fraction of the maximum rate. */
    private static final double LOAD = 0.5;

    /** The rate of all keys together, by the queue's clock. */
    private static final int RATE_PER_MS = 20;

    /** The step by which the queue's clock advances. */
    private static final long STEP_NANOS = 1_000_000;

    /** How far ahead of its time a release can be written: the default. */
    private static final long LOOK_AHEAD_MS = QueueRules.DEFAULT_LOOK_AHEAD_MS;

    private static final int STEPS_PER_TICK = 50;

    /** The number of clients, which send requests in turn. */
    private static final int CLIENTS = 1_000;

    private static final int DIGITS = 3;
    private static final long NANOS_PER_MS = 1_000_000;

    private final int hotKeys;
    private final Duration turn;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param hotKeys the maximum number of keys on the heap
     * @param turn how long releases are measured
     * @param progress receives the name of each size that was measured
     */
    public KeysBench(int hotKeys, Duration turn, Consumer<String> progress) {
        this.hotKeys = hotKeys;
        this.turn = turn;
        this.progress = progress;
    }

    /**
     * A number of keys and of waiting requests.
     *
     * @param keys the number of keys, 1 or more
     * @param waiting the number of requests that wait in each key, 1 or more
     */
    public record Size(int keys, int waiting) {

        public long requests() {
            return (long) keys * waiting;
        }

        private String name() {
            return String.format(Locale.ROOT, "%,d %s, %,d waiting", keys, keys == 1 ? "key" : "keys", requests());
        }
    }

    /** Measures the sizes, one after the other. The ratio compares releases per second with the first size. */
    public List<ResultTable> run(List<Size> sizes) throws IOException {
        List<ResultTable.Row> rates = new ArrayList<>();
        List<ResultTable.Row> costs = new ArrayList<>();
        double first = 0;
        for (Size size : sizes) {
            try (RocksQueues stores = new RocksQueues()) {
                SizeRun run = new SizeRun(size, stores);
                double releases = run.measure();
                first = rates.isEmpty() ? releases : first;
                rates.add(ResultTable.Row.of(
                        size.name(),
                        releases,
                        releases / first,
                        run.admissions,
                        run.late.getValueAtPercentile(50) / 1e6,
                        run.late.getValueAtPercentile(99) / 1e6));
                costs.add(ResultTable.Row.of(
                        size.name(), run.heapBytes / MIB, run.hot, run.diskBytes / MIB, run.restoreSeconds));
            }
            progress.accept(size.name());
        }
        String load = String.format(
                Locale.ROOT,
                "late: after it could be written, %d ms before its time; at %.0f %% of the maximum rate of one thread",
                LOOK_AHEAD_MS,
                LOAD * 100);
        String hot =
                String.format(Locale.ROOT, "heap: after a collection; hot keys: on the heap, at most %,d", hotKeys);
        return List.of(
                new ResultTable(
                        "keys",
                        "a queue with a key",
                        List.of("releases/s", "ratio", "admissions/s", "late p50 ms", "late p99 ms"),
                        rates,
                        List.of("one thread, in process, in RocksDB; a request is admitted for each release", load)),
                new ResultTable(
                        "keys",
                        "resources",
                        List.of("heap MiB", "hot keys", "disk MiB", "restore s"),
                        costs,
                        List.of(hot)));
    }

    /** The run of one size. */
    private final class SizeRun {
        private final Size size;
        private final RocksQueues stores;
        private final QueueRules rules;
        private final Histogram late = new Histogram(DIGITS);
        private final List<String> toAdmit = new ArrayList<>();
        private final long[] lastNanos; // the time of the last release of each key
        private StoredQueues queues;
        private Shaper shaper;
        private long admitted;
        private long released;
        private long nowNanos; // of the queue's clock
        private long watchedAtNanos; // the start of the lateness measurement by the queue's clock
        private long watchedFromNanos; // and by the monotonic clock; 0 before it
        private double speed; // of the queue's clock, as a multiple of the monotonic clock's
        private double admissions;
        private double heapBytes;
        private double hot;
        private double diskBytes;
        private double restoreSeconds;

        SizeRun(Size size, RocksQueues stores) {
            this.size = size;
            this.stores = stores;
            lastNanos = new long[size.keys];
            long perMs = Math.max(1, size.keys / RATE_PER_MS);
            rules = QueueRules.builder("q", 1, perMs)
                    .capacity(QueueRules.MAX_CAPACITY)
                    .lookAheadMs(LOOK_AHEAD_MS)
                    .key(List.of(KEY))
                    .build();
        }

        /** Measures the size. Returns the releases per second. */
        double measure() throws IOException {
            long heapBeforeBytes = heapBytes();
            open();
            for (long i = 0; i < size.requests(); i++) {
                admit(String.valueOf(i % size.keys));
            }
            int atRate = (int) (STEP_NANOS / NANOS_PER_MS * RATE_PER_MS);
            measureRate(size.keys, Long.MAX_VALUE, atRate); // afterwards the keys are due one after the other
            double releases = measureRate(Long.MAX_VALUE, turn.toNanos(), Integer.MAX_VALUE);
            heapBytes = heapBytes() - heapBeforeBytes;
            hot = shaper.hotKeys();
            stores.flushAndClose();
            diskBytes = stores.bytesOnDisk();
            long beginNanos = System.nanoTime();
            open();
            restoreSeconds = (System.nanoTime() - beginNanos) / 1e9;
            measureLateness(LOAD / (1 / releases + 1 / admissions));
            return releases;
        }

        private void open() {
            queues = stores.open();
            shaper = new Shaper(queue -> rules, queues, hotKeys);
        }

        /**
         * Releases requests and admits one for each. Returns the releases per second.
         *
         * @param most the maximum number of releases
         * @param mostNanos the maximum time
         * @param perStep the maximum number of releases in one step of the queue's clock
         */
        private double measureRate(long most, long mostNanos, int perStep) {
            long end = most == Long.MAX_VALUE ? most : released + most;
            long releasedBefore = released;
            long releasingNanos = 0;
            long admittingNanos = 0;
            while (released < end && releasingNanos + admittingNanos < mostNanos) {
                long beginNanos = System.nanoTime();
                while (toAdmit.size() < BATCH && shaper.hasWaiting()) {
                    nowNanos = Math.max(nowNanos + STEP_NANOS, shaper.dueNanos());
                    int full = perStep == Integer.MAX_VALUE ? perStep : toAdmit.size() + perStep;
                    while (toAdmit.size() < full && shaper.dueNanos() <= nowNanos) {
                        carryOut(shaper.tick(nowNanos, STEPS_PER_TICK));
                    }
                }
                long betweenNanos = System.nanoTime();
                admitAgain();
                releasingNanos += betweenNanos - beginNanos;
                admittingNanos += System.nanoTime() - betweenNanos;
            }
            admissions = (released - releasedBefore) * 1e9 / admittingNanos;
            return (released - releasedBefore) * 1e9 / releasingNanos;
        }

        /** Releases requests in real time, at a rate per second, and records how late they are. */
        private void measureLateness(double releases) {
            long perNanos = rules.perMs() * NANOS_PER_MS;
            speed = releases * perNanos / size.keys / 1e9;
            watchedAtNanos = nowNanos;
            watchedFromNanos = System.nanoTime();
            while (System.nanoTime() - watchedFromNanos < turn.toNanos()) {
                nowNanos = clockNanos();
                carryOut(shaper.tick(nowNanos, BATCH));
                admitAgain();
                long untilDueNanos = shaper.dueNanos() - clockNanos();
                if (untilDueNanos > 0) {
                    LockSupport.parkNanos((long) (untilDueNanos / speed));
                }
            }
        }

        /** Returns the time of the queue's clock during the lateness measurement. */
        private long clockNanos() {
            return watchedAtNanos + (long) ((System.nanoTime() - watchedFromNanos) * speed);
        }

        private void admitAgain() {
            toAdmit.forEach(this::admit);
            toAdmit.clear();
        }

        private void admit(String key) {
            long nowMs = nowNanos / NANOS_PER_MS;
            Request request = Request.builder("request-" + admitted, "client-" + admitted % CLIENTS)
                    .attributes(Map.of(KEY, key))
                    .timestampMs(nowMs)
                    .source(0, admitted)
                    .build();
            Admission admission = Admission.of(request, rules.id(), new PolicyVersion("p", 1), null);
            carryOut(shaper.admit(QueueRules.withKey(admission, rules), admitted++, nowMs, nowNanos));
        }

        private void carryOut(List<QueueEffect> effects) {
            for (QueueEffect effect : effects) {
                if (effect instanceof QueueEffect.StateStored stored) {
                    queues.store(stored);
                } else if (effect instanceof QueueEffect.Released release) {
                    emitRelease(release.admission(), release.release());
                }
            }
        }

        private void emitRelease(Admission admission, Release release) {
            released++;
            toAdmit.add(admission.key().get(KEY));
            int key = Integer.parseInt(admission.key().get(KEY));
            if (watchedFromNanos > 0) {
                long sinceDueNanos = clockNanos() - lastNanos[key] - (rules.perMs() - LOOK_AHEAD_MS) * NANOS_PER_MS;
                late.recordValue(Math.max(0, (long) (sinceDueNanos / speed)));
            }
            lastNanos[key] = release.releaseAtNanos();
        }
    }

    private static long heapBytes() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
