package dev.weir.client.release;

import java.util.concurrent.atomic.LongAdder;

/** The counters of a worker, which any thread can read. */
final class WorkerCounts {

    final LongAdder handled = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder retried = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder givenUp = new LongAdder();
    final LongAdder duplicates = new LongAdder();
    final LongAdder stale = new LongAdder();

    WorkerStats stats(int inProgress) {
        WorkerStats.Attempts attempts =
                new WorkerStats.Attempts(handled.sum(), failed.sum(), retried.sum(), refused.sum(), stale.sum());
        return new WorkerStats(attempts, givenUp.sum(), duplicates.sum(), inProgress);
    }
}
