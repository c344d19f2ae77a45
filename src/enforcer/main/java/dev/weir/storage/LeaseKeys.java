package dev.weir.storage;

import dev.weir.event.Rejection;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.KeyCodec;
import java.nio.BufferUnderflowException;

/** Decodes the keys of the lease topics: a policy and its key fields, encoded as in the stores. */
public final class LeaseKeys {

    /**
     * The maximum length of a key, in bytes. A key of eight fields with names and values of 1,024 characters is shorter.
     * Ledgers, books and responses repeat the key, and must fit a record.
     */
    public static final int MAX_BYTES = 256 << 10;

    private static final byte[] NONE = {};

    private LeaseKeys() {}

    /** @throws UnreadableException if the bytes are not such a key or exceed {@link #MAX_BYTES} */
    public static StateKey read(byte[] key) throws UnreadableException {
        if (key != null && key.length > MAX_BYTES) {
            throw new UnreadableException(
                    Rejection.RECORD_TOO_LARGE,
                    "the key of a shared limit has " + key.length + " bytes; the maximum is " + MAX_BYTES);
        }
        try {
            return KeyCodec.decode(key == null ? NONE : key);
        } catch (BufferUnderflowException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, "the key is not the key of a shared limit");
        }
    }
}
