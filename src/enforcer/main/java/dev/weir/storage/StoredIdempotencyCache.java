package dev.weir.storage;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.storage.codec.IdempotentAnswerCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** An {@link IdempotencyCache} in a store. The eviction entries sort before the answers. */
public final class StoredIdempotencyCache {

    private static final Bytes FIRST_EVICTION = Bytes.wrap(KeyCodec.encodeNumber(0));
    private static final Bytes LAST_EVICTION = Bytes.wrap(KeyCodec.encodeNumber(Long.MAX_VALUE));

    private StoredIdempotencyCache() {}

    /** Opens the cache with the entries in the store. */
    public static IdempotencyCache open(KeyValueStore<Bytes, byte[]> store, WeirConfig.State config) {
        IdempotentAnswerCodec codec = new IdempotentAnswerCodec();
        long oldest = first(store.range(FIRST_EVICTION, LAST_EVICTION), 0);
        long next = first(store.reverseRange(FIRST_EVICTION, LAST_EVICTION), oldest - 1) + 1;
        IdempotencyCache.Storage kept = new IdempotencyCache.Storage(
                new StoredTable<>(store, KeyCodec::encode, codec::encode, codec::decodeEntry),
                new StoredTable<>(
                        store,
                        KeyCodec::encodeNumber,
                        IdempotentAnswerCodec::encode,
                        IdempotentAnswerCodec::decodeEvictionEntry),
                oldest,
                next);
        return new IdempotencyCache(
                kept, config.most().idempotencyKeys(), config.retention().toMillis());
    }

    private static long first(KeyValueIterator<Bytes, byte[]> evictions, long ifNone) {
        try (evictions) {
            return evictions.hasNext()
                    ? KeyCodec.decodeNumber(evictions.next().key.get())
                    : ifNone;
        }
    }
}
