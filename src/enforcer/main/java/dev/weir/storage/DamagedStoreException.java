package dev.weir.storage;

import org.apache.kafka.streams.errors.ProcessorStateException;

/** Thrown if a store lacks data that it must contain. The store must be restored from its changelog. */
public final class DamagedStoreException extends ProcessorStateException {

    private static final long serialVersionUID = 1L;

    DamagedStoreException(String message) {
        super(message);
    }
}
