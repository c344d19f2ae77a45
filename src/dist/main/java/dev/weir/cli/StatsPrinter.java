package dev.weir.cli;

import dev.weir.backtest.DecisionStats;
import dev.weir.backtest.QueueStats;
import dev.weir.fault.SafeText;
import dev.weir.metrics.HeavyHitters;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.QueueTotal;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Prints the counts of decisions and queues as tables. */
final class StatsPrinter {

    private final PrintWriter out;

    StatsPrinter(PrintWriter out) {
        this.out = out;
    }

    /**
     * Prints the counts.
     *
     * @param queues the queues by id
     * @param top the maximum number of clients in the list of the most limited clients
     */
    void print(DecisionStats tally, Map<String, QueueRules> queues, int top) {
        heading("");
        counts("all requests", tally.all());
        heading("by policy");
        tally.byPolicy().forEach(this::counts);
        heading("by tier");
        tally.byTier().forEach(this::counts);
        tally.byQueue().forEach((id, queue) -> queue(id, queue, queues.get(id)));
        List<HeavyHitters.Hitter> limited = tally.topLimited(top);
        if (!limited.isEmpty()) {
            out.println();
            out.printf("%-40s %9s%n", "most limited clients", "denied");
            for (HeavyHitters.Hitter client : limited) {
                out.printf("  %-38s %,9d%n", SafeText.of(client.name()), client.count());
            }
        }
        out.flush();
    }

    /** @param rules null if the queue is not defined */
    private void queue(String id, QueueStats queue, QueueRules rules) {
        out.println();
        out.printf(
                "%-22s %8s %8s %8s %8s %8s %8s %10s %10s%n",
                "queue " + SafeText.of(id),
                "queued",
                "refused",
                "released",
                "expired",
                "evicted",
                "cancel.",
                "wait p50",
                "wait p99");
        queue.byTier().forEach(this::waits);
        waits("all", queue.all());
        if (rules == null) {
            return;
        }
        out.printf("  released %.1f tokens a second on average", queue.tokensPerSecond());
        if (!rules.isKeyed()) {
            out.printf("; the rate is %.1f%n", rate(rules));
            return;
        }
        QueueTotal total = rules.total();
        out.printf(
                " for %,d keys%s%n",
                queue.spacing().keys(),
                total == null ? "" : "; the total is %.1f".formatted(total.limit() * 1e3 / total.perMs()));
        if (queue.spacing().count() > 0) {
            out.printf(
                    "  gaps between releases of a key with a backlog: min %.1f ms, p50 %.1f ms; by its rate %.1f ms%n",
                    queue.spacing().ms(0), queue.spacing().ms(50), 1e3 / rate(rules));
        }
    }

    private static double rate(QueueRules rules) {
        return rules.limit() * 1e3 / rules.perMs();
    }

    private void waits(String name, QueueStats.Counts counts) {
        out.printf(
                "  %-20s %,8d %,8d %,8d %,8d %,8d %,8d %7.2f s %7.2f s%n",
                SafeText.of(name),
                counts.queued(),
                counts.refused(),
                counts.released(),
                counts.expired(),
                counts.evicted(),
                counts.withdrawn(),
                counts.waitMs(50) / 1e3,
                counts.waitMs(99) / 1e3);
    }

    private void heading(String what) {
        out.println();
        out.printf("%-40s %9s %9s %9s %9s %8s%n", what, "requests", "allowed", "queued", "denied", "denied %");
    }

    private void counts(String name, DecisionStats.Counts counts) {
        double share = counts.requests() == 0 ? 0 : 100.0 * counts.denied() / counts.requests();
        out.printf(
                "  %-38s %,9d %,9d %,9d %,9d %7.1f%%%s%n",
                SafeText.of(name),
                counts.requests(),
                counts.allowed(),
                counts.queued(),
                counts.denied(),
                share,
                rareCounts(counts));
    }

    /** Returns the counts that are usually 0, as text: only those above 0, empty if all are 0. */
    private static String rareCounts(DecisionStats.Counts counts) {
        List<String> also = new ArrayList<>();
        if (counts.observed() > 0) {
            also.add(String.format("%,d observed", counts.observed()));
        }
        if (counts.throttled() > 0) {
            also.add(String.format("%,d delayed", counts.throttled()));
        }
        if (counts.repeated() > 0) {
            also.add(String.format("%,d repeated", counts.repeated()));
        }
        return also.isEmpty() ? "" : "   (" + String.join(", ", also) + ")";
    }
}
