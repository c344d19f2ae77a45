package dev.weir.client.lease;

import dev.weir.event.LeaseUsage;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.Lease;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Counts the requests that were decided by the leases of one key, for the reports on lease usage. */
final class UsageAggregator {

    private final Map<String, String> key = new HashMap<>();
    private final String holder;
    private final List<Count> counts = new ArrayList<>(1);
    private final AtomicLong numbers;
    private long lastLease;

    /**
     * The usage of one lease since its last report. The times are those of the allowed requests or, if none was
     * allowed, of the denied ones.
     */
    private static final class Count {
        private final long lease;
        private long sinceMs;
        private long cost;
        private long requests;
        private long denied;
        private long lastMs;

        Count(long lease, long sinceMs) {
            this.lease = lease;
            this.sinceMs = sinceMs;
        }
    }

    /**
     * Creates an aggregator without usage.
     *
     * @param numbers numbers the reports of this client
     */
    UsageAggregator(StateKey of, String holder, AtomicLong numbers) {
        for (int i = 0; i < of.namesAndValues().size(); i += 2) {
            key.put(of.namesAndValues().get(i), of.namesAndValues().get(i + 1));
        }
        this.holder = holder;
        this.numbers = numbers;
    }

    /**
     * Counts the difference in usage between two books. The number of requests is counted for the first lease whose
     * usage differs.
     */
    void allowed(LeaseBook before, LeaseBook after, long requests, long firstMs, long lastMs) {
        long uncounted = requests;
        for (int i = 0; i < after.leases().size(); i++) {
            Lease lease = after.leases().get(i);
            long cost = lease.used() - before.leases().get(i).used();
            if (cost > 0) {
                Count count = count(lease.id(), firstMs);
                count.sinceMs = count.cost == 0 ? firstMs : count.sinceMs;
                count.cost += cost;
                count.requests += uncounted;
                count.lastMs = lastMs;
                uncounted = 0;
                lastLease = lease.id();
            }
        }
    }

    /** Counts a denied request for the lease that was used last. */
    void denied(long nowMs) {
        Count count = count(lastLease, nowMs);
        count.denied++;
        count.lastMs = count.cost == 0 ? nowMs : count.lastMs;
    }

    private Count count(long lease, long nowMs) {
        for (Count count : counts) {
            if (count.lease == lease) {
                return count;
            }
        }
        Count count = new Count(lease, nowMs);
        counts.add(count);
        return count;
    }

    /** Returns the usage since the last call. */
    List<LeaseUsage> drain(Policy policy) {
        List<LeaseUsage> all = new ArrayList<>(counts.size());
        for (Count count : counts) {
            all.add(usage(policy, count));
        }
        counts.clear();
        return all;
    }

    private LeaseUsage usage(Policy policy, Count count) {
        return new LeaseUsage(
                new LeaseUsage.Origin(holder, count.lease, numbers.incrementAndGet()),
                policy.versionId(),
                key,
                new LeaseUsage.Amount(count.cost, count.requests, count.denied),
                count.sinceMs,
                count.lastMs);
    }
}
