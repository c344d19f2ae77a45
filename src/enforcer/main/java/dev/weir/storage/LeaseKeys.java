package dev.weir.storage;

import dev.weir.event.Rejection;
import dev.weir.event.StateKey;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.UnreadableException;
import java.nio.BufferUnderflowException;

/** Decodes the keys of the lease topics: a policy and its key fields, encoded as in the stores. */
public final class LeaseKeys {

    private static final byte[] NONE = {};

    private LeaseKeys() {}

    /** @throws UnreadableException if the bytes are not such a key */
    public static StateKey read(byte[] key) throws UnreadableException {
        try {
            return KeyCodec.decode(key == null ? NONE : key);
        } catch (BufferUnderflowException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, "the key is not the key of a shared limit");
        }
    }
}
