package dev.weir.client;

import dev.weir.codec.SchemaRegistry;
import dev.weir.lease.Ask;
import dev.weir.lease.Book;
import dev.weir.lease.Grant;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.Holdings;
import dev.weir.policy.Kind;
import dev.weir.policy.LeasedPolicy;
import dev.weir.policy.Outcome;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Reason;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import dev.weir.policy.Turn;
import dev.weir.policy.Wait;
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

/** Decides in this process by the slices of shared quota that it holds, and asks the ledgers for them. */
// Callers' threads decide under the locks of what they use. One thread looks after what was used, and what is due: it
// tells the ledgers, and lets those who wait go on. Another reads what the ledgers answer. What is given back is out of
// the book, under its lock, before the ledger is told; so it is never used after.
final class Leases implements AutoCloseable {

    /** Of more keys than that nothing is held at once: they are decided over the topic. */
    private static final int MAX_KEYS = 100_000;

    /** How often what was used is looked after. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What was asked for before the end is waited for, to be given back. */
    private static final long LAST_ANSWERS_MS = 1_000;

    private static final Comparator<Alarm> BY_TIME = Comparator.comparingLong(Alarm::atMs);

    private final String holder = "c-" + UUID.randomUUID();
    private final long unansweredMs;
    private final FollowedPolicies policies;
    private final LeaseTopics topics;
    private final AtomicLong told = new AtomicLong();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<StateKey, Held> all = new ConcurrentHashMap<>();
    private final Queue<Held> due = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Alarm> alarms = new PriorityQueue<>(BY_TIME);
    private final ThreadLocal<Attempt> attempts = ThreadLocal.withInitial(Attempt::new);
    private final Thread thread = new Thread(this::run, "weir-client-leases");
    private final Set<StateKey> open = ConcurrentHashMap.newKeySet();
    private final Semaphore lastAnswers = new Semaphore(0);
    private volatile boolean closed;
    private volatile RuntimeException failure;

    private record Alarm(long atMs, Held held) {}

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
    Leases(ClientBuilder options, Optional<SchemaRegistry> registry) {
        unansweredMs = options.timeout().toMillis();
        policies = new FollowedPolicies(options.leases());
        topics = new LeaseTopics(options, registry, holder, policies, this::answered);
        topics.start();
        thread.setDaemon(true);
        thread.start();
    }

    /** Decides by what is at hand; null: that takes longer. */
    Decision tryDecide(Request request) {
        return attempts.get().decide(request, true, null);
    }

    /** Decides, or lets the request wait. */
    Reply decide(Request request, Waiter waiter) {
        Attempt attempt = attempts.get();
        Decision decision = attempt.decide(request, true, waiter);
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
    private final class Attempt implements Holdings {

        private final PolicyTable.Search search = new PolicyTable.Search();
        private FollowedPolicies.Rule[] rules = {};
        private Held[] held = {};
        private Held[] byNumber = {};
        private Book[] before = {};
        private PolicyTable table;
        private int size;
        private Held served;
        private long servedUntilMs;
        private Held waitsOn;
        private Undecided undecided;
        private long atMs;

        /** Decides again for one who waits first for what is {@code held}. */
        Decision decideAgain(Waiter waiter, Held held, long untilMs) {
            served = held;
            servedUntilMs = untilMs;
            try {
                return decide(waiter.request(), System.currentTimeMillis() < untilMs, waiter);
            } finally {
                served = null;
            }
        }

        /** Null: not now, for the reason in {@link #undecided}. */
        Decision decide(Request request, boolean mayWait, Waiter waiter) {
            undecided = Undecided.OVER_TOPIC;
            waitsOn = null;
            long nowMs = System.currentTimeMillis();
            if ((request.kind() != Kind.CONSUME && request.kind() != Kind.PEEK) || !find(request, nowMs)) {
                return null;
            }
            try {
                atMs = nowMs;
                for (int i = 0; i < size; i++) {
                    atMs = held[i].timeMs(atMs);
                }
                return canTake(request)
                        ? take(request)
                        : decideByBooks(request, nowMs, new Turn(this, nowMs, served == null, mayWait), waiter);
            } finally {
                unlock();
            }
        }

        /** Finds and locks what the request uses; false: it is not decided here. */
        private boolean find(Request request, long nowMs) {
            FollowedPolicies.Rules current = policies.rules();
            table = current.table();
            table.find(request, nowMs, search);
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
                    Held found = rules[i].keys().find(request);
                    held[i] = found == null ? add(request, rules[i], nowMs) : found;
                    if (held[i] == null) {
                        return false;
                    }
                }
            } while (!lock());
            return true;
        }

        private void reserve() {
            if (held.length < size) {
                rules = new FollowedPolicies.Rule[size];
                held = new Held[size];
                byNumber = new Held[size];
                before = new Book[size];
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
                isGone |= byNumber[i].isGone();
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
            boolean canTake = request.kind() == Kind.CONSUME && request.cost() > 0;
            for (int i = 0; i < size && canTake; i++) {
                LeasedPolicy policy = rules[i].policy();
                canTake = held[i].has(request.cost(), policy, atMs) && policy.permitsSize(request);
            }
            return canTake;
        }

        private Decision take(Request request) {
            int binding = 0;
            for (int i = 0; i < size; i++) {
                held[i].take(request.cost(), atMs);
                setDue(held[i]);
                LeasedPolicy best = rules[binding].policy();
                if (i > 0 && rules[i].policy().binds(held[i].available(), best, held[binding].available())) {
                    binding = i;
                }
            }
            return rules[binding].policy().permits(request, held[binding].available(), atMs);
        }

        /** What is not simply permitted is decided as an enforcer does it. */
        private Decision decideByBooks(Request request, long nowMs, Turn turn, Waiter waiter) {
            for (int i = 0; i < size; i++) {
                before[i] = held[i].book();
            }
            States none = null; // all that applies is held
            Ruling ruling = Decider.decide(at(request, nowMs), table, none, turn);
            boolean isToWake = false;
            Decision decision = null;
            if (ruling instanceof Decision decided) {
                decision = count(request, decided);
            } else {
                undecided = waitFor((Wait) ruling, waiter, nowMs);
            }
            for (int i = 0; i < size; i++) {
                isToWake |= held[i].isToAsk(nowMs);
                setDue(held[i]);
                before[i] = null;
            }
            if (isToWake) {
                LockSupport.unpark(thread);
            }
            return decision;
        }

        private Decision count(Request request, Decision decision) {
            if (request.kind() != Kind.CONSUME) {
                return decision;
            }
            for (int i = 0; i < size; i++) {
                boolean isByThis = rules[i].policy().policy().id().equals(decision.policyId());
                if (decision.outcome() == Outcome.ALLOWED) {
                    held[i].allowed(before[i], atMs);
                } else if (isByThis && decision.reason() == Reason.LIMIT_EXCEEDED && isUnanswered(held[i])) {
                    undecided = Undecided.NO_LEASE;
                    return null;
                } else if (isByThis) {
                    held[i].denied(atMs);
                }
            }
            return decision;
        }

        private boolean isUnanswered(Held one) {
            return one.isUnanswered(unansweredMs, atMs);
        }

        private Undecided waitFor(Wait wait, Waiter waiter, long nowMs) {
            waitsOn = of(wait.on());
            if (waiter == null) { // it comes again, and is not wanted twice
                for (int i = 0; i < size; i++) {
                    held[i].put(before[i], rules[i].policy(), nowMs);
                }
            } else if (served == null) {
                if (!waiter.enter()) {
                    return Undecided.NO_ROOM;
                }
                waitsOn.park(waiter, nowMs + wait.maxWaitMs());
            } else if (waitsOn != served) {
                waitsOn.park(waiter, servedUntilMs);
            }
            return Undecided.WAITS;
        }

        private Held of(StateKey key) {
            for (int i = 0; i < size; i++) {
                if (held[i].key().equals(key)) {
                    return held[i];
                }
            }
            throw new IllegalStateException("not held: " + key);
        }

        @Override
        public Book book(StateKey key) {
            return of(key).book();
        }

        @Override
        public void put(StateKey key, Book book) {
            for (int i = 0; i < size; i++) {
                if (held[i].key().equals(key)) {
                    held[i].put(book, rules[i].policy(), atMs);
                }
            }
        }

        @Override
        public void miss(StateKey key, long cost) {
            of(key).miss(cost);
        }

        @Override
        public boolean isAwaited(StateKey key) {
            return of(key).isAwaited();
        }

        @Override
        public LeaseTerms terms(StateKey key) {
            for (int i = 0; i < size; i++) {
                if (held[i].key().equals(key)) {
                    return rules[i].policy().terms();
                }
            }
            throw new IllegalStateException("not held: " + key);
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
    private synchronized Held add(Request request, FollowedPolicies.Rule rule, long nowMs) {
        Held before = rule.keys().find(request);
        if (before != null) {
            return before;
        }
        if (closed || all.size() >= MAX_KEYS) {
            return null;
        }
        StateKey key = rule.policy().policy().stateKey(request);
        UsageCount usage = new UsageCount(key, holder, told);
        Held added = new Held(key, rule, numbers.incrementAndGet(), usage, nowMs);
        rule.keys().put(added);
        all.put(key, added);
        return added;
    }

    private synchronized void remove(Held held) {
        held.keys().remove(held);
        all.remove(held.key(), held);
    }

    /** Under its lock. */
    private void setDue(Held held) {
        if (held.setDue()) {
            due.add(held);
        }
    }

    /** What comes for what is not held any more is given back. */
    private void answered(StateKey key, Grant grant) {
        Held held = all.get(key);
        boolean isTaken = held != null && answered(held, grant);
        if (isTaken) {
            LockSupport.unpark(thread);
        } else if (grant instanceof Grant.Slice slice) {
            Ask.Report unused = new Ask.Report(slice.lease(), 0, slice.fromMs(), 0);
            topics.ask(key, new Ask(holder, 0, 0, List.of(unused), 0));
        }
        if (!isTaken && open.remove(key)) {
            lastAnswers.release();
        }
    }

    private boolean answered(Held held, Grant grant) {
        held.lock();
        try {
            if (!held.isGone()) {
                held.answered(grant, System.currentTimeMillis());
                setDue(held);
            }
            return !held.isGone();
        } finally {
            held.unlock();
        }
    }

    private void run() {
        while (!closed) {
            try {
                lookAfterAll(System.currentTimeMillis());
                failure = null;
            } catch (RuntimeException e) { // of what was not told some quota is lost, and no more
                failure = e;
            }
            LockSupport.parkNanos(this, all.isEmpty() ? IDLE_NANOS : TICK_NANOS);
        }
    }

    private void lookAfterAll(long nowMs) {
        for (Held held = due.poll(); held != null && !closed; held = due.poll()) {
            lookAfter(held, nowMs);
        }
        while (!closed && !alarms.isEmpty() && alarms.peek().atMs <= nowMs) {
            Alarm alarm = alarms.remove();
            if (alarm.atMs == alarm.held.alarmMs()) {
                alarm.held.setAlarm(Long.MAX_VALUE);
                lookAfter(alarm.held, nowMs);
            }
        }
    }

    private void lookAfter(Held held, long nowMs) {
        held.lock();
        held.setDone(); // what comes from here on makes it due again
        held.unlock();
        serve(held, nowMs);
        Held.Telling telling = new Held.Telling(null, List.of());
        held.lock();
        try {
            if (!held.isGone()) {
                LeasedPolicy policy = policies.rules().now(held.key().policyId(), nowMs);
                telling = held.tell(holder, policy, nowMs);
                if (held.isIdle(nowMs)) {
                    held.go();
                    remove(held);
                } else {
                    setAlarm(held, Math.max(held.dueMs(), nowMs + 1));
                }
            }
        } finally {
            held.unlock();
        }
        tell(held, telling);
    }

    private void setAlarm(Held held, long atMs) {
        if (atMs < held.alarmMs()) {
            held.setAlarm(atMs);
            alarms.add(new Alarm(atMs, held));
        }
    }

    private void tell(Held held, Held.Telling telling) {
        if (telling.ask() != null) {
            topics.ask(held.key(), telling.ask());
        }
        telling.usage().forEach(topics::tell);
    }

    /** Decides those who wait, in their order, up to the first one that has to wait further. */
    private void serve(Held held, long nowMs) {
        Held.Waiting first = nextServed(held, nowMs);
        while (first != null) {
            Attempt attempt = attempts.get();
            Decision decision = attempt.decideAgain(first.waiter(), held, first.untilMs());
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
                first.waiter().end(new Reply(decision, decision == null ? attempt.undecided : null));
            }
            first = nextServed(held, nowMs);
        }
    }

    /** Null if nobody waits, or has to wait further. */
    private static Held.Waiting nextServed(Held held, long nowMs) {
        List<Waiter> inVain = new ArrayList<>(0);
        Held.Waiting first;
        held.lock();
        try {
            for (first = held.first(); first != null; first = held.first()) {
                boolean isInVain = !first.waiter().isOver() && held.isInVain(nowMs);
                if (isInVain) {
                    inVain.add(first.waiter());
                }
                if (!isInVain && !first.waiter().isOver()) {
                    first = held.mustWait(nowMs) ? null : first;
                    break;
                }
                held.removeFirst();
            }
        } finally {
            held.unlock();
        }
        inVain.forEach(waiter -> waiter.end(new Reply(null, Undecided.NO_LEASE)));
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
        for (Held held : all.values()) {
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
    private boolean giveBack(Held held) {
        Held.Telling telling;
        boolean isOpen;
        held.lock();
        try {
            if (held.isGone()) {
                return false;
            }
            isOpen = held.book().question().isOpen();
            if (isOpen) {
                open.add(held.key());
            }
            telling = held.tellAll(holder);
            held.go();
            remove(held);
        } finally {
            held.unlock();
        }
        tell(held, telling);
        return isOpen;
    }
}
