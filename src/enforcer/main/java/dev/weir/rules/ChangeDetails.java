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

/** What is different in a changed policy or queue, line by line, and what a policy carries over from before. */
public final class ChangeDetails {

    private ChangeDetails() {}

    /** None unless a definition was changed by another. */
    public static List<String> of(Change change) {
        if (change.effect() != PolicyTopic.Effect.CHANGED) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        DefinitionDiff.of(change.before(), change.after()).forEach(difference -> lines.add(line(difference)));
        if (lines.isEmpty()) {
            lines.add("only the order in which it is written");
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
            return carryOver.counts() ? List.of("every count is kept") : List.of();
        }
        if (!carryOver.sameKey()) {
            return List.of("everything is counted anew: the key is another");
        }
        List<String> lines = new ArrayList<>();
        for (CarryOver.LimitCarryOver limit : carryOver.limits()) {
            lines.add(limit.label() + ": " + start(limit) + longestWait(limit));
        }
        carryOver.dropped().forEach(label -> lines.add(label + ": its count ends"));
        return lines;
    }

    private static String longestWait(CarryOver.LimitCarryOver limit) {
        return limit.longestWaitMs() == 0
                ? ""
                : ", and a client that has used all of it waits up to "
                        + DurationsAndSizes.duration(limit.longestWaitMs());
    }

    private static String start(CarryOver.LimitCarryOver limit) {
        return switch (limit.start()) {
            case UNCHANGED -> "keeps its count";
            case CONTINUED -> "keeps what was used" + (limit.from().equals(limit.label()) ? "" : " of " + limit.from());
            case CONVERTED -> "counts what is in use of " + limit.from() + " at the change, rounded up, as taken then";
            case RESET -> "starts afresh";
            case UNCOUNTED -> "counts nothing";
        };
    }
}
