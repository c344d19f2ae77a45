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
        return new WorkerStats(
                handled.sum(),
                failed.sum(),
                retried.sum(),
                refused.sum(),
                givenUp.sum(),
                duplicates.sum(),
                stale.sum(),
                inProgress);
    }
}
