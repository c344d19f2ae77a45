package dev.weir.gateway;

/** A call cannot be decided because of what it contains. The message is meant for its caller. */
final class InvalidCallException extends RuntimeException {

    static final int BAD_REQUEST = 400;
    static final int UNAUTHORIZED = 401;

    private static final long serialVersionUID = 1L;

    private final int status;

    /** @param status the HTTP status of the response */
    InvalidCallException(int status, String message) {
        super(message, null, false, false);
        this.status = status;
    }

    int status() {
        return status;
    }
}
