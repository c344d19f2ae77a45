package dev.weir.cli;

/** Thrown if an option or an input file is missing or invalid. The message is one line. The exit code is 2. */
final class InputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    InputException(String message, Throwable cause) {
        super(message, cause);
    }
}
