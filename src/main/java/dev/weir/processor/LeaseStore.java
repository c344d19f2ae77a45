package dev.weir.processor;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.LeaseCodec;
import dev.weir.codec.WaiterCodec;
import dev.weir.codec.WaiterCodec.Waiter;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseHolder;
import dev.weir.lease.LeaseHolder.Waiting;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseSession;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Holdings;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.StateKey;
import dev.weir.policy.Wait;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Runs the {@link LeaseHolder}s of a task: keeps their books in one store and the requests that wait in another, sends their messages
 * and wakes them.
 */
// A step is all that one record or one alarm causes. At its end each holder that was touched may send a message, and
// its alarm
// is set. Books stay decoded while they are in use, and are written when the task commits. The requests that wait are
// in the
// store by order of arrival, and on the heap by what they wait for. After a restart they wait anew, and the leases of
// restored
// books are returned: the monotonic clock by which they expire was that of another process.
final class LeaseStore implements Holdings {

    /** More requests do not wait at once: they are denied instead. */
    static final int MAX_WAITING = 10_000;

    /** More books than this are not kept decoded, except those that have something to do. */
    private static final int MAX_DECODED = 10_000;

    private final LeaseSession session;
    private final HotStates books;
    private final KeyValueStore<Bytes, byte[]> waiting;
    private final LeaseTerms terms;
    private final Environment environment;
    private final WaiterCodec codec = new WaiterCodec();
    private final Map<StateKey, Entry> entries = new HashMap<>();
    private final List<Entry> touched = new ArrayList<>();
    private final List<Entry> changed = new ArrayList<>();
    private final PriorityQueue<Alarm> alarms = new PriorityQueue<>(Comparator.comparingLong(Alarm::atMs));
    private int mostDecoded = MAX_DECODED;
    private int places;
    private long nextNumber;

    /** What a task does for its holders. */
    interface Environment {

        /** The policies in force; the same object until they change. */
        PolicyTable policies();

        /** Decides a request that has waited. Returns what it waits for further, null if it was answered. */
        Wait again(Waiter waiter, boolean mayWait);

        /** Sends a message to a ledger, with an early commit if the answer is needed soon. */
        void send(StateKey key, LeaseRequest message, boolean soon);
    }

    private static final class Entry {
        private final StateKey key;
        private final LeaseHolder<Place> holder;
        private LeaseBook written;
        private PolicyTable termsOf;
        private long alarmMs = Long.MAX_VALUE;
        private boolean isTouched;
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
     * @param timestampMs of the request
     */
    private record Place(long number, long timestampMs) {}

    private record Alarm(long atMs, Entry entry) {}

    /** @param nowMs when the requests that are restored begin to wait */
    LeaseStore(
            LeaseSession session,
            HotStates books,
            KeyValueStore<Bytes, byte[]> waiting,
            LeaseTerms terms,
            Environment environment,
            long nowMs) {
        this.session = session;
        this.books = books;
        this.waiting = waiting;
        this.terms = terms;
        this.environment = environment;
        books.beforeFlush(this::write);
        try (KeyValueIterator<Bytes, byte[]> all = waiting.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> stored = all.next();
                long number = KeyCodec.readNote(stored.key.get());
                Waiter waiter = codec.decode(stored.value);
                setAlarm(place(waiter, number, nowMs + waiter.maxWaitMs()), nowMs);
                nextNumber = number + 1;
            }
        }
    }

    private Entry entry(StateKey key) {
        Entry entry = entries.get(key);
        if (entry == null) {
            byte[] bytes = books.bytes(key);
            LeaseHolder<Place> holder = bytes == null
                    ? LeaseHolder.empty(session, terms)
                    : LeaseHolder.restored(session, LeaseCodec.decodeBook(bytes), terms);
            entry = new Entry(key, holder, holder.book());
            entries.put(key, entry);
        }
        setTerms(entry);
        return entry;
    }

    private void setTerms(Entry entry) {
        PolicyTable policies = environment.policies();
        if (entry.termsOf != policies) {
            Policy policy = policies.newest(entry.key.policyId());
            entry.holder.setTerms(policy == null ? terms : policy.terms(terms));
            entry.termsOf = policies;
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

    @Override
    public LeaseBook book(StateKey key) {
        session.checkClock();
        return entry(key).holder.book();
    }

    @Override
    public void put(StateKey key, LeaseBook book) {
        touch(key).holder.put(book);
    }

    @Override
    public void miss(StateKey key, long cost) {
        touch(key).holder.miss(cost);
    }

    @Override
    public boolean isAwaited(StateKey key) {
        return entry(key).holder.isAwaited();
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

    /** Whether one more request may wait. */
    boolean hasRoom() {
        return places < MAX_WAITING;
    }

    /** The earliest time of a request that waits, {@link Long#MAX_VALUE} if none does. */
    long earliestMs() {
        long earliestMs = Long.MAX_VALUE;
        for (Entry entry : places == 0 ? List.<Entry>of() : entries.values()) {
            for (Waiting<Place> one : entry.holder.waiting()) {
                earliestMs = Math.min(earliestMs, one.request().timestampMs);
            }
        }
        return earliestMs;
    }

    /** Lets a request wait, behind those that wait for the same. */
    void park(Waiter waiter, long nowMs) {
        parkUntil(waiter, nowMs + waiter.maxWaitMs());
    }

    private void parkUntil(Waiter waiter, long untilMs) {
        long number = nextNumber++;
        waiting.put(Bytes.wrap(KeyCodec.note(number)), codec.encode(waiter));
        touch(place(waiter, number, untilMs).key);
    }

    private Entry place(Waiter waiter, long number, long untilMs) {
        Entry entry = entry(waiter.on());
        Request request = waiter.request();
        entry.holder.park(new Place(number, request.timestampMs()), request.cost(), untilMs);
        places++;
        return entry;
    }

    /** Takes what a ledger has answered. */
    void respond(StateKey key, LeaseResponse response, long nowMs) {
        session.checkClock();
        Entry entry = touch(key);
        entry.holder.respond(response, nowMs);
        serve(entry, nowMs);
    }

    /** When it is to be {@linkplain #wake woken}, {@link Long#MAX_VALUE} if not at all. */
    long dueMs() {
        return alarms.isEmpty() ? Long.MAX_VALUE : alarms.peek().atMs;
    }

    /** Does what is due. */
    void wake(long nowMs) {
        session.checkClock();
        while (dueMs() <= nowMs) {
            Alarm alarm = alarms.remove();
            if (alarm.entry.alarmMs == alarm.atMs) {
                alarm.entry.alarmMs = Long.MAX_VALUE;
                serve(touch(alarm.entry.key), nowMs);
            }
        }
    }

    /** Decides the requests that wait, in their order, up to the first one that has to wait further. */
    private void serve(Entry entry, long nowMs) {
        while (entry.holder.isFirstReady(nowMs)) {
            Waiting<Place> first = entry.holder.first();
            Bytes place = Bytes.wrap(KeyCodec.note(first.request().number));
            Waiter waiter = codec.decode(waiting.get(place));
            Wait wait = environment.again(waiter, nowMs < first.untilMs());
            if (wait != null && wait.on().equals(entry.key)) {
                return;
            }
            entry.holder.removeFirst();
            places--;
            waiting.delete(place);
            if (wait != null) {
                parkUntil(waiter.on(wait.on()), first.untilMs());
            }
        }
    }

    /** Ends a step: sends what is to be sent. */
    void endStep(long nowMs) {
        for (int i = 0; i < touched.size(); i++) {
            end(touched.get(i), nowMs);
        }
        touched.clear();
        if (entries.size() > mostDecoded) {
            write();
            entries.values().removeIf(entry -> entry.alarmMs == Long.MAX_VALUE && entry.holder.isIdle(nowMs));
            mostDecoded = Math.max(MAX_DECODED, 2 * entries.size());
        }
    }

    private void end(Entry entry, long nowMs) {
        entry.isTouched = false;
        Optional<LeaseRequest> message = entry.holder.nextMessage(nowMs);
        if (message.isPresent()) {
            environment.send(entry.key, message.get(), message.get().least() > 0);
        }
        if (!entry.isChanged && !entry.holder.book().equals(entry.written)) {
            entry.isChanged = true;
            changed.add(entry);
        }
        setAlarm(entry, entry.holder.dueAtMs(nowMs));
    }

    private void setAlarm(Entry entry, long atMs) {
        if (entry.alarmMs != atMs) {
            entry.alarmMs = atMs;
            if (atMs != Long.MAX_VALUE) {
                alarms.add(new Alarm(atMs, entry));
            }
        }
    }

    private void write() {
        for (Entry entry : changed) {
            entry.written = entry.holder.book();
            books.put(entry.key, LeaseCodec.encode(entry.written));
            entry.isChanged = false;
        }
        changed.clear();
    }
}
