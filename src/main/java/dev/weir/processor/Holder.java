package dev.weir.processor;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.LeaseCodec;
import dev.weir.codec.WaiterCodec;
import dev.weir.codec.WaiterCodec.Waiter;
import dev.weir.lease.Ask;
import dev.weir.lease.Book;
import dev.weir.lease.Grant;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Holdings;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.StateKey;
import dev.weir.policy.Wait;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * What a task holds of shared quota, in a store; the requests that wait for more of it, in another; and what it asks the ledgers for.
 */
// A step is all that one record or one alarm does. At its end each book that it has touched is told to its ledger, if
// there is something to tell, and its alarm is set. Books stay decoded while they are in use, and are written when the
// task commits. Who waits is in the store by the order of arrival, and on the heap by what it waits for. An alarm that
// is not set again after a restart is one that a slice was to be given back at: it ends by itself.
final class Holder implements Holdings {

    /** More requests do not wait at once: they are denied instead. */
    static final int MAX_WAITING = 10_000;

    /** More books than this are not kept decoded, but for those of which something is due. */
    private static final int MAX_DECODED = 10_000;

    private final String name;
    private final HotStates books;
    private final KeyValueStore<Bytes, byte[]> waiting;
    private final LeaseTerms terms;
    private final Environment environment;
    private final WaiterCodec codec = new WaiterCodec();
    private final Map<StateKey, Holding> holdings = new HashMap<>();
    private final List<Holding> touched = new ArrayList<>();
    private final List<Holding> changed = new ArrayList<>();
    private final PriorityQueue<Due> dues = new PriorityQueue<>(Comparator.comparingLong(Due::atMs));
    private int mostDecoded = MAX_DECODED;
    private int places;
    private long nextNumber;

    /** Where it lives. */
    interface Environment {

        /** The policies in force; the same object until they change. */
        PolicyTable policies();

        /** Decides a request that has waited. Returns what it waits for further, null if it was answered. */
        Wait again(Waiter waiter, boolean mayWait);

        /** Tells a ledger, soon if somebody waits for the answer. */
        void ask(StateKey key, Ask ask, boolean soon);
    }

    /** A book, and who waits for more. */
    private static final class Holding {
        final StateKey key;
        final Deque<Place> queue = new ArrayDeque<>(0);
        Book book; // null if there is none
        LeaseTerms terms;
        PolicyTable termsOf;
        long missed;
        long dueMs = Long.MAX_VALUE;
        boolean isTouched;
        boolean isChanged;

        Holding(StateKey key, Book book) {
            this.key = key;
            this.book = book;
        }
    }

    /**
     * A place in the order of those who wait.
     *
     * @param timestampMs of the request
     */
    private record Place(long number, long cost, long timestampMs, long untilMs) {}

    private record Due(long atMs, Holding holding) {}

    Holder(
            int partition,
            HotStates books,
            KeyValueStore<Bytes, byte[]> waiting,
            LeaseTerms terms,
            Environment environment) {
        this.name = name(partition);
        this.books = books;
        this.waiting = waiting;
        this.terms = terms;
        this.environment = environment;
        books.beforeFlush(this::write);
        try (KeyValueIterator<Bytes, byte[]> all = waiting.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                long number = KeyCodec.readNote(entry.key.get());
                Waiter waiter = codec.decode(entry.value);
                setAlarm(place(waiter, number), 0);
                nextNumber = number + 1;
            }
        }
    }

    /** How the task of a partition is called by ledgers. */
    static String name(int partition) {
        return "p" + partition;
    }

    private Holding holding(StateKey key) {
        Holding holding = holdings.get(key);
        if (holding == null) {
            byte[] bytes = books.bytes(key);
            holding = new Holding(key, bytes == null ? null : LeaseCodec.decodeBook(bytes));
            holdings.put(key, holding);
        }
        return holding;
    }

    private Holding touch(StateKey key) {
        Holding holding = holding(key);
        if (!holding.isTouched) {
            holding.isTouched = true;
            touched.add(holding);
        }
        return holding;
    }

    @Override
    public Book book(StateKey key) {
        return holding(key).book;
    }

    @Override
    public void put(StateKey key, Book book) {
        change(touch(key), book);
    }

    private void change(Holding holding, Book book) {
        holding.book = book;
        if (!holding.isChanged) {
            holding.isChanged = true;
            changed.add(holding);
        }
    }

    @Override
    public void miss(StateKey key, long cost) {
        touch(key).missed = cost;
    }

    @Override
    public boolean isAwaited(StateKey key) {
        return !holding(key).queue.isEmpty();
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        Holding holding = holding(key);
        PolicyTable policies = environment.policies();
        if (holding.termsOf != policies) {
            Policy policy = policies.newest(key.policyId());
            holding.terms = policy == null ? terms : policy.terms(terms);
            holding.termsOf = policies;
        }
        return holding.terms;
    }

    /** Whether one more request may wait. */
    boolean hasRoom() {
        return places < MAX_WAITING;
    }

    /** The earliest time of a request that waits, {@link Long#MAX_VALUE} if none does. */
    long earliestMs() {
        long earliestMs = Long.MAX_VALUE;
        for (Holding holding : holdings.values()) {
            for (Place place : holding.queue) {
                earliestMs = Math.min(earliestMs, place.timestampMs);
            }
        }
        return earliestMs;
    }

    /** Lets a request wait, behind those who wait for the same. */
    void park(Waiter waiter) {
        long number = nextNumber++;
        waiting.put(Bytes.wrap(KeyCodec.note(number)), codec.encode(waiter));
        touch(place(waiter, number).key);
    }

    private Holding place(Waiter waiter, long number) {
        Holding holding = holding(waiter.on());
        Request request = waiter.request();
        holding.queue.add(new Place(number, request.cost(), request.timestampMs(), waiter.untilMs()));
        places++;
        return holding;
    }

    /** Takes what a ledger has answered. */
    void granted(StateKey key, Grant grant, long nowMs) {
        Book book = book(key);
        put(key, (book == null ? Book.empty(nowMs) : book).answered(grant, terms(key), nowMs));
        serve(holding(key), nowMs);
    }

    /** When it is to be {@linkplain #wake woken}, {@link Long#MAX_VALUE} if not at all. */
    long dueMs() {
        return dues.isEmpty() ? Long.MAX_VALUE : dues.peek().atMs;
    }

    /** Does what is due. */
    void wake(long nowMs) {
        while (dueMs() <= nowMs) {
            Due due = dues.remove();
            if (due.holding.dueMs == due.atMs) {
                due.holding.dueMs = Long.MAX_VALUE;
                touch(due.holding.key);
                serve(due.holding, nowMs);
            }
        }
    }

    /** Decides those who wait, in their order, up to the first one that has to wait further. */
    private void serve(Holding holding, long nowMs) {
        Deque<Place> queue = holding.queue;
        while (!queue.isEmpty() && !mustWait(queue.peek(), holding, nowMs)) {
            Place first = queue.peek();
            Bytes place = Bytes.wrap(KeyCodec.note(first.number));
            Waiter waiter = codec.decode(waiting.get(place));
            Wait wait = environment.again(waiter, nowMs < first.untilMs);
            if (wait != null && wait.on().equals(holding.key)) {
                return;
            }
            queue.remove();
            places--;
            waiting.delete(place);
            if (wait != null) {
                park(waiter.on(wait.on()));
            }
        }
    }

    private boolean mustWait(Place first, Holding holding, long nowMs) {
        Book book = holding.book;
        LeaseTerms lent = terms(holding.key);
        return nowMs < first.untilMs
                && book != null
                && first.cost > book.available(lent, nowMs)
                && book.mayCome(first.cost, lent, nowMs);
    }

    /** Ends a step: tells what is to be told. */
    void endStep(long nowMs) {
        for (int i = 0; i < touched.size(); i++) {
            tell(touched.get(i), nowMs);
        }
        touched.clear();
        if (holdings.size() > mostDecoded) {
            write();
            holdings.values().removeIf(holding -> holding.queue.isEmpty() && holding.dueMs == Long.MAX_VALUE);
            mostDecoded = Math.max(MAX_DECODED, 2 * holdings.size());
        }
    }

    private void tell(Holding holding, long nowMs) {
        holding.isTouched = false;
        Place first = holding.queue.peek();
        long waits = first == null ? holding.missed : first.cost;
        holding.missed = 0;
        LeaseTerms lent = terms(holding.key);
        Book book = holding.book == null ? Book.empty(nowMs) : holding.book;
        Book.Telling telling = book.tell(name, waits, lent, nowMs);
        if (telling != null) {
            change(holding, telling.book());
            if (telling.ask() != null) {
                environment.ask(holding.key, telling.ask(), first != null);
            }
            book = telling.book();
        }
        long atMs = book.tellAtMs(lent);
        if (first != null) {
            long askMs = book.question().againAtMs(lent);
            atMs = Math.min(atMs, Math.min(first.untilMs, askMs));
        }
        setAlarm(holding, atMs);
    }

    private void setAlarm(Holding holding, long atMs) {
        if (holding.dueMs != atMs) {
            holding.dueMs = atMs;
            if (atMs != Long.MAX_VALUE) {
                dues.add(new Due(atMs, holding));
            }
        }
    }

    private void write() {
        for (Holding holding : changed) {
            long forgettableAtMs = holding.book.forgettableAtMs(terms(holding.key));
            books.put(holding.key, LeaseCodec.encode(holding.book, forgettableAtMs));
            holding.isChanged = false;
        }
        changed.clear();
    }
}
