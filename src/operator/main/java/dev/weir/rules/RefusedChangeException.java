package dev.weir.rules;

import dev.weir.fault.BadInput;

/** A change is rejected because the definitions would conflict. Nothing was written. The message is one line. */
public final class RefusedChangeException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    RefusedChangeException(String message) {
        super(message);
    }
}
