package dev.weir.cli;

import dev.weir.app.PolicyTopic.Change;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Tells what was done with policies, one a line. */
final class PolicyChanges {

    private PolicyChanges() {}

    static void print(PrintWriter out, List<Change> changes) {
        for (Change change : changes) {
            String effect = change.effect().name().toLowerCase(Locale.ROOT);
            out.printf("%-9s  %s (version %d)%n", effect, change.id(), change.version());
        }
        out.flush();
    }
}
