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
 * Replays the requests of one task in the order in which they were decided: those of its own partition in the order of
 * their offsets, and those whose decision records another position at that position.
 *
 * <pre>
 *   requests                     17   18   19   20        18 waits for a lease: its decision records (after 19, step 1)
 *   routed from 3@7                                       its decision records (after 17, step 1)
 *   replayed                     17  3@7   19   18   20
 * </pre>
 */
final class ReplayOrder {

    /**
     * The maximum number of requests without a decision that are kept. If there are more, the oldest is treated
     * as undecided.
     */
    private static final int MAX_WAITING = 20_000;

    /**
     * A request to replay.
     *
     * @param decisions the decisions on it that have been read so far
     * @param longestWaitMs how long it may have waited, at most; 0 if it cannot have waited
     * @param readToMs the time up to which decisions had been read when the request was read, ms since the epoch
     */
    record ReplayRequest(
            Request request, List<LoggedDecision> decisions, boolean isDeadLetter, long longestWaitMs, long readToMs) {

        /** Returns the decision on limits, or else the first decision; null if there is none. */
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

    /** What is known about the position of a request in the order of decisions. */
    enum PositionStatus {
        KNOWN,
        /** The requests that were decided before are not known for certain. */
        UNKNOWN,
        /** The recorded position is before the request itself, or another request has it. */
        IMPOSSIBLE
    }

    /** Replays a request at its position. */
    interface ReplayHandler {
        void handle(ReplayRequest replayRequest, PositionStatus placing);
    }

    private final DecisionLog decisions;
    private final int partition;
    private final ReplayHandler handler;
    private final TreeMap<DecisionOrder, ReplayRequest> scheduled = new TreeMap<>();
    private final Map<Request.Source, ReplayRequest> scheduledBySource = new HashMap<>();
    private final Map<Request.Source, ReplayRequest> waiting =
            new LinkedHashMap<>(); // requests of the own partition without a decision so far
    private DecisionOrder position = new DecisionOrder(-1, 0);
    private long ownEnd = Long.MAX_VALUE;

    /** @param partition the partition of the task */
    ReplayOrder(DecisionLog decisions, int partition, ReplayHandler next) {
        this.decisions = decisions;
        this.partition = partition;
        this.handler = next;
    }

    /** Replays a request of the task's own partition, now or later. */
    void addOwn(ReplayRequest replayRequest) {
        DecisionOrder inOrder = new DecisionOrder(replayRequest.offset(), 0);
        handleBefore(inOrder);
        position = inOrder;
        boolean mayComeLater = replayRequest.canWait()
                && replayRequest.decisions().isEmpty()
                && !replayRequest.isDeadLetter()
                && !decisions.mayBeDeleted(replayRequest.request().source());
        if (mayComeLater) {
            keepWaiting(replayRequest);
        } else if (replayRequest.firstDecision() == null
                || replayRequest.firstDecision().order() == null) {
            handler.handle(
                    replayRequest,
                    replayRequest.firstDecision() == null && replayRequest.canWait()
                            ? PositionStatus.UNKNOWN
                            : PositionStatus.KNOWN);
        } else {
            schedule(replayRequest);
        }
    }

    /** Replays a request that was routed from another partition, now or later. */
    void addRouted(ReplayRequest replayRequest) {
        schedule(replayRequest);
    }

    /** Adds a decision to a request that has not been replayed yet. Returns false if there is no such request. */
    boolean addLateDecision(LoggedDecision recorded) {
        ReplayRequest replayRequest = waiting.remove(recorded.source());
        if (replayRequest == null) {
            ReplayRequest of = scheduledBySource.get(recorded.source());
            return of != null && of.decisions().add(recorded);
        }
        replayRequest.decisions().add(recorded);
        if (recorded.order() == null) {
            handler.handle(replayRequest, PositionStatus.UNKNOWN);
        } else {
            schedule(replayRequest);
        }
        return true;
    }

    private void schedule(ReplayRequest replayRequest) {
        DecisionOrder order = replayRequest.firstDecision().order();
        boolean isOwn = replayRequest.request().source().partition() == partition;
        if (order.step() < 1
                || (isOwn && order.afterOffset() < replayRequest.offset())
                || scheduled.containsKey(order)) {
            handler.handle(replayRequest, PositionStatus.IMPOSSIBLE);
        } else if (order.compareTo(position) <= 0) {
            handler.handle(replayRequest, PositionStatus.UNKNOWN);
        } else {
            scheduled.put(order, replayRequest);
            scheduledBySource.put(replayRequest.request().source(), replayRequest);
        }
    }

    private void keepWaiting(ReplayRequest replayRequest) {
        if (waiting.size() >= MAX_WAITING) {
            Iterator<ReplayRequest> oldest = waiting.values().iterator();
            ReplayRequest left = oldest.next();
            oldest.remove();
            handler.handle(left, PositionStatus.UNKNOWN);
        }
        waiting.put(replayRequest.request().source(), replayRequest);
    }

    private void handleBefore(DecisionOrder end) {
        while (!scheduled.isEmpty() && scheduled.firstKey().compareTo(end) < 0) {
            handleFirst();
        }
    }

    private void handleFirst() {
        Map.Entry<DecisionOrder, ReplayRequest> first = scheduled.pollFirstEntry();
        ReplayRequest replayRequest = first.getValue();
        scheduledBySource.remove(replayRequest.request().source());
        position = first.getKey();
        handler.handle(replayRequest, position.afterOffset() < ownEnd ? PositionStatus.KNOWN : PositionStatus.UNKNOWN);
    }

    /**
     * Declares that no request of the own partition from an offset on is added. The positions after that offset
     * are unknown.
     */
    void stopAt(long offset) {
        ownEnd = offset;
    }

    /** Returns the number of requests that wait for their position. */
    int size() {
        return scheduled.size();
    }

    /**
     * Replays the first half of the requests that wait for their position, up to a request of the own partition.
     * Returns whether it replayed any.
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
     * Returns whether a request in the scope waits for its position. The requests of the own partition before that
     * position must then be read.
     */
    boolean hasInScope(AuditScope scope) {
        return scheduled.values().stream()
                .anyMatch(
                        replayRequest -> scope.isInScope(replayRequest.request().source()));
    }

    /** Replays all remaining requests at the end of the log. */
    void handleRemaining() {
        while (!scheduled.isEmpty()) {
            handleFirst();
        }
        waiting.values().forEach(replayRequest -> handler.handle(replayRequest, PositionStatus.UNKNOWN));
        waiting.clear();
    }
}
