package dev.weir.wire;

import dev.weir.fault.Fault;
import dev.weir.fault.SafeText;

/**
 * Indicates that a schema registry did not respond or rejected a request. The record that needs the schema may be
 * valid: try again later.
 */
public final class RegistryException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message what went wrong, which is shortened to one line
     * @param cause the error of the registry's client; null if there is none
     */
    public RegistryException(String message, Throwable cause) {
        super(SafeText.of(message, Fault.MAX_MESSAGE), cause);
    }
}
