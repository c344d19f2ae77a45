package dev.weir.storage;

import org.apache.kafka.streams.errors.ProcessorStateException;

/** A store does not hold what it must; it is to be restored from its changelog. */
public final class DamagedStoreException extends ProcessorStateException {

    private static final long serialVersionUID = 1L;

    DamagedStoreException(String message) {
        super(message);
    }
}
