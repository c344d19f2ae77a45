package dev.weir.client.lease;

import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseSession;
import java.util.Collection;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/** The leases of a client by key, and those that need maintenance. Thread-safe. */
final class ClientLeases {

    /** The maximum number of keys with leases. Requests of further keys are decided over the topic. */
    private static final int MAX_KEYS = 100_000;

    private static final long NANOS_PER_MS = 1_000_000;

    private final long startNanos = System.nanoTime();
    private final LeaseSession session;
    private final LedgerClocks ledgers;
    private final AtomicLong usageNumbers = new AtomicLong();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<StateKey, ClientLease> all = new ConcurrentHashMap<>();
    private final Queue<ClientLease> due = new ConcurrentLinkedQueue<>();
    private volatile boolean closed;

    ClientLeases(LeaseSession session, LedgerClocks ledgers) {
        this.session = session;
        this.ledgers = ledgers;
    }

    /** Returns the time of this process's monotonic clock, in ms since the client was started. */
    long nowMs() {
        return (System.nanoTime() - startNanos) / NANOS_PER_MS;
    }

    /**
     * Returns the lease of the request's key, and adds it if it is missing. Returns null if there is no room for it.
     */
    synchronized ClientLease add(Request request, ClientPolicyRegistry.Rule rule) {
        ClientLease before = rule.keys().find(request);
        if (before != null) {
            return before;
        }
        if (closed || all.size() >= MAX_KEYS) {
            return null;
        }
        StateKey key = rule.policy().policy().stateKey(request);
        UsageAggregator usage = new UsageAggregator(key, session.name(), usageNumbers);
        ClientLease.Place place = new ClientLease.Place(key, numbers.incrementAndGet(), ledgers.of(key));
        ClientLease added = new ClientLease(place, rule, usage, session, nowMs());
        rule.keys().put(added);
        all.put(key, added);
        return added;
    }

    /** Removes a lease that is no longer used, and forgets the requests that wait for it, which have ended. */
    void retire(ClientLease lease) {
        lease.lock();
        try {
            if (!lease.isRemoved()) {
                lease.markRemoved();
                remove(lease);
            }
        } finally {
            lease.unlock();
        }
    }

    private synchronized void remove(ClientLease lease) {
        lease.keys().remove(lease);
        all.remove(lease.key(), lease);
    }

    /** Returns the lease of a key, or null if there is none. */
    ClientLease get(StateKey key) {
        return all.get(key);
    }

    Collection<ClientLease> all() {
        return all.values();
    }

    int size() {
        return all.size();
    }

    /** Schedules maintenance of a lease now. The caller holds its lock. */
    void setDue(ClientLease lease) {
        if (lease.setDue()) {
            due.add(lease);
        }
    }

    /** Schedules maintenance of a lease at the end of its batch. The caller holds its lock. */
    void setDueWithBatch(ClientLease lease) {
        if (lease.setDueWithBatch()) {
            due.add(lease);
        }
    }

    /** Returns the next lease of which maintenance was scheduled, or null if there is none. */
    ClientLease nextDue() {
        return due.poll();
    }

    /** Prevents that further leases are added. */
    void close() {
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }
}
