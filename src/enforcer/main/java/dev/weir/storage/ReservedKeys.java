package dev.weir.storage;

import dev.weir.policy.RequestKey;
import dev.weir.storage.codec.ReservationCodec;

/**
 * The keys in the expiry queues, which are those of all reservations and of some deleted ones. It is on the heap, and
 * filled when a task opens its store.
 */
final class ReservedKeys {

    private final KeyHash hashing = KeyHash.ofThisProcess();
    private final HashCounts counts = new HashCounts();

    /** Returns false only if there is no entry with an encoded key. */
    boolean mayContain(byte[] encodedKey) {
        return counts.mayContain(hashing.longHash(encodedKey));
    }

    void add(RequestKey key) {
        counts.add(hash(key));
    }

    void remove(RequestKey key) {
        counts.remove(hash(key));
    }

    private long hash(RequestKey key) {
        return hashing.longHash(ReservationCodec.key(key));
    }
}
