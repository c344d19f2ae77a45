package dev.weir.cli;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;

/** Finds out whether the output of this process is a terminal. */
final class Terminal {

    private Terminal() {}

    /**
     * Returns whether standard error is a terminal; false if that is unknown, for example because there is no {@code
     * sh}. {@link System#console} depends on standard input and output instead.
     */
    static boolean isStandardError() {
        try {
            return new ProcessBuilder("sh", "-c", "test -t 2")
                            .redirectError(Redirect.INHERIT)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
