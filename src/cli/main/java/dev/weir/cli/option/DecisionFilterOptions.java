package dev.weir.cli.option;

import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.query.DecisionFilter;
import java.util.Set;
import java.util.TreeSet;
import picocli.CommandLine.Option;

/** Options that select decisions. A decision must meet all of them, and one of the values of each. */
public final class DecisionFilterOptions {

    @Option(
            names = "--outcome",
            paramLabel = "OUTCOME",
            split = ",",
            description = "Print only decisions with these outcomes: ${COMPLETION-CANDIDATES}. Separate several by"
                    + " commas.")
    private Set<Outcome> outcomes = new TreeSet<>();

    @Option(
            names = "--policy",
            paramLabel = "ID",
            split = ",",
            description = "Print only decisions whose binding limit is of these policies.")
    private Set<String> policies = new TreeSet<>();

    @Option(
            names = "--reason",
            paramLabel = "REASON",
            split = ",",
            description = "Print only decisions with these reasons, such as LIMIT_EXCEEDED.")
    private Set<Reason> reasons = new TreeSet<>();

    @Option(
            names = "--tier",
            paramLabel = "TIER",
            description = "Print only decisions on requests of this tier. Repeat the option for each tier.")
    private Set<String> tiers = new TreeSet<>();

    private DecisionFilter filter;

    public DecisionFilter filter() {
        filter = filter == null ? new DecisionFilter(outcomes, policies, reasons, tiers) : filter;
        return filter;
    }
}
