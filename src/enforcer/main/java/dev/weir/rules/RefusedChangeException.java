package dev.weir.rules;

/**
 * A change of the policies topic would leave a policy without its queue; nothing was written. The message is one line.
 */
public final class RefusedChangeException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    RefusedChangeException(String message) {
        super(message);
    }
}
