package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Request;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Takes the requests of one task in the order in which they were decided: those of its own partition in the order of
 * their offsets, and those whose decision records another position there.
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
     * @param decisions what is told of it so far
     * @param longestWaitMs for how long it may have waited, 0 if it cannot have
     * @param readToMs up to when decisions were read when it came, ms since the epoch
     */
    record ReplayRequest(
            Request request, List<LoggedDecision> decisions, boolean isDeadLetter, long longestWaitMs, long readToMs) {

        /** The decision on limits, or else the first; null if there is none. */
        LoggedDecision firstDecision() {
            return decisions.stream()
                    .filter(one -> !one.isByQueue())
                    .findFirst()
                    .orElse(decisions.isEmpty() ? null : decisions.get(0));
        }

        boolean isDecidedByLimits() {
            LoggedDecision first = firstDecision();
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
    enum PositionStatus {
        KNOWN,
        /** What was decided before is not known for sure. */
        UNKNOWN,
        /** The recorded position is before the request itself, or another request has it. */
        IMPOSSIBLE
    }

    /** Takes a request whose turn it is. */
    interface ReplayHandler {
        void handle(ReplayRequest asked, PositionStatus placing);
    }

    private final DecisionLog decisions;
    private final int partition;
    private final ReplayHandler handler;
    private final TreeMap<DecisionOrder, ReplayRequest> scheduled = new TreeMap<>();
    private final Map<Request.Source, ReplayRequest> scheduledBySource = new HashMap<>();
    private final Map<Request.Source, ReplayRequest> waiting =
            new LinkedHashMap<>(); // of the own partition, without a decision so far
    private DecisionOrder position = new DecisionOrder(-1, 0);
    private long ownEnd = Long.MAX_VALUE;

    /** @param partition the task's own one */
    ReplayOrder(DecisionLog decisions, int partition, ReplayHandler next) {
        this.decisions = decisions;
        this.partition = partition;
        this.handler = next;
    }

    /** Takes a request of the task's own partition, now or later. */
    void addOwn(ReplayRequest asked) {
        DecisionOrder inOrder = new DecisionOrder(asked.offset(), 0);
        handleBefore(inOrder);
        position = inOrder;
        boolean mayComeLater = asked.canWait()
                && asked.decisions().isEmpty()
                && !asked.isDeadLetter()
                && !decisions.mayBeDeleted(asked.request().source());
        if (mayComeLater) {
            keepWaiting(asked);
        } else if (asked.firstDecision() == null || asked.firstDecision().order() == null) {
            handler.handle(
                    asked,
                    asked.firstDecision() == null && asked.canWait() ? PositionStatus.UNKNOWN : PositionStatus.KNOWN);
        } else {
            schedule(asked);
        }
    }

    /** Takes a request that was routed here from another partition, now or later. */
    void addRouted(ReplayRequest asked) {
        schedule(asked);
    }

    /** Takes note of what is told of a request that was not taken yet. Returns whether that is one of them. */
    boolean addLateDecision(LoggedDecision told) {
        ReplayRequest asked = waiting.remove(told.source());
        if (asked == null) {
            ReplayRequest of = scheduledBySource.get(told.source());
            return of != null && of.decisions().add(told);
        }
        asked.decisions().add(told);
        if (told.order() == null) {
            handler.handle(asked, PositionStatus.UNKNOWN);
        } else {
            schedule(asked);
        }
        return true;
    }

    private void schedule(ReplayRequest asked) {
        DecisionOrder order = asked.firstDecision().order();
        boolean isOwn = asked.request().source().partition() == partition;
        if (order.step() < 1 || (isOwn && order.afterOffset() < asked.offset()) || scheduled.containsKey(order)) {
            handler.handle(asked, PositionStatus.IMPOSSIBLE);
        } else if (order.compareTo(position) <= 0) {
            handler.handle(asked, PositionStatus.UNKNOWN);
        } else {
            scheduled.put(order, asked);
            scheduledBySource.put(asked.request().source(), asked);
        }
    }

    private void keepWaiting(ReplayRequest asked) {
        if (waiting.size() >= MAX_WAITING) {
            Iterator<ReplayRequest> oldest = waiting.values().iterator();
            ReplayRequest left = oldest.next();
            oldest.remove();
            handler.handle(left, PositionStatus.UNKNOWN);
        }
        waiting.put(asked.request().source(), asked);
    }

    private void handleBefore(DecisionOrder end) {
        while (!scheduled.isEmpty() && scheduled.firstKey().compareTo(end) < 0) {
            handleFirst();
        }
    }

    private void handleFirst() {
        Map.Entry<DecisionOrder, ReplayRequest> first = scheduled.pollFirstEntry();
        ReplayRequest asked = first.getValue();
        scheduledBySource.remove(asked.request().source());
        position = first.getKey();
        handler.handle(asked, position.afterOffset() < ownEnd ? PositionStatus.KNOWN : PositionStatus.UNKNOWN);
    }

    /** No request of the own partition from an offset on is taken: what was decided after those has no known place. */
    void stopAt(long offset) {
        ownEnd = offset;
    }

    /** How many requests are kept until their turn. */
    int size() {
        return scheduled.size();
    }

    /**
     * Takes the first half of those that are kept, up to a request of the own partition. Returns whether it took any.
     */
    boolean makeRoom(long offset) {
        DecisionOrder end = new DecisionOrder(offset, 0);
        int before = scheduled.size();
        while (scheduled.size() > before / 2 && scheduled.firstKey().compareTo(end) < 0) {
            handleFirst();
        }
        return scheduled.size() < before;
    }

    /**
     * Whether a request is kept that a scope judges: the requests of the own partition up to its turn must be taken
     * before.
     */
    boolean hasInScope(AuditScope scope) {
        return scheduled.values().stream()
                .anyMatch(asked -> scope.isInScope(asked.request().source()));
    }

    /** Takes all that is left: nothing comes any more. */
    void handleRemaining() {
        while (!scheduled.isEmpty()) {
            handleFirst();
        }
        waiting.values().forEach(asked -> handler.handle(asked, PositionStatus.UNKNOWN));
        waiting.clear();
    }
}
