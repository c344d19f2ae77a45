package dev.weir.audit;

import dev.weir.audit.Answers.Told;
import dev.weir.policy.Request;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Puts the requests of one partition into the order in which they were decided: one that waits for shared quota is overtaken by
 * those behind it.
 *
 * <pre>
 *   requests     17   18   19   20        18 waits
 *   decisions    17   19   18   20        18 is taken before 20
 * </pre>
 *
 * <p>Those that do not wait are decided in the order of the requests, so when one of them is taken, so is all that was decided before it.
 * What is sent to a queue has no such place: if another request of its client waits then, nobody knows which came first.
 */
final class InTurn {

    /** More do not wait at once: what is older has no decision. */
    private static final int MOST = 20_000;

    /**
     * A request.
     *
     * @param told what is told of it so far
     * @param decidedFromMs it was decided then or later, ms since the epoch; the least if that is not known
     * @param longestWaitMs for how long it may have waited, 0 if it cannot have
     * @param readMs up to when decisions were read when it came, ms since the epoch
     */
    record Asked(
            Request request, List<Told> told, boolean isDead, long decidedFromMs, long longestWaitMs, long readMs) {

        /** The decision on limits, or else the first; null if there is none. */
        Told first() {
            return told.stream()
                    .filter(one -> !one.isByQueue())
                    .findFirst()
                    .orElse(told.isEmpty() ? null : told.get(0));
        }

        boolean isOnLimits() {
            Told first = first();
            return first != null && !first.isByQueue();
        }

        boolean canWait() {
            return longestWaitMs > 0;
        }

        long offset() {
            return request.source().offset();
        }
    }

    /** Takes a request whose turn it is. */
    interface Next {

        /** @param isPlaced whether it is known that all that was decided before it has been taken, and nothing else */
        void take(Asked asked, boolean isPlaced);
    }

    private final Answers answers;
    private final Next next;
    private final Map<Long, Asked> waiting = new LinkedHashMap<>(); // by their offsets: not decided so far
    private final TreeMap<Long, Asked> decided = new TreeMap<>(); // by the offsets of their decisions: not taken
    private final Map<Long, Asked> decidedOf = new HashMap<>(); // the same, by their own
    private final Map<String, Integer> clients = new HashMap<>(); // how many of each are in one of these

    InTurn(Answers answers, Next next) {
        this.answers = answers;
        this.next = next;
    }

    /** Takes it now, or later. */
    void ask(Asked asked) {
        takeDecidedBefore(asked.decidedFromMs());
        if (asked.isOnLimits()) {
            long place = asked.first().place().offset();
            if (asked.canWait() && place > answers.firstAhead()) {
                keep(asked);
                decidedAt(place, asked);
                return;
            }
            takeBefore(place);
            next.take(asked, true);
        } else if (asked.canWait()
                && asked.told().isEmpty()
                && !asked.isDead()
                && !answers.mayBeDeleted(asked.offset())) {
            keep(asked);
            waiting.put(asked.offset(), asked);
        } else {
            next.take(
                    asked,
                    !asked.canWait() && !clients.containsKey(asked.request().client()));
        }
    }

    /** Takes note of what is told of a request that waits. Returns whether that is one of them. */
    boolean late(Told told) {
        Asked asked = waiting.remove(told.offset());
        if (asked == null) {
            Asked of = decidedOf.get(told.offset());
            return of != null && of.told().add(told);
        }
        asked.told().add(told);
        if (told.isByQueue()) {
            take(asked, false);
        } else {
            decidedAt(told.place().offset(), asked);
        }
        return true;
    }

    private void keep(Asked asked) {
        clients.merge(asked.request().client(), 1, Integer::sum);
        if (waiting.size() >= MOST) {
            Iterator<Asked> oldest = waiting.values().iterator();
            Asked left = oldest.next();
            oldest.remove();
            take(left, false);
        }
        if (decided.size() >= MOST) {
            takeFirst();
        }
    }

    private void decidedAt(long place, Asked asked) {
        decided.put(place, asked);
        decidedOf.put(asked.offset(), asked);
    }

    private void takeBefore(long place) {
        while (!decided.isEmpty() && decided.firstKey() < place) {
            takeFirst();
        }
    }

    /** By the clocks of brokers: where nothing else is decided on limits, what is decided does not wait for that. */
    private void takeDecidedBefore(long timestampMs) {
        while (!decided.isEmpty()
                && decided.firstKey() < answers.firstAhead()
                && decided.firstEntry().getValue().first().timestampMs() + RuleChanges.CLOCKS_MS < timestampMs) {
            takeFirst();
        }
    }

    private void takeFirst() {
        Asked asked = decided.pollFirstEntry().getValue();
        decidedOf.remove(asked.offset());
        take(asked, true);
    }

    private void take(Asked asked, boolean isPlaced) {
        clients.computeIfPresent(asked.request().client(), (client, count) -> count == 1 ? null : count - 1);
        next.take(asked, isPlaced);
    }

    /** Takes all that is left: nothing comes any more. */
    void end() {
        takeBefore(Long.MAX_VALUE);
        waiting.values().forEach(asked -> take(asked, false));
        waiting.clear();
    }
}
