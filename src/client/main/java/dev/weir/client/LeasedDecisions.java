package dev.weir.client;

import dev.weir.decision.Decider;
import dev.weir.decision.LeaseContext;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.decision.PolicyStates;
import dev.weir.decision.WritableLeases;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.ClockStepDetector;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseHolder.Waiting;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseSession;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.PolicyTable;
import dev.weir.wire.SchemaRegistry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Decides in this process by leases of shared quotas, which it requests from the ledgers. */
// Callers' threads decide under the locks of the leases that they use. One thread does maintenance: it sends messages
// to the
// ledgers and decides the requests that wait. Another reads the responses. What is returned is taken out of the book,
// under
// its lock, before the message is sent; so it is never used afterwards.
final class LeasedDecisions implements AutoCloseable {

    /** Of more keys than that nothing is held at once: they are decided over the topic. */
    private static final int MAX_KEYS = 100_000;

    /** How often what was used is looked after. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final long NANOS_PER_MS = 1_000_000;
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What was asked for before the end is waited for, to be given back. */
    private static final long LAST_ANSWERS_MS = 1_000;

    private static final Comparator<Timer> BY_TIME = Comparator.comparingLong(Timer::atMs);

    private final ClockStepDetector clockSteps = new ClockStepDetector();
    private final LeaseSession session = new LeaseSession(
            "c-" + UUID.randomUUID(), 1, () -> clockSteps.observe(System::nanoTime, System::currentTimeMillis));
    private final long startNanos = System.nanoTime();
    private final long unansweredMs;
    private final ClientPolicyRegistry policies;
    private final LeaseTopics topics;
    private final AtomicLong told = new AtomicLong();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<StateKey, ClientLease> all = new ConcurrentHashMap<>();
    private final Queue<ClientLease> due = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(BY_TIME);
    private final ThreadLocal<Attempt> attempts = ThreadLocal.withInitial(Attempt::new);
    private final Thread thread = new Thread(this::run, "weir-client-leases");
    private final Set<StateKey> open = ConcurrentHashMap.newKeySet();
    private final Semaphore lastAnswers = new Semaphore(0);
    private volatile boolean closed;
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
        unansweredMs = options.timeout().toMillis();
        policies = new ClientPolicyRegistry(options.leases());
        topics = new LeaseTopics(options, registry, session.name(), policies, this::answered);
        topics.start();
        thread.setDaemon(true);
        thread.start();
    }

    /** This process's monotonic clock, from 0. */
    private long nowMs() {
        return (System.nanoTime() - startNanos) / NANOS_PER_MS;
    }

    /** Decides by what is at hand; null: that takes longer. */
    Decision tryDecide(Request request) {
        return attempts.get().tryDecide(request);
    }

    /** Decides, or lets the request wait. */
    Reply decide(Request request, Waiter waiter) {
        Attempt attempt = attempts.get();
        Decision decision = attempt.decide(request, waiter);
        return new Reply(decision, decision == null ? attempt.undecided : null);
    }

    /** Of how many keys something is held, or was lately. */
    int keys() {
        return all.size();
    }

    /** What last went wrong, none if it has gone well since. */
    Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure).or(topics::failure);
    }

    /** One request after the other, in room that is used again; for one thread. */
    private final class Attempt implements WritableLeases {

        /** What to do with a request that has to wait, under the locks of its leases. Returns why it is undecided. */
        private interface OnWait {

            Undecided park(AwaitLease wait, ClientLease on);
        }

        private final PolicyTable.Search search = new PolicyTable.Search();
        private ClientPolicyRegistry.Rule[] rules = {};
        private ClientLease[] held = {};
        private ClientLease[] byNumber = {};
        private LeaseBook[] before = {};
        private PolicyTable table;
        private int size;
        private ClientLease waitsOn;
        private Undecided undecided;
        private long nowMs;
        private long atMs;

        /** Decides a request that does not wait: it is decided again by {@link #decide} instead. Null if it is {@link #undecided}. */
        Decision tryDecide(Request request) {
            return decide(request, true, true, (wait, on) -> restoreBooks());
        }

        /** Decides a request, or lets it wait. Null if it is {@link #undecided}. */
        Decision decide(Request request, Waiter waiter) {
            return decide(request, true, true, (wait, on) -> park(waiter, wait, on));
        }

        /** Decides a request that is the first to wait for what is {@code held}. Null if it is {@link #undecided}. */
        Decision decideAgain(Waiter waiter, ClientLease held, long untilMs) {
            return decide(
                    waiter.request(), false, nowMs() < untilMs, (wait, on) -> parkAgain(waiter, held, on, untilMs));
        }

        private Decision decide(Request request, boolean isFirst, boolean mayWait, OnWait onWait) {
            undecided = Undecided.OVER_TOPIC;
            waitsOn = null;
            session.checkClock();
            nowMs = nowMs();
            long ledgerMs = session.ledgerTimeMs(nowMs, System.currentTimeMillis());
            if ((request.kind() != RequestKind.CONSUME && request.kind() != RequestKind.PEEK)
                    || !find(request, ledgerMs)) {
                return null;
            }
            try {
                atMs = Long.MIN_VALUE;
                for (int i = 0; i < size; i++) {
                    atMs = Math.max(atMs, held[i].timeMs(nowMs));
                }
                return canTake(request)
                        ? take(request)
                        : decideByBooks(at(request, ledgerMs), new LeaseContext(this, nowMs, isFirst, mayWait), onWait);
            } finally {
                unlock();
            }
        }

        /** Finds and locks what the request uses; false: it is not decided here. */
        private boolean find(Request request, long ledgerMs) {
            ClientPolicyRegistry.Rules current = policies.rules();
            table = current.table();
            table.find(request, ledgerMs, search);
            size = search.size();
            if (size == 0) {
                return false;
            }
            reserve();
            for (int i = 0; i < size; i++) {
                rules[i] = current.byPolicy().get(search.policy(i));
                if (rules[i] == null) {
                    return false;
                }
            }
            do {
                for (int i = 0; i < size; i++) {
                    ClientLease found = rules[i].keys().find(request);
                    held[i] = found == null ? add(request, rules[i]) : found;
                    if (held[i] == null) {
                        return false;
                    }
                }
            } while (!lock());
            return true;
        }

        private void reserve() {
            if (held.length < size) {
                rules = new ClientPolicyRegistry.Rule[size];
                held = new ClientLease[size];
                byNumber = new ClientLease[size];
                before = new LeaseBook[size];
            }
        }

        /** Locks all, in an order that is the same for everybody. Returns false, and locks none, if one is out of use. */
        private boolean lock() {
            for (int i = 0; i < size; i++) {
                int at = i;
                for (; at > 0 && byNumber[at - 1].number() > held[i].number(); at--) {
                    byNumber[at] = byNumber[at - 1];
                }
                byNumber[at] = held[i];
            }
            boolean isGone = false;
            for (int i = 0; i < size; i++) {
                byNumber[i].lock();
                isGone |= byNumber[i].isRemoved();
            }
            if (isGone) {
                unlock();
            }
            return !isGone;
        }

        private void unlock() {
            for (int i = size - 1; i >= 0; i--) {
                byNumber[i].unlock();
            }
        }

        private boolean canTake(Request request) {
            boolean canTake = request.kind() == RequestKind.CONSUME && request.cost() > 0;
            for (int i = 0; i < size && canTake; i++) {
                LeasedPolicyDecider policy = rules[i].policy();
                canTake = held[i].has(request.cost(), policy, nowMs, atMs) && policy.permitsSize(request);
            }
            return canTake;
        }

        private Decision take(Request request) {
            int binding = 0;
            for (int i = 0; i < size; i++) {
                held[i].take(request.cost(), nowMs, atMs);
                setDue(held[i]);
                LeasedPolicyDecider best = rules[binding].policy();
                if (i > 0 && rules[i].policy().isBinding(held[i].available(), best, held[binding].available())) {
                    binding = i;
                }
            }
            return rules[binding].policy().allowedDecision(request, held[binding].available(), atMs);
        }

        /** What is not simply permitted is decided as an enforcer does it. */
        private Decision decideByBooks(Request request, LeaseContext context, OnWait onWait) {
            for (int i = 0; i < size; i++) {
                before[i] = held[i].book();
            }
            DecisionResult ruling = Decider.readOnly(PolicyStates.NONE, context).decide(request, table);
            boolean isToWake = false;
            Decision decision = null;
            if (ruling instanceof Decision decided) {
                decision = count(request, decided);
            } else {
                AwaitLease wait = (AwaitLease) ruling;
                waitsOn = of(wait.key());
                undecided = onWait.park(wait, waitsOn);
            }
            for (int i = 0; i < size; i++) {
                isToWake |= held[i].isToRequest(nowMs);
                setDue(held[i]);
                before[i] = null;
            }
            if (isToWake) {
                LockSupport.unpark(thread);
            }
            return decision;
        }

        private Decision count(Request request, Decision decision) {
            if (request.kind() != RequestKind.CONSUME) {
                return decision;
            }
            for (int i = 0; i < size; i++) {
                boolean isByThis = rules[i].policy().policy().id().equals(decision.policyId());
                if (decision.outcome() == Outcome.ALLOWED) {
                    held[i].allowed(before[i], decision.decidedAtMs());
                } else if (isByThis && decision.reason() == Reason.QUOTA_NOT_AT_HAND && isUnanswered(held[i])) {
                    undecided = Undecided.NO_LEASE;
                    return null;
                } else if (isByThis) {
                    held[i].denied(decision.decidedAtMs());
                }
            }
            return decision;
        }

        private boolean isUnanswered(ClientLease one) {
            return one.holder().isUnanswered(unansweredMs, nowMs);
        }

        /** The request is decided again: its demand is not counted twice. */
        private Undecided restoreBooks() {
            for (int i = 0; i < size; i++) {
                held[i].put(before[i], rules[i].policy(), nowMs);
            }
            return Undecided.WAITS;
        }

        private Undecided park(Waiter waiter, AwaitLease wait, ClientLease on) {
            if (!waiter.enter()) {
                return Undecided.NO_ROOM;
            }
            on.park(waiter, nowMs + wait.maxWaitMs());
            return Undecided.WAITS;
        }

        private Undecided parkAgain(Waiter waiter, ClientLease served, ClientLease on, long untilMs) {
            if (on != served) {
                on.park(waiter, untilMs);
            }
            return Undecided.WAITS;
        }

        private ClientLease of(StateKey key) {
            for (int i = 0; i < size; i++) {
                if (held[i].key().equals(key)) {
                    return held[i];
                }
            }
            throw new IllegalStateException("not held: " + key);
        }

        @Override
        public LeaseBook book(StateKey key) {
            return of(key).book();
        }

        @Override
        public void put(StateKey key, LeaseBook book) {
            for (int i = 0; i < size; i++) {
                if (held[i].key().equals(key)) {
                    held[i].put(book, rules[i].policy(), nowMs);
                }
            }
        }

        @Override
        public void recordUnmetDemand(StateKey key, long cost) {
            of(key).holder().recordUnmetDemand(cost);
        }

        @Override
        public boolean hasWaiting(StateKey key) {
            return of(key).holder().hasWaiting();
        }

        @Override
        public LeaseTerms terms(StateKey key) {
            return of(key).holder().terms();
        }

        @Override
        public long roundTripMs() {
            return session.roundTrip().smoothedMs();
        }

        @Override
        public long leaseWaitMs() {
            return session.roundTrip().waitMs();
        }
    }

    /** It comes now, whatever its own clock says, and from nowhere. */
    private static Request at(Request request, long nowMs) {
        return new Request(
                request.requestId(),
                request.client(),
                request.kind(),
                request.tier(),
                request.cost(),
                request.sizeBytes(),
                request.attributes(),
                request.deadlineMs(),
                null,
                null,
                nowMs,
                Request.Source.NONE);
    }

    /** Null if there is no room for one more. */
    private synchronized ClientLease add(Request request, ClientPolicyRegistry.Rule rule) {
        ClientLease before = rule.keys().find(request);
        if (before != null) {
            return before;
        }
        if (closed || all.size() >= MAX_KEYS) {
            return null;
        }
        StateKey key = rule.policy().policy().stateKey(request);
        UsageAggregator usage = new UsageAggregator(key, session.name(), told);
        ClientLease added = new ClientLease(key, rule, numbers.incrementAndGet(), usage, session, nowMs());
        rule.keys().put(added);
        all.put(key, added);
        return added;
    }

    private synchronized void remove(ClientLease held) {
        held.keys().remove(held);
        all.remove(held.key(), held);
    }

    /** Under its lock. */
    private void setDue(ClientLease held) {
        if (held.setDue()) {
            due.add(held);
        }
    }

    /** A lease of a key that is not used any more is returned. */
    private void answered(StateKey key, LeaseResponse response) {
        ClientLease held = all.get(key);
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
                held.respond(response, nowMs());
                setDue(held);
            }
            return !held.isRemoved();
        } finally {
            held.unlock();
        }
    }

    private void run() {
        while (!closed) {
            try {
                session.checkClock();
                maintainAll(nowMs());
                failure = null;
            } catch (RuntimeException e) { // of what was not told some quota is lost, and no more
                failure = e;
            }
            LockSupport.parkNanos(this, all.isEmpty() ? IDLE_NANOS : TICK_NANOS);
        }
    }

    private void maintainAll(long nowMs) {
        for (ClientLease held = due.poll(); held != null && !closed; held = due.poll()) {
            maintain(held, nowMs);
        }
        while (!closed && !timers.isEmpty() && timers.peek().atMs <= nowMs) {
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
        messages.message().ifPresent(message -> topics.requestLease(held.key(), message));
        messages.usage().forEach(usage -> topics.report(held.key(), usage));
    }

    /** Decides those who wait, in their order, up to the first one that has to wait further. */
    private void serve(ClientLease held, long nowMs) {
        Waiting<Waiter> first = nextServed(held, nowMs);
        while (first != null) {
            Attempt attempt = attempts.get();
            Decision decision = attempt.decideAgain(first.request(), held, first.untilMs());
            if (decision == null && attempt.undecided == Undecided.WAITS && attempt.waitsOn == held) {
                return;
            }
            held.lock();
            try {
                held.removeFirst();
            } finally {
                held.unlock();
            }
            if (decision != null || attempt.undecided != Undecided.WAITS) {
                first.request().end(new Reply(decision, decision == null ? attempt.undecided : null));
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
        closed = true;
        LockSupport.unpark(thread);
        boolean isInterrupted = false;
        try {
            thread.join(LAST_ANSWERS_MS);
        } catch (InterruptedException e) {
            isInterrupted = true;
        }
        int asked = 0;
        for (ClientLease held : all.values()) {
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
            remove(held);
        } finally {
            held.unlock();
        }
        send(held, messages);
        return isOpen;
    }
}
