package dev.weir.storage;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.wire.KeyCodec;
import java.util.Arrays;

/**
 * Converts lease books. They are always kept encoded, because the bytes leave out the demand and the pending request: a
 * book that is read from the cache is the one that a restart would read.
 */
public final class LeaseBookCodec implements WriteBackCodec<StateKey, LeaseBook> {

    @Override
    public byte[] encodeKey(StateKey key) {
        return KeyCodec.encode(key);
    }

    @Override
    public byte[] encode(LeaseBook book) {
        return LeaseCodec.encode(book);
    }

    @Override
    public LeaseBook decode(byte[] key, byte[] book, int length) {
        return LeaseCodec.decodeBook(Arrays.copyOf(book, length));
    }
}
