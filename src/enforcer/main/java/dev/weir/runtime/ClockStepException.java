package dev.weir.runtime;

import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;

/** Thrown if the wall clock was set back so far that the instance must restart. */
final class ClockStepException extends RuntimeException {

    private static final long serialVersionUID = 1;

    ClockStepException(Duration behind) {
        super("the wall clock was set back by " + DurationsAndSizes.rounded(behind.toMillis()));
    }
}
