package dev.weir.fault;

import dev.weir.event.Rejection;
import java.util.stream.Collectors;

/** Indicates that a record cannot be decoded. The message is a single line, whatever the record contains. */
public final class UnreadableException extends Exception {

    private static final long serialVersionUID = 1L;

    /** Why the record is rejected. */
    private final Rejection rejection;

    /**
     * Creates an exception with the message of its cause.
     *
     * @param rejection why the record is rejected
     * @param cause what the decoder threw
     */
    public UnreadableException(Rejection rejection, Throwable cause) {
        this(
                rejection,
                cause.getMessage() == null ? "the record does not match its schema" : cause.getMessage(),
                cause);
    }

    /**
     * Creates an exception for a definition with faults.
     *
     * @param rejection why the record is rejected
     * @param faults the faults, which become the message
     */
    public UnreadableException(Rejection rejection, FaultsException faults) {
        this(rejection, faults.faults().stream().map(Fault::toString).collect(Collectors.joining("; ")), faults);
    }

    /**
     * Creates an exception.
     *
     * @param rejection why the record is rejected
     * @param message what is wrong with the record
     */
    public UnreadableException(Rejection rejection, String message) {
        this(rejection, message, null);
    }

    /**
     * Creates an exception.
     *
     * @param rejection why the record is rejected
     * @param message what is wrong with the record
     * @param cause what the decoder threw, or null
     */
    public UnreadableException(Rejection rejection, String message, Throwable cause) {
        super(SafeText.of(message, Fault.MAX_MESSAGE), cause);
        this.rejection = rejection;
    }

    /**
     * Returns why the record is rejected.
     *
     * @return the reason of a dead letter
     */
    public Rejection rejection() {
        return rejection;
    }
}
