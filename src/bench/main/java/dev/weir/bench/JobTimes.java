package dev.weir.bench;

import dev.weir.client.release.ReleaseTask;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Jobs that sleep for random times with an exponential distribution, and when they ran. */
final class JobTimes implements ReleaseTask.Handler {

    /** The longest job, as a multiple of the mean, which one of 20,000 jobs reaches. */
    private static final double LONGEST = 10;

    /** A measurement has at least so many jobs. */
    private static final int LEAST = 10;

    private static final long NANOS_PER_MS = TimeUnit.MILLISECONDS.toNanos(1);

    private final Duration mean;
    private final CountDownLatch first = new CountDownLatch(1);
    private final List<Job> jobs = new ArrayList<>(); // guarded by itself, as the fields of a job
    private long fromNanos;
    private long toNanos;

    private static final class Job {
        private final long startNanos = System.nanoTime();
        private long endNanos = Long.MAX_VALUE; // while it runs
    }

    /** @param mean the mean time of a job */
    JobTimes(Duration mean) {
        this.mean = mean;
    }

    @Override
    public void handle(ReleaseTask task) throws InterruptedException {
        Job job = new Job();
        synchronized (jobs) {
            jobs.add(job);
        }
        first.countDown();
        double random =
                Math.min(LONGEST, -Math.log(1 - ThreadLocalRandom.current().nextDouble()));
        TimeUnit.NANOSECONDS.sleep((long) (mean.toNanos() * random));
        synchronized (jobs) {
            job.endNanos = System.nanoTime();
        }
    }

    void awaitFirst() throws InterruptedException {
        first.await();
    }

    /** Measures for a time, and until some jobs have started: what happens before and after it does not count. */
    void measure(Duration time) throws InterruptedException {
        fromNanos = System.nanoTime();
        int before = started();
        do {
            Thread.sleep(time.toMillis());
        } while (started() - before < LEAST);
        toNanos = System.nanoTime();
    }

    /** Returns how many jobs have started, also before and after the measurement. */
    int started() {
        synchronized (jobs) {
            return jobs.size();
        }
    }

    /** Returns the share of the time in which jobs ran, of all threads together. */
    double busyShare(int threads) {
        long busyNanos = 0;
        synchronized (jobs) {
            for (Job job : jobs) {
                busyNanos += Math.max(0, Math.min(job.endNanos, toNanos) - Math.max(job.startNanos, fromNanos));
            }
        }
        return (double) busyNanos / threads / (toNanos - fromNanos);
    }

    /** Returns the mean time from the end of a job to the start of the next one, if there is one thread. */
    double meanGapMs() {
        return gaps().getMean() / NANOS_PER_MS;
    }

    /** Returns a percentile of these times. */
    double gapMs(double percentile) {
        return (double) gaps().getValueAtPercentile(percentile) / NANOS_PER_MS;
    }

    private Histogram gaps() {
        Histogram gaps = new Histogram(3);
        synchronized (jobs) {
            for (int i = 1; i < jobs.size(); i++) {
                long endNanos = jobs.get(i - 1).endNanos;
                if (endNanos >= fromNanos && jobs.get(i).startNanos <= toNanos) {
                    gaps.recordValue(Math.max(0, jobs.get(i).startNanos - endNanos));
                }
            }
        }
        return gaps;
    }
}
