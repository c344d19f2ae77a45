package dev.weir.decision.state;

import dev.weir.event.IdempotentAnswer;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;

/**
 * A bounded cache of the first answers to requests that may be repeated. When it is full, the oldest answer is evicted;
 * answers that expired long ago are evicted before. Its content depends only on the requests and their order, not on
 * clocks or restarts. Each operation takes O(1) reads and writes.
 */
// Each answer has an entry in an eviction queue, in order of arrival, numbered without gaps from oldest to next. Each
// put evicts up to two entries from the old end, with their answers, unless a later answer to the same request has
// replaced them:
//
//   queue     17: alice/r1   18: bob/r7   19: alice/r1   20: bob/r8          oldest = 17, next = 21
//   answers   alice/r1 → 19, ALLOWED      bob/r7 → 18, DENIED      bob/r8 → 20, ALLOWED
//
// Evicting 17 leaves the answer to alice/r1 in place. An answer has expired when the time of the requests is past its
// end. One request with a clock that runs ahead must not expire the answers that others rely on. So "now" is the
// earliest time among the latest one or two thousand requests, in whole epochs, less a margin for late requests. An
// answer of these epochs is itself among the latest and so never expired. After a restart, the entries that are left
// thus suffice to compute the same "now".
public final class IdempotencyCache {

    private static final int EPOCH_SIZE = 1_000;
    private static final int EVICTIONS_PER_PUT = 2;

    private final Storage storage;
    private final int maxEntries;
    private final long maxLatenessMs;
    private final RetentionClock recent;
    private long oldest;
    private long next;
    private EvictionEntry oldestEntry;

    /**
     * A stored answer.
     *
     * @param number the number of its entry in the eviction queue
     * @param untilMs when it expires, in milliseconds since the epoch
     * @param content the content of the request
     * @param answer the answer
     */
    public record Entry(long number, long untilMs, ContentHash content, IdempotentAnswer answer) {}

    /**
     * An entry of the eviction queue.
     *
     * @param key the request that was answered
     * @param atMs when it was answered
     * @param untilMs when the answer expires
     */
    public record EvictionEntry(RequestKey key, long atMs, long untilMs) {}

    /**
     * The tables of the cache, and the bounds of the eviction queue.
     *
     * @param answers the answers by request
     * @param evictionQueue the entries by number
     * @param oldest the number of the oldest entry
     * @param next the number of the next entry; equal to {@code oldest} if the queue is empty
     */
    public record Storage(
            KeyValueTable<RequestKey, Entry> answers,
            KeyValueTable<Long, EvictionEntry> evictionQueue,
            long oldest,
            long next) {}

    /**
     * Creates a cache that continues with the stored answers.
     *
     * @param kept the tables
     * @param most the most answers, at least 1; if it was lowered, the cache shrinks gradually
     * @param lateMs how much older than its neighbours a request can be and still find all answers that have
     *     not expired
     */
    public IdempotencyCache(Storage kept, int most, long lateMs) {
        this.storage = kept;
        this.maxEntries = most;
        this.maxLatenessMs = lateMs;
        int epoch = Math.max(1, Math.min(EPOCH_SIZE, most / 2)); // two epochs fit into the cache, or one of size 1
        recent = new RetentionClock(epoch);
        oldest = kept.oldest;
        next = kept.next;
        for (long number = Math.max(oldest, (next / epoch - 1) * epoch); number < next; number++) {
            recent.observe(number, kept.evictionQueue.get(number).atMs);
        }
    }

    /** Returns an empty cache on the heap. */
    public static IdempotencyCache inMemory(int most, long lateMs) {
        return new IdempotencyCache(new Storage(new HeapTable<>(), new HeapTable<>(), 0, 0), most, lateMs);
    }

    /** Returns the first answer to a request, null if there is none or it was evicted. It can be expired. */
    public Entry get(RequestKey key) {
        return storage.answers.get(key);
    }

    /** Stores the answer to a request with this content. It expires at {@code untilMs}. */
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
