package dev.weir.rules;

import dev.weir.decision.CarryOver;
import dev.weir.definition.DefinitionDiff;
import dev.weir.definition.DefinitionDiff.Difference;
import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.List;

/**
 * The differences between the versions of a changed policy or queue, one per line, and what each limit of a policy
 * carries over.
 */
public final class ChangeDetails {

    private ChangeDetails() {}

    /** Returns the lines; none unless one definition replaced another. */
    public static List<String> of(Change change) {
        if (change.effect() != PolicyTopic.Effect.CHANGED) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        DefinitionDiff.of(change.before(), change.after()).forEach(difference -> lines.add(line(difference)));
        if (lines.isEmpty()) {
            lines.add("only the order of entries changed");
        }
        if (change.kind() == PolicyAvro.Kind.POLICY) {
            lines.addAll(carryOver(change));
        }
        return lines;
    }

    private static String line(Difference difference) {
        String what = difference.before() == null
                ? "added " + difference.after()
                : difference.after() == null
                        ? "removed " + difference.before()
                        : difference.before() + " -> " + difference.after();
        return difference.path() + ": " + what;
    }

    private static List<String> carryOver(Change change) {
        try {
            return lines(CarryOver.of(
                    PolicyFile.parse("before", change.before(), change.version()),
                    PolicyFile.parse("after", change.after(), change.version())));
        } catch (FaultsException e) {
            return List.of(); // written by another version of Weir
        }
    }

    private static List<String> lines(CarryOver carryOver) {
        if (carryOver.keepsAllCounts()) {
            return carryOver.counts() ? List.of("all counts are kept") : List.of();
        }
        if (!carryOver.sameKey()) {
            return List.of("all counts restart, because the key changed");
        }
        List<String> lines = new ArrayList<>();
        for (CarryOver.LimitCarryOver limit : carryOver.limits()) {
            lines.add(limit.label() + ": " + start(limit) + longestWait(limit));
        }
        carryOver.dropped().forEach(label -> lines.add(label + ": its count is dropped"));
        carryOver
                .suspended()
                .forEach(label -> lines.add(label + ": its count is kept, and continues when the policy counts again"));
        return lines;
    }

    private static String longestWait(CarryOver.LimitCarryOver limit) {
        return limit.longestWaitMs() == 0
                ? ""
                : ", and a client that has used up the limit waits up to "
                        + DurationsAndSizes.duration(limit.longestWaitMs());
    }

    private static String start(CarryOver.LimitCarryOver limit) {
        return switch (limit.start()) {
            case UNCHANGED -> "keeps its count";
            case CONTINUED -> "keeps what was used" + (limit.from().equals(limit.label()) ? "" : " of " + limit.from());
            case CONVERTED -> "counts the current usage of " + limit.from() + ", rounded up, as used at the change";
            case RESET -> "starts without usage";
            case RESUMED -> "continues the usage from before the limit was 0 or unlimited, if there is any";
            case UNCOUNTED -> "counts nothing";
        };
    }
}
