package dev.weir.processor;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Rejection;
import dev.weir.policy.StateKey;
import java.nio.BufferUnderflowException;

/** Keys of the topics of leases: the policy and its key fields, as the stores have them. */
final class LeaseKeys {

    private static final byte[] NONE = {};

    private LeaseKeys() {}

    /** @throws UnreadableException if it is none */
    static StateKey read(byte[] key) throws UnreadableException {
        try {
            return KeyCodec.decode(key == null ? NONE : key);
        } catch (BufferUnderflowException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, "the key names no quota that is shared");
        }
    }
}
