package dev.weir.backtest;

/** A request needs too much time or memory. The message says what to do. */
public final class ResultTooLargeException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    ResultTooLargeException(String message) {
        super(message);
    }
}
