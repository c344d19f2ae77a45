package dev.weir.cli;

import dev.weir.rules.ChangeDetails;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Tells what was done with policies and queues, one a line, and under each that changed, what is different. */
final class PolicyChangePrinter {

    /** If more did not change, they are counted instead. */
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
                drains ? ": takes no more; what waits in it leaves by these rules" : "");
        ChangeDetails.of(change).forEach(line -> out.printf("    %s%n", line));
    }

    private static boolean isUnchanged(Change change) {
        return change.effect() == Effect.UNCHANGED;
    }
}
