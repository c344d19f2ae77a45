package dev.weir.cli;

import dev.weir.app.HeavyHitters;
import dev.weir.app.Tally;
import java.io.PrintWriter;
import java.util.List;

/** Prints what a tally counted, as tables. */
final class Summary {

    private final PrintWriter out;

    Summary(PrintWriter out) {
        this.out = out;
    }

    /** @param top how many clients are named */
    void print(Tally tally, int top) {
        heading("");
        counts("all requests", tally.all());
        heading("by policy");
        tally.byPolicy().forEach(this::counts);
        heading("by tier");
        tally.byTier().forEach(this::counts);
        List<HeavyHitters.Hitter> limited = tally.topLimited(top);
        if (!limited.isEmpty()) {
            out.println();
            out.printf("%-44s %10s%n", "most limited clients", "denied");
            for (HeavyHitters.Hitter client : limited) {
                out.printf("  %-42s %,10d%n", client.name(), client.count());
            }
        }
        out.flush();
    }

    private void heading(String what) {
        out.println();
        out.printf("%-44s %10s %10s %10s %8s%n", what, "requests", "allowed", "denied", "denied %");
    }

    private void counts(String name, Tally.Counts counts) {
        double share = counts.requests() == 0 ? 0 : 100.0 * counts.denied() / counts.requests();
        String observed = counts.observed() == 0 ? "" : String.format("   (%,d observed)", counts.observed());
        out.printf(
                "  %-42s %,10d %,10d %,10d %7.1f%%%s%n",
                name, counts.requests(), counts.allowed(), counts.denied(), share, observed);
    }
}
