package dev.weir.backtest;

/** What was asked for is more than can be held; the message tells what to do. */
public final class ResultTooLargeException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    ResultTooLargeException(String message) {
        super(message);
    }
}
