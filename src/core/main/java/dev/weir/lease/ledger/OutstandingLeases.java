package dev.weir.lease.ledger;

import dev.weir.lease.LeaseRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;

/**
 * The leases of a ledger that count as lent. An immutable value. Each operation takes O(leases) time at most.
 *
 * <pre>
 *          plus                    reported: some is kept
 *   free ────────▶ outstanding ─────────────────────────────▶ outstanding, for less
 *                      │
 *                      ├─ reported: all is used or returned ──▶ gone
 *                      ╰─ without due: not reported in time ──▶ gone, counted as used
 * </pre>
 *
 * @param leases the leases, ordered by {@code dueMs}
 * @param nextId the id of the next lease
 */
public record OutstandingLeases(List<OutstandingLease> leases, long nextId) {

    /** The maximum number of outstanding leases, which bounds the size of the state. */
    public static final int MAX_LEASES = 10_000;

    /**
     * Lease ids start at the creation time shifted by this many bits, so a ledger that is deleted and created again
     * does not reuse ids.
     */
    private static final int LEASE_BITS_PER_MS = 20;

    private static final Comparator<OutstandingLease> BY_DUE =
            Comparator.comparingLong(OutstandingLease::dueMs).thenComparingLong(OutstandingLease::leaseId);

    public OutstandingLeases {
        leases = List.copyOf(leases);
    }

    /** Returns the leases of a new ledger: none. */
    static OutstandingLeases none(long nowMs) {
        return new OutstandingLeases(List.of(), nowMs << LEASE_BITS_PER_MS);
    }

    boolean isFull() {
        return leases.size() >= MAX_LEASES;
    }

    /** Returns the tokens of all leases. */
    long tokens() {
        return leases.stream().mapToLong(OutstandingLease::amount).sum();
    }

    /** Returns the tokens of the leases of other holders that have not ended, and end at {@code lastMs} or before. */
    long tokensOfOthers(String holder, long clockMs, long lastMs) {
        return leases.stream()
                .filter(lease ->
                        !lease.holder().equals(holder) && lease.untilMs() > clockMs && lease.untilMs() <= lastMs)
                .mapToLong(OutstandingLease::amount)
                .sum();
    }

    /** Returns the lowest id of the leases; there must be one. */
    long firstId() {
        return leases.stream().mapToLong(OutstandingLease::leaseId).min().orElseThrow();
    }

    /** Returns the leases after a lease with the id {@link #nextId} was lent. */
    OutstandingLeases plus(OutstandingLease lease) {
        List<OutstandingLease> next = new ArrayList<>(leases);
        next.add(-Collections.binarySearch(next, lease, BY_DUE) - 1, lease);
        return new OutstandingLeases(next, nextId + 1);
    }

    /** Returns the index of a lease of a holder, if it is outstanding. */
    OptionalInt indexOf(long leaseId, String holder) {
        for (int i = 0; i < leases.size(); i++) {
            OutstandingLease lease = leases.get(i);
            if (lease.leaseId() == leaseId && lease.holder().equals(holder)) {
                return OptionalInt.of(i);
            }
        }
        return OptionalInt.empty();
    }

    /** Returns the leases after a report of one: {@code used} more tokens were used, and {@code held} are kept. */
    OutstandingLeases reported(int index, long used, long held) {
        List<OutstandingLease> next = new ArrayList<>(leases);
        if (held > 0) {
            next.set(index, leases.get(index).reported(used, held));
        } else {
            next.remove(index);
        }
        return new OutstandingLeases(next, nextId);
    }

    /** Returns the leases that are due at a time, the first of them first. */
    List<OutstandingLease> due(long atMs) {
        int count = 0;
        while (count < leases.size() && leases.get(count).dueMs() <= atMs) {
            count++;
        }
        return leases.subList(0, count);
    }

    /** Returns the leases without the first {@code count} ones. */
    OutstandingLeases without(int count) {
        return count == 0 ? this : new OutstandingLeases(leases.subList(count, leases.size()), nextId);
    }

    /** Returns the leases, which are due when all slots have ended that holders may take of them. */
    OutstandingLeases untilEndOfSlots(long ttlMs) {
        if (ttlMs == 0) {
            return this;
        }
        List<OutstandingLease> next = leases.stream()
                .map(lease -> lease.dueNotBefore(lease.untilMs() - 1 + ttlMs))
                .sorted(BY_DUE)
                .toList();
        return new OutstandingLeases(next, nextId);
    }

    /**
     * Returns the latest decision time that a request reports, at least the ledger's time. It can be ahead of the
     * ledger's time by as long as the request for the lease took to the broker.
     */
    long lastUsedMs(LeaseRequest request, long clockMs) {
        long latestMs = clockMs;
        for (LeaseRequest.Report report : request.reports()) {
            for (OutstandingLease lease : leases) {
                if (lease.leaseId() == report.leaseId()) {
                    latestMs = Math.max(latestMs, lease.useMs(report.lastUsedMs()));
                }
            }
        }
        return latestMs;
    }
}
