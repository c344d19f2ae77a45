package dev.weir.client;

import dev.weir.event.LeaseUsage;
import dev.weir.event.StateKey;
import dev.weir.lease.Lease;
import dev.weir.lease.LeaseBook;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Counts what is decided by the slices of one key, to be told in batches. */
final class UsageAggregator {

    private final Map<String, String> key = new HashMap<>();
    private final String holder;
    private final List<Count> counts = new ArrayList<>(1);
    private final AtomicLong numbers;
    private long lastLease;

    /**
     * What was decided by one slice since it was told last; its times are those of what was allowed, if anything was.
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

    /** @param numbers of all that this client tells */
    UsageAggregator(StateKey of, String holder, AtomicLong numbers) {
        for (int i = 0; i < of.namesAndValues().size(); i += 2) {
            key.put(of.namesAndValues().get(i), of.namesAndValues().get(i + 1));
        }
        this.holder = holder;
        this.numbers = numbers;
    }

    /**
     * Counts what is used of slices in one book more than in another before it. Requests count for the first of them.
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

    /** Counts a request that was denied, for the slice that was used last. */
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

    /** What is not told yet, which then is. */
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
