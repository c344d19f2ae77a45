package dev.weir.client.lease;

import dev.weir.client.kafka.ThreadEnd;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.lease.LeaseSession;
import dev.weir.lease.RoundTripEstimator;
import dev.weir.lease.WaitingLine;
import dev.weir.lease.WaitingLine.Waiting;
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

    private record Timer(long atMs, ClientLease held) {}

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
            if (timer.atMs == timer.held.timerMs()) {
                timer.held.setTimer(Long.MAX_VALUE);
                maintain(timer.held);
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

    private void maintain(ClientLease held) {
        held.lock();
        held.setDone(); // later changes schedule maintenance again
        held.unlock();
        serve(held);
        ClientLease.Messages messages = ClientLease.Messages.NONE;
        held.lock();
        try {
            if (!held.isRemoved()) {
                long nowMs = leases.nowMs();
                long ledgerMs = session.ledgerTimeMs(nowMs, System.currentTimeMillis());
                LeasedPolicyDecider policy = policies.rules().now(held.key().policyId(), ledgerMs);
                messages = held.next(policy, nowMs);
                if (held.isIdle(nowMs)) {
                    leases.retire(held);
                } else {
                    setTimer(held, Math.max(held.dueMs(nowMs), nowMs + 1));
                }
            }
        } finally {
            held.unlock();
        }
        send(held, messages);
    }

    private void setTimer(ClientLease held, long atMs) {
        if (atMs < held.timerMs()) {
            held.setTimer(atMs);
            timers.add(new Timer(atMs, held));
        }
    }

    /** Sends messages about a lease to its ledger and to the auditors. */
    void send(ClientLease held, ClientLease.Messages messages) {
        messages.message().ifPresent(message -> {
            if (message.number() != 0) {
                held.ledger().asked(System.nanoTime());
            }
            topics.requestLease(held.key(), message);
        });
        messages.usage().forEach(usage -> topics.report(held.key(), usage));
    }

    /** Decides the waiting requests of each line in order, up to the first that must wait longer. */
    private void serve(ClientLease held) {
        held.lock();
        List<WaitingLine<LeaseWaiter>> lines = held.lines();
        held.unlock();
        lines.forEach(line -> serve(held, line));
    }

    private void serve(ClientLease held, WaitingLine<LeaseWaiter> line) {
        Waiting<LeaseWaiter> first = nextServed(held, line, leases.nowMs());
        while (first != null) {
            Optional<LeaseReply> reply = attempt.decideAgain(first.request(), held, first.untilMs());
            if (reply.isEmpty()) {
                return;
            }
            held.lock();
            try {
                if (!held.isRemoved()) {
                    line.removeFirst();
                }
            } finally {
                held.unlock();
            }
            if (reply.get() != LeaseReply.Undecided.WAITS) {
                first.request().end(reply.get());
            }
            first = nextServed(held, line, leases.nowMs());
        }
    }

    /** Returns the next waiting request to decide, or null if none waits or the first must wait longer. */
    private Waiting<LeaseWaiter> nextServed(ClientLease held, WaitingLine<LeaseWaiter> line, long nowMs) {
        List<LeaseWaiter> unanswered = new ArrayList<>(0);
        Waiting<LeaseWaiter> first;
        held.lock();
        try {
            held.book(); // with all that was taken
            for (first = line.first(); first != null; first = line.first()) {
                boolean isOver = first.request().isOver();
                boolean isUnanswered = !isOver && held.holder().isFirstUnanswered(line, nowMs);
                if (isUnanswered && maySoonBeAnswered(held, first.request())) {
                    line.waitLonger(nowMs + session.roundTrip().waitMs());
                    isUnanswered = false;
                }
                if (isUnanswered) {
                    unanswered.add(first.request());
                }
                if (!isUnanswered && !isOver) {
                    first = held.holder().isFirstReady(line, nowMs) ? first : null;
                    break;
                }
                line.removeFirst();
            }
        } finally {
            held.unlock();
        }
        unanswered.forEach(waiter -> waiter.end(LeaseReply.Undecided.NO_LEASE));
        return first;
    }

    /**
     * Returns whether a request waits longer than the round trip determines, since its ledger is busy: it has responded
     * to others meanwhile, as after a burst of new keys.
     */
    private boolean maySoonBeAnswered(ClientLease held, LeaseWaiter waiter) {
        long waitedNanos = waiter.waitedNanos();
        return held.policy().policy().sharing().maxWaitMs().isEmpty()
                && waitedNanos < MAX_WAIT_NANOS
                && held.ledger().hasAnsweredSince(System.nanoTime() - waitedNanos);
    }
}
