package dev.weir.cli;

import dev.weir.app.PolicyTopic.Change;
import dev.weir.app.PolicyTopic.Effect;
import dev.weir.codec.PolicyAvro;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Tells what was done with policies and queues, one a line. */
final class PolicyChanges {

    private PolicyChanges() {}

    static void print(PrintWriter out, List<Change> changes) {
        for (Change change : changes) {
            boolean queue = change.kind() == PolicyAvro.Kind.QUEUE;
            boolean drains = queue && change.effect() == Effect.DELETED;
            out.printf(
                    "%-9s  %s%s (version %d)%s%n",
                    change.effect().name().toLowerCase(Locale.ROOT),
                    queue ? "queue " : "",
                    change.id(),
                    change.version(),
                    drains ? ": takes no more; what waits in it leaves by these rules" : "");
        }
        out.flush();
    }
}
