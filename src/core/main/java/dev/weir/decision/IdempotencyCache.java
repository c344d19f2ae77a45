package dev.weir.decision;

import dev.weir.event.IdempotentAnswer;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;

/**
 * The first answers to the latest requests that may be repeated: at most so many, the oldest go first, and those whose
 * time is long over before that. What is remembered follows from the requests alone, in their order; neither clocks nor
 * restarts matter.
 */
// An answer has a note in the order of arrival, numbered without gaps from oldest to next. Each answer that comes takes
// up to two notes off the other end, with their answers, unless a later answer to the same request has taken the place:
//
//   notes     17: alice/r1   18: bob/r7   19: alice/r1   20: bob/r8          oldest = 17, next = 21
//   answers   alice/r1 → 19, ALLOWED      bob/r7 → 18, DENIED      bob/r8 → 20, ALLOWED
//
// Taking off 17 leaves alice/r1 in place. An answer is over once the requests' time is past its end; but one request
// whose clock runs ahead must not end what others rely on. So "now" is the earliest time among the latest thousand or
// two, in whole epochs, less a while for those that come late. An answer of these epochs is itself among the latest and
// never over, so after a restart the notes that are left are enough to tell "now" again.
public final class IdempotencyCache {

    private static final int EPOCH_SIZE = 1_000;
    private static final int EVICTIONS_PER_PUT = 2;

    private final Storage storage;
    private final int maxEntries;
    private final long maxLatenessMs;
    private final RecentTimes recent;
    private long oldest;
    private long next;
    private EvictionEntry oldestEntry;

    /**
     * An answer, and until when it is given again.
     *
     * @param number of its note
     * @param untilMs the first moment at which it is not, ms since the epoch
     * @param content of the request that was answered
     */
    public record Entry(long number, long untilMs, ContentHash content, IdempotentAnswer answer) {}

    /**
     * A request that was answered.
     *
     * @param atMs when
     * @param untilMs as in its {@link Entry}
     */
    public record EvictionEntry(RequestKey key, long atMs, long untilMs) {}

    /**
     * Where they are kept.
     *
     * @param oldest the number of the oldest note
     * @param next one more than that of the newest note; the same as {@code oldest} if there are none
     */
    public record Storage(
            KeyValueTable<RequestKey, Entry> answers,
            KeyValueTable<Long, EvictionEntry> evictionQueue,
            long oldest,
            long next) {}

    /**
     * Goes on with what is kept.
     *
     * @param most how many are remembered at most, at least 1; after it was lowered, that is reached by and by
     * @param lateMs how much older than those around it a request may be and still find all answers that are not over
     */
    public IdempotencyCache(Storage kept, int most, long lateMs) {
        this.storage = kept;
        this.maxEntries = most;
        this.maxLatenessMs = lateMs;
        int epoch = Math.max(1, Math.min(EPOCH_SIZE, most / 2)); // two fit into what is kept; if that is one, the one
        recent = new RecentTimes(epoch);
        oldest = kept.oldest;
        next = kept.next;
        for (long number = Math.max(oldest, (next / epoch - 1) * epoch); number < next; number++) {
            recent.observe(number, kept.evictionQueue.get(number).atMs);
        }
    }

    /** None yet, to be kept on the heap. */
    public static IdempotencyCache inMemory(int most, long lateMs) {
        return new IdempotencyCache(new Storage(new HeapTable<>(), new HeapTable<>(), 0, 0), most, lateMs);
    }

    /** The first answer to a request, null if there is none or it is dropped; it may be over. */
    public Entry get(RequestKey key) {
        return storage.answers.get(key);
    }

    /** Remembers the answer that a request with this content was given at a time, until another time. */
    public void put(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
        recent.observe(next, atMs);
        for (int drops = 0; drops < EVICTIONS_PER_PUT && shouldEvictOldest(); drops++) {
            evictOldest();
        }
        storage.answers.put(key, new Entry(next, untilMs, content, answer));
        storage.evictionQueue.put(next, new EvictionEntry(key, atMs, untilMs));
        next++;
    }

    private boolean shouldEvictOldest() {
        if (oldest == next) {
            return false;
        }
        if (oldestEntry == null) {
            oldestEntry = storage.evictionQueue.get(oldest);
        }
        return next - oldest >= maxEntries || oldestEntry.untilMs <= recent.earliestMs() - maxLatenessMs;
    }

    private void evictOldest() {
        Entry entry = storage.answers.get(oldestEntry.key);
        if (entry != null && entry.number == oldest) {
            storage.answers.delete(oldestEntry.key);
        }
        storage.evictionQueue.delete(oldest);
        oldest++;
        oldestEntry = null;
    }
}
