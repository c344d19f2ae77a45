package dev.weir.audit;

import dev.weir.audit.DecisionLog.Told;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Request;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Takes the requests of one task in the order in which they were decided: those of its own partition in the order of their offsets, and
 * those whose decision records another position there.
 *
 * <pre>
 *   requests                     17   18   19   20        18 waits for shared quota: its decision records (after 19, step 1)
 *   routed from 3@7                                       its decision records (after 17, step 1)
 *   taken                        17  3@7   19   18   20
 * </pre>
 */
final class ReplayOrder {

    /** So many requests without a decision are kept; of more, the oldest has none. */
    private static final int MAX_WAITING = 20_000;

    /**
     * A request.
     *
     * @param told what is told of it so far
     * @param longestWaitMs for how long it may have waited, 0 if it cannot have
     * @param readMs up to when decisions were read when it came, ms since the epoch
     */
    record Asked(Request request, List<Told> told, boolean isDead, long longestWaitMs, long readMs) {

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

    /** What is known of the place of a request among the others. */
    enum Placing {
        KNOWN,
        /** What was decided before is not known for sure. */
        UNKNOWN,
        /** The recorded position is before the request itself, or another request has it. */
        IMPOSSIBLE
    }

    /** Takes a request whose turn it is. */
    interface Next {
        void take(Asked asked, Placing placing);
    }

    private final DecisionLog decisions;
    private final int partition;
    private final Next next;
    private final TreeMap<DecisionOrder, Asked> later = new TreeMap<>();
    private final Map<Request.Source, Asked> laterBySource = new HashMap<>();
    private final Map<Request.Source, Asked> waiting =
            new LinkedHashMap<>(); // of the own partition, without a decision so far
    private DecisionOrder position = new DecisionOrder(-1, 0);
    private long ownEnd = Long.MAX_VALUE;

    /** @param partition the task's own one */
    ReplayOrder(DecisionLog decisions, int partition, Next next) {
        this.decisions = decisions;
        this.partition = partition;
        this.next = next;
    }

    /** Takes a request of the task's own partition, now or later. */
    void own(Asked asked) {
        DecisionOrder inOrder = new DecisionOrder(asked.offset(), 0);
        takeBefore(inOrder);
        position = inOrder;
        boolean mayComeLater = asked.canWait()
                && asked.told().isEmpty()
                && !asked.isDead()
                && !decisions.mayBeDeleted(asked.request().source());
        if (mayComeLater) {
            keepWaiting(asked);
        } else if (asked.first() == null || asked.first().order() == null) {
            next.take(asked, asked.first() == null && asked.canWait() ? Placing.UNKNOWN : Placing.KNOWN);
        } else {
            place(asked);
        }
    }

    /** Takes a request that was routed here from another partition, now or later. */
    void routed(Asked asked) {
        place(asked);
    }

    /** Takes note of what is told of a request that was not taken yet. Returns whether that is one of them. */
    boolean late(Told told) {
        Asked asked = waiting.remove(told.source());
        if (asked == null) {
            Asked of = laterBySource.get(told.source());
            return of != null && of.told().add(told);
        }
        asked.told().add(told);
        if (told.order() == null) {
            next.take(asked, Placing.UNKNOWN);
        } else {
            place(asked);
        }
        return true;
    }

    private void place(Asked asked) {
        DecisionOrder order = asked.first().order();
        boolean isOwn = asked.request().source().partition() == partition;
        if (order.step() < 1 || (isOwn && order.afterOffset() < asked.offset()) || later.containsKey(order)) {
            next.take(asked, Placing.IMPOSSIBLE);
        } else if (order.compareTo(position) <= 0) {
            next.take(asked, Placing.UNKNOWN);
        } else {
            later.put(order, asked);
            laterBySource.put(asked.request().source(), asked);
        }
    }

    private void keepWaiting(Asked asked) {
        if (waiting.size() >= MAX_WAITING) {
            Iterator<Asked> oldest = waiting.values().iterator();
            Asked left = oldest.next();
            oldest.remove();
            next.take(left, Placing.UNKNOWN);
        }
        waiting.put(asked.request().source(), asked);
    }

    private void takeBefore(DecisionOrder end) {
        while (!later.isEmpty() && later.firstKey().compareTo(end) < 0) {
            takeFirst();
        }
    }

    private void takeFirst() {
        Map.Entry<DecisionOrder, Asked> first = later.pollFirstEntry();
        Asked asked = first.getValue();
        laterBySource.remove(asked.request().source());
        position = first.getKey();
        next.take(asked, position.afterOffset() < ownEnd ? Placing.KNOWN : Placing.UNKNOWN);
    }

    /** No request of the own partition from an offset on is taken: what was decided after those has no known place. */
    void stopAt(long offset) {
        ownEnd = offset;
    }

    /** How many requests are kept until their turn. */
    int size() {
        return later.size();
    }

    /** Takes the first half of those that are kept, up to a request of the own partition. Returns whether it took any. */
    boolean makeRoom(long offset) {
        DecisionOrder end = new DecisionOrder(offset, 0);
        int before = later.size();
        while (later.size() > before / 2 && later.firstKey().compareTo(end) < 0) {
            takeFirst();
        }
        return later.size() < before;
    }

    /** Whether a request is kept that a scope judges: the requests of the own partition up to its turn must be taken before. */
    boolean hasJudged(AuditScope scope) {
        return later.values().stream()
                .anyMatch(asked -> scope.isJudged(asked.request().source()));
    }

    /** Takes all that is left: nothing comes any more. */
    void end() {
        while (!later.isEmpty()) {
            takeFirst();
        }
        waiting.values().forEach(asked -> next.take(asked, Placing.UNKNOWN));
        waiting.clear();
    }
}
