package dev.weir.failure.load;

import dev.weir.event.Request;
import java.util.Iterator;
import java.util.function.LongSupplier;

/**
 * The load of a run: a {@link TraceWorkload}, mixed with a {@link ReservationWorkload}. Together they have requests of
 * every kind but the answers of workers. There can be jobs for workers too. The requests depend only on the seed and the clock. Not thread-safe.
 */
public final class FailureWorkload implements Iterator<Request> {

    /** Each of so many requests is about a reservation. */
    private static final int EVERY = 5;

    /** With jobs, each of so many requests is about one. */
    private static final int EVERY_JOB = 15;

    private final TraceWorkload trace;
    private final ReservationWorkload reservations;
    private final JobWorkload jobs;
    private boolean hasJobs;
    private long made;

    /**
     * @param clockMs the current time, ms since the epoch
     * @param shares whether reservations use {@link FailurePolicies#SHARED} too
     */
    public FailureWorkload(long seed, LongSupplier clockMs, boolean shares) {
        trace = new TraceWorkload(seed, clockMs);
        reservations = new ReservationWorkload(seed, clockMs, shares);
        jobs = new JobWorkload(seed, clockMs);
    }

    /** Adds jobs for the queue of {@link FailurePolicies#JOBS}. */
    public FailureWorkload withJobs() {
        hasJobs = true;
        return this;
    }

    /** Sets a client that sends half of the calls from now on, null for none. */
    public void hot(String client) {
        trace.hot(client);
    }

    @Override
    public boolean hasNext() {
        return true;
    }

    @Override
    public Request next() {
        made++;
        if (hasJobs && made % EVERY_JOB == 1) {
            return jobs.next();
        }
        return made % EVERY == 0 ? reservations.next() : trace.next();
    }
}
