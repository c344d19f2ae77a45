package dev.weir.wire;

import dev.weir.fault.Fault;
import dev.weir.fault.SafeText;

/** A schema registry does not answer, or not what it was asked; that says nothing of the record. */
public final class RegistryException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public RegistryException(String message, Throwable cause) {
        super(SafeText.of(message, Fault.MAX_MESSAGE), cause);
    }
}
