package dev.weir.client.lease;

import dev.weir.client.kafka.ThreadEnd;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.RoundTripEstimator;
import dev.weir.lease.holder.WaitingLine;
import dev.weir.lease.holder.WaitingLine.Waiting;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The thread that sends messages to the ledgers, and decides the requests that wait for leases. */
final class LeaseMaintenance {

    /** How often due maintenance is done. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(RoundTripEstimator.MAX_WAIT_MS);

    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LeaseSession session;
    private final ClientLeases leases;
    private final ClientPolicyRegistry policies;
    private final LeaseTopics topics;
    private final DecisionAttempt.Waits waits;
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(Comparator.comparingLong(Timer::atMs));
    private final Thread thread = new Thread(this::run, "weir-client-leases");
    private final DecisionAttempt attempt; // only for this thread
    private volatile RuntimeException failure;
    private volatile boolean stopped;

    private record Timer(long atMs, ClientLease lease) {}

    LeaseMaintenance(
            LeaseSession session,
            ClientLeases leases,
            ClientPolicyRegistry policies,
            LeaseTopics topics,
            DecisionAttempt.Waits waits) {
        this.session = session;
        this.leases = leases;
        this.policies = policies;
        this.topics = topics;
        this.waits = waits;
        attempt = newAttempt();
        thread.setDaemon(true);
    }

    /** Returns an attempt for another thread. */
    DecisionAttempt newAttempt() {
        return new DecisionAttempt(leases, session, policies, waits, this::wake);
    }

    void start() {
        thread.start();
    }

    /** Does what is due now, instead of at the next tick. */
    void wake() {
        LockSupport.unpark(thread);
    }

    /** Waits until the thread has ended, which it does when the leases are closed. */
    void join(long timeoutMs) throws InterruptedException {
        thread.join(timeoutMs);
    }

    /** Returns the last failure; empty if maintenance has succeeded since. */
    Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    /** Returns whether an error has ended the thread; {@link #failure} is the reason. */
    boolean hasStopped() {
        return stopped;
    }

    private void run() {
        try {
            while (!leases.isClosed()) {
                maintainAll();
                LockSupport.parkNanos(this, leases.size() == 0 ? IDLE_NANOS : TICK_NANOS);
            }
        } catch (Throwable e) {
            failure = ThreadEnd.report(thread, e);
            stopped = true;
        }
    }

    private void maintainAll() {
        try {
            while (!leases.isClosed() && maintainNext()) {
                // each step reads the clock: under load, or if a callback blocks, there is always another one
            }
            failure = null;
        } catch (RuntimeException e) { // a lost message costs some quota and does no other harm
            failure = e;
        }
    }

    /** Maintains a lease that is due, and one whose timer has passed. Returns false if there is none. */
    private boolean maintainNext() {
        session.checkClock();
        ClientLease due = leases.nextDue();
        if (due != null && !joinsBatch(due)) {
            maintain(due);
        }
        boolean isTimerDue = !timers.isEmpty() && timers.peek().atMs <= leases.nowMs();
        if (isTimerDue) {
            Timer timer = timers.remove();
            if (timer.atMs == timer.lease.timerMs()) {
                timer.lease.setTimer(DueTime.NEVER);
                maintain(timer.lease);
            }
        }
        return due != null || isTimerDue;
    }

    /** Sets the timer for the end of the batch if the lease is due then. Returns false if it is due now. */
    private boolean joinsBatch(ClientLease due) {
        due.lock();
        try {
            boolean joins = due.isDueWithBatch();
            if (joins) {
                setTimer(due, due.batchEndMs(leases.nowMs()));
            }
            return joins;
        } finally {
            due.unlock();
        }
    }

    private void maintain(ClientLease lease) {
        lease.lock();
        lease.setDone(); // later changes schedule maintenance again
        lease.unlock();
        serve(lease);
        ClientLease.Messages messages = ClientLease.Messages.NONE;
        lease.lock();
        try {
            if (!lease.isRemoved()) {
                long nowMs = leases.nowMs();
                long ledgerMs = session.ledgerTimeMs(nowMs, System.currentTimeMillis());
                LeasedPolicyDecider policy = policies.rules().now(lease.key().policyId(), ledgerMs);
                messages = lease.next(policy, nowMs);
                if (lease.isIdle(nowMs)) {
                    leases.retire(lease);
                } else {
                    setTimer(lease, Math.max(lease.dueMs(nowMs), nowMs + 1));
                }
            }
        } finally {
            lease.unlock();
        }
        send(lease, messages);
    }

    private void setTimer(ClientLease lease, long atMs) {
        if (atMs < lease.timerMs()) {
            lease.setTimer(atMs);
            timers.add(new Timer(atMs, lease));
        }
    }

    /** Sends messages about a lease to its ledger and to the auditors. */
    void send(ClientLease lease, ClientLease.Messages messages) {
        messages.message().ifPresent(message -> {
            if (message.number() != 0) {
                lease.ledger().requested(System.nanoTime());
            }
            topics.requestLease(lease.key(), message);
        });
        messages.usage().forEach(usage -> topics.report(lease.key(), usage));
    }

    /** Decides the waiting requests of each line in order, up to the first that must wait longer. */
    private void serve(ClientLease lease) {
        lease.lock();
        List<WaitingLine<LeaseWaiter>> lines = lease.lines();
        lease.unlock();
        lines.forEach(line -> serve(lease, line));
    }

    private void serve(ClientLease lease, WaitingLine<LeaseWaiter> line) {
        Waiting<LeaseWaiter> first = nextServed(lease, line, leases.nowMs());
        while (first != null) {
            Optional<LeaseReply> reply = attempt.decideAgain(first.request(), lease, first.untilMs());
            if (reply.isEmpty()) {
                return;
            }
            lease.lock();
            try {
                if (!lease.isRemoved()) {
                    line.removeFirst();
                }
            } finally {
                lease.unlock();
            }
            if (reply.get() != LeaseReply.Undecided.WAITS) {
                first.request().end(reply.get());
            }
            first = nextServed(lease, line, leases.nowMs());
        }
    }

    /** Returns the next waiting request to decide, or null if none waits or the first must wait longer. */
    private Waiting<LeaseWaiter> nextServed(ClientLease lease, WaitingLine<LeaseWaiter> line, long nowMs) {
        List<LeaseWaiter> unanswered = new ArrayList<>(0);
        Waiting<LeaseWaiter> first;
        lease.lock();
        try {
            lease.book(); // with all that was taken
            for (first = line.first(); first != null; first = line.first()) {
                boolean isOver = first.request().isOver();
                boolean isUnanswered = !isOver && lease.holder().isFirstUnanswered(line, nowMs);
                if (isUnanswered && maySoonBeAnswered(lease, first.request())) {
                    line.waitLonger(nowMs + session.roundTrip().waitMs());
                    isUnanswered = false;
                }
                if (isUnanswered) {
                    unanswered.add(first.request());
                }
                if (!isUnanswered && !isOver) {
                    first = lease.holder().isFirstReady(line, nowMs) ? first : null;
                    break;
                }
                line.removeFirst();
            }
        } finally {
            lease.unlock();
        }
        unanswered.forEach(waiter -> waiter.end(LeaseReply.Undecided.NO_LEASE));
        return first;
    }

    /**
     * Returns whether a request waits longer than the round trip determines, since its ledger is busy: it has responded
     * to others meanwhile, as after a burst of new keys.
     */
    private boolean maySoonBeAnswered(ClientLease lease, LeaseWaiter waiter) {
        long waitedNanos = waiter.waitedNanos();
        return lease.policy().policy().sharing().maxWaitMs().isEmpty()
                && waitedNanos < MAX_WAIT_NANOS
                && lease.ledger().hasAnsweredSince(System.nanoTime() - waitedNanos);
    }
}
