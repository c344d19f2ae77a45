package dev.weir.storage.codec;

import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.wire.KeyCodec;
import java.util.Arrays;

/**
 * The codec of lease books. Books are always cached in encoded form. The encoding omits the demand and the pending
 * request, so a book read from the cache equals the one that is restored after a restart.
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
