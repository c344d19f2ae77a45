package dev.weir.wire;

import dev.weir.event.Rejection;
import dev.weir.fault.Fault;
import dev.weir.fault.FaultsException;
import dev.weir.fault.SafeText;
import java.util.stream.Collectors;

/** Bytes that are not what they should be; the message is one line, whatever they hold. */
public final class UnreadableException extends Exception {

    private static final long serialVersionUID = 1L;

    private final Rejection rejection;

    public UnreadableException(Rejection rejection, Throwable cause) {
        this(rejection, cause.getMessage() == null ? "does not hold what its schema says" : cause.getMessage(), cause);
    }

    public UnreadableException(Rejection rejection, FaultsException faults) {
        this(rejection, faults.faults().stream().map(Fault::toString).collect(Collectors.joining("; ")), faults);
    }

    public UnreadableException(Rejection rejection, String message) {
        this(rejection, message, null);
    }

    private UnreadableException(Rejection rejection, String message, Throwable cause) {
        super(SafeText.of(message, Fault.MAX_MESSAGE), cause);
        this.rejection = rejection;
    }

    public Rejection rejection() {
        return rejection;
    }
}
