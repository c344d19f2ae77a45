package dev.weir.cli.output;

import dev.weir.console.TerminalWriter;
import dev.weir.console.TextStyle;
import dev.weir.fault.SafeText;
import dev.weir.rules.ChangeDetails;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Prints one line for each policy and queue of a change, and the differences under each that changed. */
public final class PolicyChangePrinter {

    /** The line that ends a dry run. */
    public static final String DRY_RUN = "nothing was written: this was a dry run";

    /** The maximum number of unchanged policies and queues that are listed. If there are more, they are counted. */
    private static final int MAX_UNCHANGED = 20;

    /** The maximum number of kept policies and queues that are listed. The others are counted. */
    private static final int MAX_KEPT = 100;

    private PolicyChangePrinter() {}

    public static void print(PrintWriter out, List<Change> changes) {
        long unchanged = count(changes, Effect.UNCHANGED);
        long kept = count(changes, Effect.KEPT);
        long listed = 0;
        for (Change change : changes) {
            boolean isListed =
                    switch (change.effect()) {
                        case UNCHANGED -> unchanged <= MAX_UNCHANGED;
                        case KEPT -> listed++ < MAX_KEPT;
                        default -> true;
                    };
            if (isListed || !change.warnings().isEmpty()) {
                print(out, change);
            }
        }
        if (unchanged > MAX_UNCHANGED) {
            out.printf("unchanged  %d policies and queues%n", unchanged);
        }
        if (kept > MAX_KEPT) {
            out.printf("kept       %d more policies and queues%n", kept - MAX_KEPT);
        }
        if (kept > 0) {
            out.println("The file differs from what was kept, which is newer. To apply the file, add --overwrite.");
        }
        out.flush();
    }

    private static long count(List<Change> changes, Effect effect) {
        return changes.stream().filter(change -> change.effect() == effect).count();
    }

    private static void print(PrintWriter out, Change change) {
        boolean queue = change.kind() == PolicyAvro.Kind.QUEUE;
        String note =
                switch (change.effect()) {
                    case DELETED -> queue ? ": denies new requests; waiting requests drain" : "";
                    case KEPT -> change.after() == null ? ": stays deleted" : "";
                    default -> "";
                };
        String effect = "%-9s".formatted(change.effect().name().toLowerCase(Locale.ROOT));
        TextStyle style = TerminalWriter.style(out);
        out.printf(
                "%s  %s%s (version %d)%s%n",
                switch (change.effect()) {
                    case ADDED -> style.good(effect);
                    case CHANGED, KEPT -> style.warning(effect);
                    case DELETED -> style.bad(effect);
                    case UNCHANGED -> effect;
                },
                queue ? "queue " : "",
                change.id(),
                change.version(),
                note);
        ChangeDetails.of(change).forEach(line -> out.printf("    %s%n", line));
        change.warnings().forEach(line -> out.printf("    warning: %s%n", SafeText.of(line)));
    }
}
