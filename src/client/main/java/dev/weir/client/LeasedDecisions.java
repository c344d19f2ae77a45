package dev.weir.client;

import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.ClockStepDetector;
import dev.weir.lease.LeaseHolder.Waiting;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseSession;
import dev.weir.wire.SchemaRegistry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Decides in this process by leases of shared quotas, which it requests from the ledgers. */
// Callers' threads decide under the locks of the leases that they use. One thread does maintenance: it sends messages
// to the ledgers and decides the requests that wait. Another reads the responses. Quota that is returned is taken out
// of the book, under its lock, before the message is sent, so it cannot be used afterwards.
final class LeasedDecisions implements AutoCloseable {

    /** How often what was used is looked after. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What was asked for before the end is waited for, to be given back. */
    private static final long LAST_ANSWERS_MS = 1_000;

    private static final Comparator<Timer> BY_TIME = Comparator.comparingLong(Timer::atMs);

    private final ClockStepDetector clockSteps = new ClockStepDetector();
    private final LeaseSession session = new LeaseSession(
            "c-" + UUID.randomUUID(), 1, () -> clockSteps.observe(System::nanoTime, System::currentTimeMillis));
    private final ClientPolicyRegistry policies;
    private final LeaseTopics topics;
    private final ClientLeases leases = new ClientLeases(session);
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(BY_TIME);
    private final ThreadLocal<DecisionAttempt> attempts;
    private final Thread thread = new Thread(this::run, "weir-client-leases");
    private final Set<StateKey> open = ConcurrentHashMap.newKeySet();
    private final Semaphore lastAnswers = new Semaphore(0);
    private volatile RuntimeException failure;

    private record Timer(long atMs, ClientLease held) {}

    /** Why there is no decision now. */
    enum Undecided {
        /** It is to be asked for over the topic. */
        OVER_TOPIC,
        /** A slice is waited for; or would be, by one who waits. */
        WAITS,
        /** As many wait as may. */
        NO_ROOM,
        /** The ledger does not answer. */
        NO_LEASE
    }

    /**
     * What has become of a request.
     *
     * @param decision null: there is none
     * @param undecided why not
     */
    record Reply(Decision decision, Undecided undecided) {}

    /** A request that can wait; one thread tells it how that ends. */
    interface Waiter {

        Request request();

        /** Begins to wait. Returns false if it may not. */
        boolean enter();

        /** Whether it waits no more. */
        boolean isOver();

        void end(Reply reply);
    }

    /** @throws org.apache.kafka.common.KafkaException if topics are missing, or the brokers refuse or do not answer */
    LeasedDecisions(ClientBuilder options, Optional<SchemaRegistry> registry) {
        long unansweredMs = options.timeout().toMillis();
        policies = new ClientPolicyRegistry(options.leases());
        attempts = ThreadLocal.withInitial(
                () -> new DecisionAttempt(leases, session, policies, unansweredMs, () -> LockSupport.unpark(thread)));
        topics = new LeaseTopics(options, registry, session.name(), policies, this::answered);
        topics.start();
        thread.setDaemon(true);
        thread.start();
    }

    /** Decides by what is at hand; null: that takes longer. */
    Decision tryDecide(Request request) {
        return attempts.get().tryDecide(request);
    }

    /** Decides, or lets the request wait. */
    Reply decide(Request request, Waiter waiter) {
        DecisionAttempt attempt = attempts.get();
        Decision decision = attempt.decide(request, waiter);
        return new Reply(decision, decision == null ? attempt.undecided() : null);
    }

    /** Of how many keys something is held, or was lately. */
    int keys() {
        return leases.size();
    }

    /** What last went wrong, none if it has gone well since. */
    Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure).or(topics::failure);
    }

    /** A lease of a key that is not used any more is returned. */
    private void answered(StateKey key, LeaseResponse response) {
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
        while (!leases.isClosed()) {
            try {
                session.checkClock();
                maintainAll(leases.nowMs());
                failure = null;
            } catch (RuntimeException e) { // of what was not told some quota is lost, and no more
                failure = e;
            }
            LockSupport.parkNanos(this, leases.size() == 0 ? IDLE_NANOS : TICK_NANOS);
        }
    }

    private void maintainAll(long nowMs) {
        for (ClientLease held = leases.nextDue(); held != null && !leases.isClosed(); held = leases.nextDue()) {
            maintain(held, nowMs);
        }
        while (!leases.isClosed() && !timers.isEmpty() && timers.peek().atMs <= nowMs) {
            Timer alarm = timers.remove();
            if (alarm.atMs == alarm.held.alarmMs()) {
                alarm.held.setAlarm(Long.MAX_VALUE);
                maintain(alarm.held, nowMs);
            }
        }
    }

    private void maintain(ClientLease held, long nowMs) {
        held.lock();
        held.setDone(); // what comes from here on makes it due again
        held.unlock();
        serve(held, nowMs);
        ClientLease.Messages messages = ClientLease.Messages.NONE;
        held.lock();
        try {
            if (!held.isRemoved()) {
                long ledgerMs = session.ledgerTimeMs(nowMs, System.currentTimeMillis());
                LeasedPolicyDecider policy = policies.rules().now(held.key().policyId(), ledgerMs);
                messages = held.next(policy, nowMs);
                if (held.isIdle(nowMs)) {
                    held.go();
                    leases.remove(held);
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
        messages.message().ifPresent(message -> topics.requestLease(held.key(), message));
        messages.usage().forEach(usage -> topics.report(held.key(), usage));
    }

    /** Decides those who wait, in their order, up to the first one that has to wait further. */
    private void serve(ClientLease held, long nowMs) {
        Waiting<Waiter> first = nextServed(held, nowMs);
        while (first != null) {
            DecisionAttempt attempt = attempts.get();
            Decision decision = attempt.decideAgain(first.request(), held, first.untilMs());
            if (decision == null && attempt.waitsOn(held)) {
                return;
            }
            held.lock();
            try {
                held.removeFirst();
            } finally {
                held.unlock();
            }
            if (decision != null || attempt.undecided() != Undecided.WAITS) {
                first.request().end(new Reply(decision, decision == null ? attempt.undecided() : null));
            }
            first = nextServed(held, nowMs);
        }
    }

    /** Null if nobody waits, or has to wait further. */
    private static Waiting<Waiter> nextServed(ClientLease held, long nowMs) {
        List<Waiter> unanswered = new ArrayList<>(0);
        Waiting<Waiter> first;
        held.lock();
        try {
            for (first = held.first(); first != null; first = held.first()) {
                boolean isOver = first.request().isOver();
                boolean isUnanswered = !isOver && held.holder().isFirstUnanswered(nowMs);
                if (isUnanswered) {
                    unanswered.add(first.request());
                }
                if (!isUnanswered && !isOver) {
                    first = held.holder().isFirstReady(nowMs) ? first : null;
                    break;
                }
                held.removeFirst();
            }
        } finally {
            held.unlock();
        }
        unanswered.forEach(waiter -> waiter.end(new Reply(null, Undecided.NO_LEASE)));
        return first;
    }

    /** Gives back all that is held, and tells what was used. */
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
        for (ClientLease held : leases.all()) {
            asked += giveBack(held) ? 1 : 0;
        }
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

    /** Returns whether more is asked for, which is to be given back as well. */
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
            held.go();
            leases.remove(held);
        } finally {
            held.unlock();
        }
        send(held, messages);
        return isOpen;
    }
}
