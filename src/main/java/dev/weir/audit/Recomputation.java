package dev.weir.audit;

import dev.weir.app.MemoryStates;
import dev.weir.audit.Answers.Told;
import dev.weir.policy.Admission;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.Kind;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import dev.weir.policy.Wait;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Decides the requests of one partition anew, one after the other, each by the rules that were in force and what was held of shared
 * quota, and tells where that says nothing.
 */
final class Recomputation {

    /**
     * What was decided anew.
     *
     * @param unjudged why that says nothing; null if it does
     * @param shared the shared quotas that it took of, or for a SETTLE that it may have given back to
     */
    record Recomputed(Ruling ruling, Unjudged unjudged, Set<Shared> shared) {}

    /** A quota that is shared, and whether its policy only observes. */
    record Shared(StateKey key, boolean observes) {}

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
     * @param isPlaced whether what was decided before is known
     */
    Recomputed of(Request request, Told told, boolean isPlaced) {
        states.observe(request.timestampMs());
        boolean isLate = request.timestampMs() < newestMs - forgetAfterMs;
        newestMs = Math.max(newestMs, request.timestampMs());
        if (told != null && !told.isByQueue()) {
            decidedFrom(told.timestampMs());
        }
        long untilMs = told == null ? answers.readMs() : told.timestampMs();
        seen = Math.max(seen, decidedMs == Long.MIN_VALUE ? 0 : rules.seenBy(decidedMs - lagMs));
        int to = Math.max(seen, untilMs == Long.MIN_VALUE ? 0 : rules.writtenBy(untilMs + RuleChanges.CLOCKS_MS));
        List<Integer> turns = rules.turns(request, seen, to);
        List<Integer> alike = turns.size() == 1 ? turns : choose(request, told, turns, to);
        int count = alike.isEmpty() ? turns.get(0) : alike.get(alike.size() - 1);
        Set<Shared> shared = shared(request, alike.isEmpty() ? turns : alike);
        List<Policy> applicable = rules.table(count).applicable(request);
        if (!isPlaced) {
            doubtOwn(request, applicable, Unjudged.ORDER_UNKNOWN);
        } else if (told == null && applicable.stream().anyMatch(Policy::isShared)) {
            doubtOwn(request, applicable, Unjudged.NOT_RETAINED);
        }
        Unjudged unjudged = doubts.about(request, applicable);
        if (count < rules.wholeFrom()) {
            unjudged = Unjudged.RULES_FORGOTTEN;
        } else if (isLate) {
            unjudged = Unjudged.TOO_LATE;
            applicable.forEach(policy -> doubts.add(policy.stateKey(request), Unjudged.TOO_LATE));
        }
        Ruling ruling = decide(request, told, count, states);
        Decision decision = told == null || told.isByQueue() ? null : told.decision();
        doubts.learn(request, applicable, decision, unjudged == null || isAlike(ruling, decision));
        return new Recomputed(ruling, unjudged, shared);
    }

    /** Decides by what was held of shared quota, as the decision shows; what is not to wait is decided at once. */
    private Ruling decide(Request request, Told told, int count, States of) {
        PolicyTable table = rules.table(count);
        Decision decision = told == null ? null : told.decision();
        Ruling ruling = Decider.decide(request, table, of, Held.turn(request, decision, true));
        return ruling instanceof Wait
                ? Decider.decide(request, table, of, Held.turn(request, decision, false))
                : ruling;
    }

    /** What is counted for the client alone, and may be charged or not, is not known any more. */
    private void doubtOwn(Request request, List<Policy> applicable, Unjudged why) {
        for (Policy policy : applicable) {
            if (!policy.isShared() && !policy.terms().isEmpty()) {
                doubts.add(policy.stateKey(request), why);
            }
        }
    }

    /** The shared quotas of all of these tables, or for a SETTLE of any. */
    private Set<Shared> shared(Request request, List<Integer> counts) {
        Set<Shared> shared = null;
        for (int count : counts) {
            Set<Shared> some = new HashSet<>();
            for (Policy policy : rules.table(count).applicable(request)) {
                if (policy.isShared()) {
                    some.add(new Shared(policy.stateKey(request), policy.observes()));
                }
            }
            if (shared == null) {
                shared = some;
            } else if (request.kind() == Kind.SETTLE) {
                shared.addAll(some);
            } else {
                shared.retainAll(some);
            }
        }
        return shared;
    }

    /** Whether one as the other charges what is known. */
    private static boolean isAlike(Ruling ruling, Decision told) {
        return told != null
                && ruling instanceof Decision decided
                && decided.outcome() == told.outcome()
                && decided.repeated() == told.repeated()
                && Objects.equals(decided.delayMs(), told.delayMs());
    }

    /** After how many changes it may have been decided; none if what was told is by none of them. */
    private List<Integer> choose(Request request, Told told, List<Integer> turns, int to) {
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
        if (alike.size() == 1 && told != null) {
            seen = Math.max(seen, alike.get(0));
        } else if (!alike.isEmpty()) {
            doubt(request, told, alike);
        }
        return alike;
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
            Ruling ruling = decide(request, told, count, new Trial(states));
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
    private void doubt(Request request, Told told, List<Integer> turns) {
        List<List<Policy>> all = turns.stream()
                .map(count -> rules.table(count).applicable(request))
                .toList();
        boolean writes = turns.stream().anyMatch(count -> {
            Trial trial = new Trial(states);
            decide(request, told, count, trial);
            return trial.hasWritten();
        });
        for (List<Policy> some : writes ? all : List.<List<Policy>>of()) {
            for (Policy policy : some) {
                boolean isSame = all.stream().allMatch(others -> others.stream()
                        .anyMatch(other -> other.id().equals(policy.id())
                                && other.key().equals(policy.key())
                                && other.terms().equals(policy.terms())));
                if (!isSame && !policy.isShared()) {
                    doubts.add(policy.stateKey(request), Unjudged.EITHER_VERSION);
                }
            }
        }
    }
}
