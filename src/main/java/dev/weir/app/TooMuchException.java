package dev.weir.app;

/** What was asked for is more than can be held; the message tells what to do. */
public final class TooMuchException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    TooMuchException(String message) {
        super(message);
    }
}
