package dev.weir.cli;

import dev.weir.rules.ChangeDetails;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Prints one line for each policy and queue of a change, and the differences under each that changed. */
final class PolicyChangePrinter {

    /** The maximum number of unchanged policies and queues that are listed. If there are more, they are counted. */
    private static final int MAX_UNCHANGED = 20;

    private PolicyChangePrinter() {}

    static void print(PrintWriter out, List<Change> changes) {
        long unchanged =
                changes.stream().filter(PolicyChangePrinter::isUnchanged).count();
        for (Change change : changes) {
            if (!isUnchanged(change) || unchanged <= MAX_UNCHANGED) {
                print(out, change);
            }
        }
        if (unchanged > MAX_UNCHANGED) {
            out.printf("unchanged  %d policies and queues%n", unchanged);
        }
        out.flush();
    }

    private static void print(PrintWriter out, Change change) {
        boolean queue = change.kind() == PolicyAvro.Kind.QUEUE;
        boolean drains = queue && change.effect() == Effect.DELETED;
        out.printf(
                "%-9s  %s%s (version %d)%s%n",
                change.effect().name().toLowerCase(Locale.ROOT),
                queue ? "queue " : "",
                change.id(),
                change.version(),
                drains ? ": denies new requests; waiting requests drain" : "");
        ChangeDetails.of(change).forEach(line -> out.printf("    %s%n", line));
    }

    private static boolean isUnchanged(Change change) {
        return change.effect() == Effect.UNCHANGED;
    }
}
