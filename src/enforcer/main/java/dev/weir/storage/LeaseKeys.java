package dev.weir.storage;

import dev.weir.event.Rejection;
import dev.weir.event.StateKey;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.UnreadableException;
import java.nio.BufferUnderflowException;

/** Keys of the topics of leases: the policy and its key fields, as the stores have them. */
public final class LeaseKeys {

    private static final byte[] NONE = {};

    private LeaseKeys() {}

    /** @throws UnreadableException if it is none */
    public static StateKey read(byte[] key) throws UnreadableException {
        try {
            return KeyCodec.decode(key == null ? NONE : key);
        } catch (BufferUnderflowException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, "the key names no quota that is shared");
        }
    }
}
