package dev.weir.audit;

import dev.weir.app.MemoryStates;
import dev.weir.audit.Answers.Told;
import dev.weir.audit.PartitionAudit.Scope;
import dev.weir.audit.PartitionAudit.Tools;
import dev.weir.policy.Admission;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.Policy;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Decides the requests of one partition anew, one after the other, each by the rules that were in force, and tells where that
 * says nothing.
 */
final class Recomputation {

    /** By how much the clocks of brokers, and of who changes rules, may differ. */
    private static final long CLOCKS_MS = 10_000;

    /** What was decided anew, and why that says nothing; null if it does. */
    record Recomputed(Ruling ruling, Unjudged unjudged) {}

    private final RuleChanges rules;
    private final Answers answers;
    private final MemoryStates states;
    private final Doubts doubts;
    private final long forgetAfterMs;
    private final long lagMs;
    private long decidedMs = Long.MIN_VALUE;
    private long newestMs;
    private int seen;

    /** @param firstMs the time of the first request, ms since the epoch */
    Recomputation(Tools tools, Scope scope, Answers answers, long firstMs) {
        this.answers = answers;
        rules = tools.rules();
        states = new MemoryStates(tools.config().state());
        forgetAfterMs = tools.config().state().forgetAfter().toMillis();
        lagMs = scope.range().lag().toMillis();
        boolean rulesWhole = rules.seenBy(firstMs) >= rules.wholeFrom();
        Unjudged ofAll =
                !scope.requestsWhole() ? Unjudged.BEFORE_THE_LOG : rulesWhole ? null : Unjudged.RULES_FORGOTTEN;
        doubts = new Doubts(ofAll, rules.longestDelayMs(), states::forget);
    }

    /** Takes note that what comes is decided at a time, ms since the epoch, or later. */
    void decidedFrom(long timestampMs) {
        decidedMs = Math.max(decidedMs, timestampMs);
    }

    /**
     * Decides by the table that was in force. Where it may have been one of several, what was told shows which; where several would
     * have said the same, the newest is taken, and what they count differently is in doubt.
     *
     * @param told what the queue, or the limits, have told; null if there is nothing
     */
    Recomputed of(Request request, Told told) {
        states.observe(request.timestampMs());
        boolean isLate = request.timestampMs() < newestMs - forgetAfterMs;
        newestMs = Math.max(newestMs, request.timestampMs());
        if (told != null && !told.isByQueue()) {
            decidedFrom(told.timestampMs());
        }
        long untilMs = told == null ? answers.readMs() : told.timestampMs();
        seen = Math.max(seen, decidedMs == Long.MIN_VALUE ? 0 : rules.seenBy(decidedMs - lagMs));
        int to = Math.max(seen, untilMs == Long.MIN_VALUE ? 0 : rules.writtenBy(untilMs + CLOCKS_MS));
        List<Integer> turns = rules.turns(request, seen, to);
        int count = turns.size() == 1 ? turns.get(0) : choose(request, told, turns, to);
        List<Policy> applicable = rules.table(count).applicable(request);
        Unjudged unjudged = doubts.about(request, applicable);
        if (count < rules.wholeFrom()) {
            unjudged = Unjudged.RULES_FORGOTTEN;
        } else if (isLate) {
            unjudged = Unjudged.TOO_LATE;
            applicable.forEach(policy -> doubts.add(policy.stateKey(request), Unjudged.TOO_LATE));
        }
        Ruling ruling = Decider.decide(request, rules.table(count), states);
        Decision decision = told == null || told.isByQueue() ? null : told.decision();
        doubts.learn(request, applicable, decision, unjudged == null || isAlike(ruling, decision));
        return new Recomputed(ruling, unjudged);
    }

    /** Whether one as the other charges what is known. */
    private static boolean isAlike(Ruling ruling, Decision told) {
        return told != null
                && ruling instanceof Decision decided
                && decided.outcome() == told.outcome()
                && decided.repeated() == told.repeated()
                && Objects.equals(decided.delayMs(), told.delayMs());
    }

    private int choose(Request request, Told told, List<Integer> turns, int to) {
        int lastCount = Math.min(answers.lastCount(), told == null ? Integer.MAX_VALUE : told.lastCount());
        int shown = Math.max(turns.get(0), lastCount);
        List<Integer> alike = alike(
                request, told, turns.stream().filter(count -> count <= shown).toList());
        if (alike.isEmpty()) {
            alike = alike(request, told, turns);
        }
        if (alike.isEmpty()) {
            alike = alike(request, told, rules.partialTurns(request, turns.get(0), to));
        }
        if (alike.isEmpty()) {
            return turns.get(0);
        }
        if (alike.size() == 1 && told != null) {
            seen = Math.max(seen, alike.get(0));
        } else {
            doubt(request, alike);
        }
        return alike.get(alike.size() - 1);
    }

    /** By which tables the same would have been told; by all if nothing was. */
    private List<Integer> alike(Request request, Told told, List<Integer> turns) {
        List<Integer> alike = new ArrayList<>();
        for (int count : turns) {
            List<Policy> applicable = rules.table(count).applicable(request);
            if (told == null || doubts.about(request, applicable) != null) {
                if (told == null || names(told.decision(), applicable)) {
                    alike.add(count);
                }
                continue;
            }
            Ruling ruling = Decider.decide(request, rules.table(count), new Trial(states));
            boolean isSame = ruling instanceof Admission admission
                    ? Fields.of(told.decision(), admission).isEmpty()
                    : ruling.equals(told.decision());
            if (isSame) {
                alike.add(count);
            }
        }
        return alike;
    }

    private static boolean names(Decision decision, List<Policy> applicable) {
        return decision.repeated()
                || (decision.policyId() == null
                        ? applicable.isEmpty()
                        : applicable.stream()
                                .anyMatch(policy -> policy.id().equals(decision.policyId())
                                        && Objects.equals(policy.version(), decision.policyVersion())));
    }

    /** What is counted under other terms by one table than by another one is not known any more. */
    private void doubt(Request request, List<Integer> turns) {
        List<List<Policy>> all = turns.stream()
                .map(count -> rules.table(count).applicable(request))
                .toList();
        boolean writes = turns.stream().anyMatch(count -> {
            Trial trial = new Trial(states);
            Decider.decide(request, rules.table(count), trial);
            return trial.hasWritten();
        });
        for (List<Policy> some : writes ? all : List.<List<Policy>>of()) {
            for (Policy policy : some) {
                boolean isSame = all.stream().allMatch(others -> others.stream()
                        .anyMatch(other -> other.id().equals(policy.id())
                                && other.key().equals(policy.key())
                                && other.terms().equals(policy.terms())));
                if (!isSame) {
                    doubts.add(policy.stateKey(request), Unjudged.EITHER_VERSION);
                }
            }
        }
    }
}
