package dev.weir.client.lease;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.kafka.ThreadEnd;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.ClockStepDetector;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseSession;
import dev.weir.lease.RoundTripEstimator;
import dev.weir.lease.WaitingLine;
import dev.weir.lease.WaitingLine.Waiting;
import dev.weir.wire.SchemaRegistry;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Decides requests in this process, by leases of shared limits that it requests from their ledgers. */
// The caller's thread decides under the locks of the leases that a request uses. One thread does maintenance: it sends
// messages to the ledgers and decides the requests that wait. Another thread reads the responses. Quota that is
// returned is removed from the book, under its lock, before the message is sent, so it cannot be used afterwards.
public final class LeasedDecisions implements AutoCloseable {

    /** How often due maintenance is done. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(RoundTripEstimator.MAX_WAIT_MS);

    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * How long {@link #close} waits for the thread, and for responses to open requests, so that their leases can
     * be returned.
     */
    private static final long LAST_ANSWERS_MS = 1_000;

    /** How long {@link #close} passes messages to the producer. */
    private static final long GIVE_BACK_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The key of no policy, since ids of policies have no such character. Ledgers refuse it and store nothing. */
    private static final StateKey OF_NO_POLICY = new StateKey(StateKey.NO_CLIENT, "?", List.of());

    /** How long {@link #start} waits for the first response, on a machine that is slow or busy. */
    private static final long FIRST_ANSWER_MS = 2_000;

    private static final Comparator<Timer> BY_TIME = Comparator.comparingLong(Timer::atMs);

    private final LeaseSession session = newSession();
    private final ClientPolicyRegistry policies;
    private final LeaseTopics topics;
    private final LedgerClocks ledgers = new LedgerClocks();
    private final ClientLeases leases = new ClientLeases(session, ledgers);
    private final boolean hasCircuit;
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(BY_TIME);

    /**
     * The attempts of the threads. A thread keeps its attempt as long as it runs, so an attempt must not refer to this
     * object: neither directly nor by requests that wait for its leases.
     */
    private final ThreadLocal<DecisionAttempt> attempts;

    private final Thread thread = new Thread(this::run, "weir-client-leases");
    private final Set<StateKey> open = ConcurrentHashMap.newKeySet();
    private final CountDownLatch firstAnswer = new CountDownLatch(1);
    private final Semaphore lastAnswers = new Semaphore(0);
    private volatile RuntimeException failure;
    private volatile boolean stopped;

    private record Timer(long atMs, ClientLease held) {}

    /** Why a request has no decision now. */
    public enum Undecided {
        /** It must be sent over the topic. */
        OVER_TOPIC,
        /** It waits for a lease, or would wait if it could. */
        WAITS,
        /** The maximum number of requests is waiting already. */
        NO_ROOM,
        /** The ledger did not respond in time. */
        NO_LEASE,
        /** The ledger has not responded for longer than the request would wait. */
        NO_LEDGER
    }

    /**
     * The result for a request: a decision or the reason why there is none.
     *
     * @param decision null if there is none
     * @param undecided null if there is a decision
     */
    public record Reply(Decision decision, Undecided undecided) {}

    /** A request that can wait. A single thread reports the end of its wait. */
    public interface Waiter {

        /**
         * Returns the request.
         *
         * @return the request
         */
        Request request();

        /**
         * Returns how long the request may wait at most.
         *
         * @return the longest wait in ns
         */
        long withinNanos();

        /**
         * Returns how long the request has waited.
         *
         * @return the wait in ns
         */
        long waitedNanos();

        /**
         * Starts the wait for a ledger.
         *
         * @param ledger the clock of the ledger
         * @return false if too many requests are waiting
         */
        boolean enter(AnswerClock ledger);

        /**
         * Continues the wait with that for another ledger.
         *
         * @param ledger the clock of the ledger
         */
        void waitFor(AnswerClock ledger);

        /**
         * Returns whether the wait has ended.
         *
         * @return whether it has
         */
        boolean isOver();

        /**
         * Ends the wait.
         *
         * @param reply how it ends
         */
        void end(Reply reply);
    }

    /**
     * Creates Kafka's clients.
     *
     * @param settings the settings
     * @param registry the schema registry; empty if there is none
     * @throws org.apache.kafka.common.KafkaException if the settings are invalid
     */
    public LeasedDecisions(LeaseSettings settings, Optional<SchemaRegistry> registry) {
        long unansweredMs = settings.unanswered().toMillis();
        hasCircuit = settings.hasCircuit();
        policies = new ClientPolicyRegistry(settings.longest());
        WeakReference<Thread> maintenance = new WeakReference<>(thread);
        Runnable wake = () -> LockSupport.unpark(maintenance.get());
        DecisionAttempt.Waits waits = new DecisionAttempt.Waits(unansweredMs, hasCircuit);
        attempts = ThreadLocal.withInitial(() -> new DecisionAttempt(leases, session, policies, waits, wake));
        topics = new LeaseTopics(settings, registry, session.name(), policies, this::answered);
        thread.setDaemon(true);
    }

    private static LeaseSession newSession() {
        ClockStepDetector clockSteps = new ClockStepDetector();
        return new LeaseSession(
                "c-" + UUID.randomUUID(), 1, () -> clockSteps.observe(System::nanoTime, System::currentTimeMillis));
    }

    /**
     * Reads the policies. Can be repeated after a failure.
     *
     * @throws org.apache.kafka.common.KafkaException if a topic does not exist, or the brokers reject a call or do
     *     not respond
     */
    public void connect() {
        ledgers.setPartitions(topics.connect());
    }

    /**
     * Starts the threads, and requests a lease of no policy. The first request takes longest, since it opens
     * connections and runs code for the first time, here and in the enforcer. Waits for its response for up to 2 s, so
     * that requests which then come need not wait for that.
     */
    public void start() {
        topics.start();
        thread.start();
        topics.requestLease(OF_NO_POLICY, new LeaseRequest(1, session.name(), 1, 1, List.of(), 0, 0));
        topics.flush();
        try {
            var unused = firstAnswer.await(FIRST_ANSWER_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the client is closed
        }
    }

    /**
     * Decides a request with the available quota.
     *
     * @param request the request
     * @return the decision; null if that is not possible
     */
    public Decision tryDecide(Request request) {
        return attempts.get().tryDecide(request);
    }

    /**
     * Decides a request, or lets it wait for a lease.
     *
     * @param request the request
     * @param waiter waits with it
     * @return the decision, or why there is none
     */
    public Reply decide(Request request, Waiter waiter) {
        DecisionAttempt attempt = attempts.get();
        Decision decision = attempt.decide(request, waiter);
        return new Reply(decision, decision == null ? attempt.undecided() : null);
    }

    /**
     * Returns the number of keys of which quota is held or was held recently.
     *
     * @return the number of keys
     */
    public int keys() {
        return leases.size();
    }

    /**
     * Returns whether requests do not wait for some ledgers, because these do not answer.
     *
     * @return whether the circuit for leases is open; {@code false} if there is none
     */
    public boolean isCircuitOpen() {
        return hasCircuit && ledgers.areSilent(System.nanoTime());
    }

    /**
     * Returns the last failure.
     *
     * @return the failure; empty if the same operation has succeeded since
     */
    public Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure).or(topics::failure);
    }

    /**
     * Returns whether an error has ended one of the threads.
     *
     * @return whether one has; {@link #failure} is then the reason
     */
    public boolean hasStopped() {
        return stopped || topics.hasStopped();
    }

    /** Processes a response. A lease of a key that is no longer used is returned. */
    private void answered(StateKey key, LeaseResponse response) {
        if (key.equals(OF_NO_POLICY)) {
            firstAnswer.countDown();
            return;
        }
        ledgers.answered(key, System.nanoTime());
        ClientLease held = leases.get(key);
        boolean isTaken = held != null && answered(held, response);
        if (isTaken) {
            LockSupport.unpark(thread);
        } else if (response instanceof LeaseResponse.Granted granted) {
            LeaseRequest.Report unused = new LeaseRequest.Report(granted.leaseId(), 0, granted.fromMs(), 0);
            topics.requestLease(key, LeaseRequest.report(session.name(), List.of(unused), 0));
        }
        if (!isTaken && open.remove(key)) {
            lastAnswers.release();
        }
    }

    private boolean answered(ClientLease held, LeaseResponse response) {
        held.lock();
        try {
            if (!held.isRemoved()) {
                held.respond(response, leases.nowMs());
                leases.setDue(held);
            }
            return !held.isRemoved();
        } finally {
            held.unlock();
        }
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

    /** Maintains a lease that is due, and one whose alarm has passed. Returns false if there is none. */
    private boolean maintainNext() {
        session.checkClock();
        ClientLease due = leases.nextDue();
        if (due != null && !joinsBatch(due)) {
            maintain(due);
        }
        boolean hasAlarm = !timers.isEmpty() && timers.peek().atMs <= leases.nowMs();
        if (hasAlarm) {
            Timer alarm = timers.remove();
            if (alarm.atMs == alarm.held.alarmMs()) {
                alarm.held.setAlarm(Long.MAX_VALUE);
                maintain(alarm.held);
            }
        }
        return due != null || hasAlarm;
    }

    /** Sets the alarm for the end of the batch if the lease is due then. Returns false if it is due now. */
    private boolean joinsBatch(ClientLease due) {
        due.lock();
        try {
            boolean joins = due.isDueWithBatch();
            if (joins) {
                setAlarm(due, due.batchEndMs(leases.nowMs()));
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
                    remove(held);
                } else {
                    setAlarm(held, Math.max(held.dueMs(nowMs), nowMs + 1));
                }
            }
        } finally {
            held.unlock();
        }
        send(held, messages);
    }

    private void setAlarm(ClientLease held, long atMs) {
        if (atMs < held.alarmMs()) {
            held.setAlarm(atMs);
            timers.add(new Timer(atMs, held));
        }
    }

    private void send(ClientLease held, ClientLease.Messages messages) {
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
        List<WaitingLine<Waiter>> lines = held.lines();
        held.unlock();
        lines.forEach(line -> serve(held, line));
    }

    private void serve(ClientLease held, WaitingLine<Waiter> line) {
        Waiting<Waiter> first = nextServed(held, line, leases.nowMs());
        while (first != null) {
            DecisionAttempt attempt = attempts.get();
            Decision decision = attempt.decideAgain(first.request(), held, first.untilMs());
            if (decision == null && attempt.waitsOn(held)) {
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
            if (decision != null || attempt.undecided() != Undecided.WAITS) {
                first.request().end(new Reply(decision, decision == null ? attempt.undecided() : null));
            }
            first = nextServed(held, line, leases.nowMs());
        }
    }

    /** Returns the next waiting request to decide, or null if none waits or the first must wait longer. */
    private Waiting<Waiter> nextServed(ClientLease held, WaitingLine<Waiter> line, long nowMs) {
        List<Waiter> unanswered = new ArrayList<>(0);
        Waiting<Waiter> first;
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
        unanswered.forEach(waiter -> waiter.end(new Reply(null, Undecided.NO_LEASE)));
        return first;
    }

    /**
     * Returns whether a request waits longer than the round trip determines, since its ledger is busy: it has responded
     * to others meanwhile, as after a burst of new keys.
     */
    private boolean maySoonBeAnswered(ClientLease held, Waiter waiter) {
        long waitedNanos = waiter.waitedNanos();
        return held.policy().policy().sharing().maxWaitMs().isEmpty()
                && waitedNanos < MAX_WAIT_NANOS
                && held.ledger().hasAnsweredSince(System.nanoTime() - waitedNanos);
    }

    /** Sends the messages that wait in the producer for further ones, and does not wait until they are written. */
    public void flush() {
        topics.flush();
    }

    /** Returns all leases and reports their usage. */
    @Override
    public void close() {
        leases.close();
        LockSupport.unpark(thread);
        boolean isInterrupted = false;
        try {
            thread.join(LAST_ANSWERS_MS);
        } catch (InterruptedException e) {
            isInterrupted = true;
        }
        int asked = 0;
        long startNanos = System.nanoTime();
        for (ClientLease held : leases.all()) {
            if (System.nanoTime() - startNanos > GIVE_BACK_NANOS) {
                break; // the brokers are away; leases that are not returned end by themselves
            }
            asked += giveBack(held) ? 1 : 0;
        }
        leases.all().forEach(this::remove);
        try {
            var unused = lastAnswers.tryAcquire(asked, LAST_ANSWERS_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            isInterrupted = true;
        }
        topics.close();
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Returns a lease to its ledger. Returns whether a request for another lease is open, whose lease must be returned
     * as well.
     */
    private boolean giveBack(ClientLease held) {
        ClientLease.Messages messages;
        boolean isOpen;
        held.lock();
        try {
            if (held.isRemoved()) {
                return false;
            }
            isOpen = held.book().request().isPending();
            if (isOpen) {
                open.add(held.key());
            }
            messages = held.last();
            remove(held);
        } finally {
            held.unlock();
        }
        send(held, messages);
        return isOpen;
    }

    private void remove(ClientLease held) {
        held.lock();
        try {
            if (!held.isRemoved()) {
                held.markRemoved();
                leases.remove(held);
            }
        } finally {
            held.unlock();
        }
    }

    /** Closes Kafka's clients, before {@link #start}. */
    public void discard() {
        leases.close();
        LockSupport.unpark(thread);
        topics.discard();
    }
}
