package dev.weir.processor;

import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.AwaitLease;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.WaitingLine;
import dev.weir.lease.holder.WaitingLine.Waiting;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.codec.LeaseBookCodec;
import dev.weir.storage.codec.WaiterCodec;
import dev.weir.storage.codec.WaiterCodec.Waiter;
import dev.weir.time.DueTime;
import dev.weir.wire.KeyCodec;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The {@link LeaseHolder}s of a task. Their books are kept in one store and the waiting requests in another. The class
 * neither decides nor sends: the caller decides the requests that {@link #nextReady} returns and sends the messages
 * that {@link #endStep} returns.
 *
 * <pre>
 *   respond ─╮
 *            ├─▶ nextReady ──▶ decide again ──▶ remove      decided
 *   wake ────╯       ▲                     ╰──▶ parkAgain   waits on
 *                    ╰──── until none is ready ────────╯
 * </pre>
 */
// A step is the processing of one record or one timer. At its end, each holder that was touched may have a message to
// send, and its timer is set. Books stay decoded while they are in use and are written when the task commits. The
// waiting requests are in the store in order of arrival, and on the heap by the key that they wait for. After a restart
// their wait starts again, and the leases of restored books are returned, because they expire by the monotonic clock of
// another process.
final class LeaseStore implements WritableLeases {

    /** The maximum number of waiting requests. Further ones are denied. */
    static final int MAX_WAITING = 10_000;

    /** The number of decoded books above which idle ones are dropped from the heap. */
    private static final int MAX_DECODED = 10_000;

    private final LeaseSession session;
    private final WriteBackStore<StateKey, LeaseBook> books;
    private final KeyValueStore<Bytes, byte[]> waiting;
    private final LeaseTerms terms;
    private final Supplier<PolicyTable> policies;
    private final WaiterCodec codec = new WaiterCodec();
    private final Map<StateKey, Entry> entries = new HashMap<>();
    private final Map<RequestKey, List<Waiting<Place>>> takers = new HashMap<>();
    private final List<Entry> touched = new ArrayList<>();
    private final List<Entry> changed = new ArrayList<>();
    private final Deque<Entry> served = new ArrayDeque<>();
    private WaitingLine<Place> ready; // the line of the request that nextReady returned last
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(Comparator.comparingLong(Timer::atMs));
    private int mostDecoded = MAX_DECODED;
    private int places;
    private long nextNumber;

    /**
     * A request to decide again.
     *
     * @param waiter the request
     * @param untilMs when it must be decided at the latest
     */
    record Ready(Waiter waiter, long untilMs) {}

    /** A message to the ledger of a key. */
    record Message(StateKey key, LeaseRequest request) {}

    private static final class Entry {
        private final StateKey key;
        private final LeaseHolder<Place> holder;
        private LeaseBook written;
        private PolicyTable termsOf;
        private long timerMs = DueTime.NEVER;
        private boolean isTouched;
        private boolean isServed;
        private boolean isChanged;

        Entry(StateKey key, LeaseHolder<Place> holder, LeaseBook written) {
            this.key = key;
            this.holder = holder;
            this.written = written;
        }
    }

    /**
     * The place of a request in the order of arrival.
     *
     * @param number ascending in order of arrival
     * @param timestampMs the timestamp of the request
     * @param key the key that it waits for
     * @param request the request
     */
    private record Place(long number, long timestampMs, StateKey key, RequestKey request) {}

    private record Timer(long atMs, Entry entry) {}

    /**
     * Opens the store.
     *
     * @param policies returns the policies in force; the same object until they change
     * @param nowMs the time from which the wait of restored requests is measured
     */
    LeaseStore(
            LeaseSession session,
            WriteBackStore<StateKey, LeaseBook> books,
            KeyValueStore<Bytes, byte[]> waiting,
            LeaseTerms terms,
            Supplier<PolicyTable> policies,
            long nowMs) {
        this.session = session;
        this.books = books;
        this.waiting = waiting;
        this.terms = terms;
        this.policies = policies;
        books.open(new LeaseBookCodec());
        books.beforeFlush(this::write);
        try (KeyValueIterator<Bytes, byte[]> all = waiting.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> stored = all.next();
                long number = KeyCodec.decodeNumber(stored.key.get());
                Waiter waiter = codec.decode(stored.value);
                setTimer(place(waiter, number, nowMs + waiter.maxWaitMs()), nowMs);
                nextNumber = number + 1;
            }
        }
    }

    private Entry entry(StateKey key) {
        Entry entry = entries.get(key);
        if (entry == null) {
            LeaseBook stored = books.read(key);
            LeaseHolder<Place> holder =
                    stored == null ? LeaseHolder.empty(session, terms) : LeaseHolder.restored(session, stored, terms);
            entry = new Entry(key, holder, holder.book());
            entries.put(key, entry);
        }
        setTerms(entry);
        return entry;
    }

    private void setTerms(Entry entry) {
        PolicyTable table = policies.get();
        if (entry.termsOf != table) {
            Policy policy = table.latest(entry.key.policyId());
            entry.holder.setTerms(policy == null ? terms : policy.leaseTerms(terms));
            entry.termsOf = table;
        }
    }

    private Entry touch(StateKey key) {
        Entry entry = entry(key);
        if (!entry.isTouched) {
            entry.isTouched = true;
            touched.add(entry);
        }
        return entry;
    }

    /** Has the requests that wait for a key examined, once: also if a decision on one of them changes its book. */
    private void serve(Entry entry) {
        if (!entry.isServed) {
            entry.isServed = true;
            served.add(entry);
        }
    }

    private void endService() {
        served.remove().isServed = false;
    }

    @Override
    public LeaseBook book(StateKey key) {
        session.checkClock();
        return entry(key).holder.book();
    }

    @Override
    public void put(StateKey key, LeaseBook book) {
        Entry entry = touch(key);
        entry.holder.setBook(book);
        if (entry.holder.hasWaiting()) { // which may pass by tokens that have returned
            serve(entry);
        }
    }

    @Override
    public void recordUnmetDemand(StateKey key, long cost) {
        touch(key).holder.recordUnmetDemand(cost);
    }

    @Override
    public void recordQuestion(StateKey key, long cost) {
        touch(key).holder.recordQuestion(cost);
    }

    @Override
    public void reset(StateKey key) {
        touch(key).holder.reset();
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return entry(key).holder.hasWaiting();
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return entry(key).holder.terms();
    }

    @Override
    public long roundTripMs() {
        return session.roundTrip().smoothedMs();
    }

    @Override
    public long leaseWaitMs() {
        return session.roundTrip().waitMs();
    }

    /** Returns whether one more request can wait. */
    boolean hasRoom() {
        return places < MAX_WAITING;
    }

    /** Returns the earliest timestamp of the waiting requests, {@link DueTime#NEVER} if none waits. */
    long earliestMs() {
        long earliestMs = DueTime.NEVER;
        for (Entry entry : places == 0 ? List.<Entry>of() : entries.values()) {
            for (WaitingLine<Place> line : entry.holder.lines()) {
                for (Waiting<Place> one : line) {
                    earliestMs = Math.min(earliestMs, one.request().timestampMs);
                }
            }
        }
        return earliestMs;
    }

    /** Appends a request to those that wait for the same key. */
    void park(Waiter waiter, long nowMs) {
        parkUntil(waiter, nowMs + waiter.maxWaitMs());
    }

    private void parkUntil(Waiter waiter, long untilMs) {
        long number = nextNumber++;
        waiting.put(Bytes.wrap(KeyCodec.encodeNumber(number)), codec.encode(waiter));
        touch(place(waiter, number, untilMs).key);
    }

    private Entry place(Waiter waiter, long number, long untilMs) {
        Entry entry = entry(waiter.key());
        Request request = waiter.request();
        Place place = new Place(number, request.timestampMs(), waiter.key(), RequestKey.of(request));
        if (request.kind() == RequestKind.PEEK) {
            entry.holder.parkPeek(place, request.cost(), untilMs);
        } else if (request.kind() == RequestKind.RENEW) {
            entry.holder.parkRenewal(place, untilMs);
        } else {
            Waiting<Place> parked = entry.holder.park(place, request.cost(), untilMs);
            takers.computeIfAbsent(place.request, key -> new ArrayList<>(1)).add(parked);
        }
        places++;
        return entry;
    }

    /**
     * Ends the wait of the requests with a key, of which there are several only if they are repeats of each other, and
     * returns them. Requests that waited behind them may become {@linkplain #nextReady ready}.
     */
    List<Waiter> cancel(RequestKey request) {
        List<Waiter> cancelled = new ArrayList<>();
        for (Waiting<Place> parked : takers.getOrDefault(request, List.of())) {
            Place place = parked.request();
            Entry entry = touch(place.key);
            cancelled.add(codec.decode(waiting.get(stored(place))));
            waiting.delete(stored(place));
            entry.holder.takers().remove(parked);
            places--;
            serve(entry);
        }
        takers.remove(request);
        return cancelled;
    }

    /** Applies the response of a ledger. Requests that waited for it may become {@linkplain #nextReady ready}. */
    void respond(StateKey key, LeaseResponse response, long nowMs) {
        session.checkClock();
        Entry entry = touch(key);
        entry.holder.handleResponse(response, nowMs);
        serve(entry);
    }

    /** Returns when {@link #wake} must be called, {@link DueTime#NEVER} for never. */
    long dueMs() {
        return timers.isEmpty() ? DueTime.NEVER : timers.peek().atMs;
    }

    /** Handles the timers that are due. Requests may become {@linkplain #nextReady ready}. */
    void wake(long nowMs) {
        session.checkClock();
        while (dueMs() <= nowMs) {
            Timer timer = timers.remove();
            if (timer.entry.timerMs == timer.atMs) {
                timer.entry.timerMs = DueTime.NEVER;
                serve(touch(timer.entry.key));
            }
        }
    }

    /**
     * Returns the next request to decide again. Call {@link #remove} or {@link #parkAgain} for it before the next call,
     * and repeat until none is ready. The requests that wait for a lease of a key become ready in order, up to the first
     * one that must continue to wait, and likewise those that wait for an answer.
     */
    Optional<Ready> nextReady(long nowMs) {
        for (; !served.isEmpty(); endService()) {
            ready = served.peek().holder.readyLine(nowMs);
            if (ready != null) {
                return Optional.of(ready(ready.first()));
            }
        }
        return Optional.empty();
    }

    private Ready ready(Waiting<Place> first) {
        return new Ready(codec.decode(waiting.get(stored(first.request()))), first.untilMs());
    }

    private static Bytes stored(Place place) {
        return Bytes.wrap(KeyCodec.encodeNumber(place.number));
    }

    /** Removes the request that {@link #nextReady} returned last, because it was decided. */
    void remove() {
        Waiting<Place> first = ready.first();
        waiting.delete(stored(first.request()));
        ready.removeFirst();
        places--;
        takers.computeIfPresent(first.request().request, (key, all) -> {
            all.remove(first);
            return all.isEmpty() ? null : all;
        });
    }

    /** Lets the request that {@link #nextReady} returned last continue to wait, for the same key or another one. */
    void parkAgain(Ready ready, AwaitLease wait) {
        Entry entry = served.element();
        if (!wait.key().equals(entry.key)) {
            remove();
            parkUntil(ready.waiter.withKey(wait.key()), ready.untilMs);
        } else if (ready.waiter.request().kind() == RequestKind.RENEW) {
            entry.holder.awaitRenewal();
        } else {
            endService();
        }
    }

    /**
     * Ends a step and returns the messages to send. No request may be {@linkplain #nextReady ready} any more.
     */
    List<Message> endStep(long nowMs) {
        List<Message> messages = touched.isEmpty() ? List.of() : new ArrayList<>(touched.size());
        for (Entry entry : touched) {
            end(entry, nowMs, messages);
        }
        touched.clear();
        if (entries.size() > mostDecoded) {
            write();
            entries.values().removeIf(entry -> entry.timerMs == DueTime.NEVER && entry.holder.isIdle(nowMs));
            mostDecoded = Math.max(MAX_DECODED, 2 * entries.size());
        }
        return messages;
    }

    private void end(Entry entry, long nowMs, List<Message> messages) {
        entry.isTouched = false;
        for (var next = entry.holder.nextMessage(nowMs); next.isPresent(); next = entry.holder.nextMessage(nowMs)) {
            messages.add(new Message(entry.key, next.get()));
        }
        if (!entry.isChanged && !entry.holder.book().isStoredLike(entry.written)) {
            entry.isChanged = true;
            changed.add(entry);
        }
        setTimer(entry, entry.holder.dueAtMs(nowMs));
    }

    private void setTimer(Entry entry, long atMs) {
        if (entry.timerMs != atMs) {
            entry.timerMs = atMs;
            if (atMs != DueTime.NEVER) {
                timers.add(new Timer(atMs, entry));
            }
        }
    }

    private void write() {
        for (Entry entry : changed) {
            entry.written = entry.holder.book();
            books.put(entry.key, entry.written);
            entry.isChanged = false;
        }
        changed.clear();
    }
}
