package dev.weir.runtime;

import java.time.Duration;

/** The wall clock of the machine went back so far that the instance has to start over. */
final class ClockStepException extends RuntimeException {

    private static final long serialVersionUID = 1;

    ClockStepException(Duration behind) {
        super("the wall clock went back by " + behind.toMillis() / 1000.0 + " s");
    }
}
