package dev.weir.http;

/** A path that servers understand in different ways. The message names the reason, and contains no line breaks. */
public final class UnclearPathException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    UnclearPathException(String message) {
        super(message);
    }

    /** Does nothing: callers send such paths, and a stack trace costs more than the check. */
    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }
}
