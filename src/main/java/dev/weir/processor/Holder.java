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
import dev.weir.policy.StateKey;
import dev.weir.policy.Wait;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.PriorityQueue;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * What a task holds of shared quota, in a store; the requests that wait for more of it, in another; and what it asks the ledgers for.
 */
// A step is all that one record or one alarm does. The books that it touches are kept until its end: then each is told
// to
// its ledger if there is something to tell, written once, and its alarm is set. Who waits is in the store by the order
// of
// arrival, and on the heap by what it waits for. An alarm that is not set again after a restart is one that a slice was
// to be given
// back at: it ends by itself.
final class Holder implements Holdings {

    /** More requests do not wait at once: they are denied instead. */
    static final int MAX_WAITING = 10_000;

    private final String name;
    private final HotStates books;
    private final KeyValueStore<Bytes, byte[]> waiting;
    private final LeaseTerms terms;
    private final Environment environment;
    private final WaiterCodec codec = new WaiterCodec();
    private final Map<StateKey, Book> touched = new LinkedHashMap<>();
    private final Map<StateKey, Long> missed = new HashMap<>();
    private final Map<StateKey, Deque<Place>> queues = new HashMap<>();
    private final Map<StateKey, Long> dueMs = new HashMap<>();
    private final PriorityQueue<Due> dues = new PriorityQueue<>(Comparator.comparingLong(Due::atMs));
    private int places;
    private long nextNumber;

    /** Where it lives. */
    interface Environment {

        /** The policy that has this id now, null if there is none. */
        Policy policy(String id);

        /** Decides a request that has waited. Returns what it waits for further, null if it was answered. */
        Wait again(Waiter waiter, boolean mayWait);

        /** Tells a ledger, soon if somebody waits for the answer. */
        void ask(StateKey key, Ask ask, boolean soon);
    }

    /** A place in the order of those who wait. */
    private record Place(long number, long cost, long untilMs) {}

    private record Due(long atMs, StateKey key) {}

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
        try (KeyValueIterator<Bytes, byte[]> all = waiting.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                long number = KeyCodec.readNote(entry.key.get());
                Waiter waiter = codec.decode(entry.value);
                place(waiter, number);
                nextNumber = number + 1;
                setAlarm(waiter.on(), 0);
            }
        }
    }

    /** How the task of a partition is called by ledgers. */
    static String name(int partition) {
        return "p" + partition;
    }

    @Override
    public Book book(StateKey key) {
        Book book = touched.get(key);
        if (book == null) {
            byte[] bytes = books.bytes(key);
            book = bytes == null ? null : LeaseCodec.decodeBook(bytes);
        }
        return book;
    }

    @Override
    public void put(StateKey key, Book book) {
        touched.put(key, book);
    }

    @Override
    public void miss(StateKey key, long cost) {
        missed.put(key, cost);
    }

    @Override
    public boolean isAwaited(StateKey key) {
        return queues.containsKey(key);
    }

    @Override
    public LeaseTerms terms(Policy policy) {
        return policy == null ? terms : policy.terms(terms);
    }

    private LeaseTerms terms(StateKey key) {
        return terms(environment.policy(key.policyId()));
    }

    /** Whether one more request may wait. */
    boolean hasRoom() {
        return places < MAX_WAITING;
    }

    /** Lets a request wait, behind those who wait for the same. */
    void park(Waiter waiter) {
        long number = nextNumber++;
        waiting.put(Bytes.wrap(KeyCodec.note(number)), codec.encode(waiter));
        place(waiter, number);
        touch(waiter.on(), waiter.untilMs());
    }

    private void place(Waiter waiter, long number) {
        Place place = new Place(number, waiter.request().cost(), waiter.untilMs());
        queues.computeIfAbsent(waiter.on(), key -> new ArrayDeque<>()).add(place);
        places++;
    }

    private void touch(StateKey key, long nowMs) {
        if (!touched.containsKey(key)) {
            Book book = book(key);
            touched.put(key, book == null ? Book.empty(nowMs) : book);
        }
    }

    /** Takes what a ledger has answered. */
    void granted(StateKey key, Grant grant, long nowMs) {
        touch(key, nowMs);
        touched.computeIfPresent(key, (same, book) -> book.answered(grant, terms(key), nowMs));
        serve(key, nowMs);
    }

    /** When it is to be {@linkplain #wake woken}, {@link Long#MAX_VALUE} if not at all. */
    long dueMs() {
        return dues.isEmpty() ? Long.MAX_VALUE : dues.peek().atMs;
    }

    /** Does what is due. */
    void wake(long nowMs) {
        while (dueMs() <= nowMs) {
            Due due = dues.remove();
            if (dueMs.remove(due.key, due.atMs)) {
                touch(due.key, nowMs);
                serve(due.key, nowMs);
            }
        }
    }

    /** Decides those who wait, in their order, up to the first one that has to wait further. */
    private void serve(StateKey key, long nowMs) {
        Deque<Place> queue = queues.get(key);
        while (queue != null && !queue.isEmpty() && !mustWait(queue.peek(), key, nowMs)) {
            Place first = queue.peek();
            Bytes place = Bytes.wrap(KeyCodec.note(first.number));
            Waiter waiter = codec.decode(waiting.get(place));
            Wait wait = environment.again(waiter, nowMs < first.untilMs);
            if (wait != null && wait.on().equals(key)) {
                return;
            }
            queue.remove();
            places--;
            waiting.delete(place);
            if (queue.isEmpty()) {
                queues.remove(key);
            }
            if (wait != null) {
                park(waiter.on(wait.on()));
            }
        }
    }

    private boolean mustWait(Place first, StateKey key, long nowMs) {
        Book book = touched.get(key);
        LeaseTerms lent = terms(key);
        return nowMs < first.untilMs
                && first.cost > book.available(lent, nowMs)
                && book.mayCome(first.cost, lent, nowMs);
    }

    /** Ends a step: tells what is to be told, and writes what has changed. */
    void endStep(long nowMs) {
        if (touched.isEmpty()) {
            return;
        }
        touched.forEach((key, book) -> end(key, book, nowMs));
        touched.clear();
        missed.clear();
    }

    private void end(StateKey key, Book book, long nowMs) {
        Deque<Place> queue = queues.get(key);
        Place first = queue == null ? null : queue.peek();
        LeaseTerms lent = terms(key);
        long waits = first == null ? missed.getOrDefault(key, 0L) : first.cost;
        Book.Telling telling = book.tell(name, waits, lent, nowMs);
        Book next = telling == null ? book : telling.book();
        if (telling != null && telling.ask() != null) {
            environment.ask(key, telling.ask(), first != null);
        }
        books.put(key, LeaseCodec.encode(next, next.forgettableAtMs(lent)));
        long atMs = next.tellAtMs(lent);
        if (first != null) {
            Book.Question question = next.question();
            long askMs = question.isOpen() ? question.askedMs() + lent.termMs() : question.retryAtMs();
            atMs = Math.min(atMs, Math.min(first.untilMs, askMs));
        }
        setAlarm(key, Math.max(atMs, nowMs + 1));
    }

    private void setAlarm(StateKey key, long atMs) {
        Long before = atMs == Long.MAX_VALUE ? dueMs.remove(key) : dueMs.put(key, atMs);
        if (atMs != Long.MAX_VALUE && (before == null || before != atMs)) {
            dues.add(new Due(atMs, key));
        }
    }
}
