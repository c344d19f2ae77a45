package dev.weir.cli;

/** What the user named is not there or not usable; the message is one line. Exit code 2. */
final class InputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    InputException(String message, Throwable cause) {
        super(message, cause);
    }
}
