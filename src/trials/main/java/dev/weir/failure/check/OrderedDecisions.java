package dev.weir.failure.check;

import dev.weir.event.Decision;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.failure.check.PolicyVersionHistory.Version;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The requests with their committed decisions, each task's in the order in which it decided them.
 *
 * @param decided the requests
 * @param reserving the clients that send requests about reservations
 */
record OrderedDecisions(List<Decided> decided, Set<String> reserving) {

    /**
     * A request and its decision.
     *
     * @param changes how many policy changes the task had applied
     */
    record Decided(int task, DecisionOrder position, Request request, Decision decision, int changes) {

        private static Decided of(int task, Request request, Decision decision) {
            DecisionOrder order = decision.context().order();
            DecisionOrder inOrder = new DecisionOrder(request.source().offset(), 0);
            return new Decided(task, order == null ? inOrder : order, request, decision, 0);
        }

        private Decided withChanges(int count) {
            return new Decided(task, position, request, decision, count);
        }

        /** Returns the policies that applied at a time. */
        List<Version> applicable(PolicyVersionHistory rules, long atMs) {
            return rules.applicable(request, atMs, changes);
        }

        /** Returns whether the request is admitted and may be charged. */
        boolean isAdmitted() {
            return request.kind() == RequestKind.CONSUME
                    && decision.outcome() == Outcome.ALLOWED
                    && !decision.repeated();
        }
    }

    static OrderedDecisions of(Evidence evidence, DecisionsByRequest answers, PolicyVersionHistory rules) {
        List<Decided> all = new ArrayList<>();
        Set<String> reserving = new HashSet<>();
        for (Entry entry : evidence.requests()) {
            Request request = evidence.request(entry).request();
            List<Entry> committed = answers.to(entry.place());
            if (request != null && !committed.isEmpty()) {
                int task = evidence.taskOf(request.client());
                all.add(Decided.of(task, request, committed.get(0).decision()));
                if (request.reserveMs() != null || request.isForReservation()) {
                    reserving.add(request.client());
                }
            }
        }
        all.sort(Comparator.comparingInt(Decided::task).thenComparing(Decided::position));
        Map<Integer, Integer> changes = new HashMap<>(); // by task
        all.replaceAll(one -> {
            int last = changes.getOrDefault(one.task, 0);
            int count = rules.countOf(one.decision.context().policiesChecksum(), last);
            changes.put(one.task, count);
            return one.withChanges(count);
        });
        return new OrderedDecisions(all, reserving);
    }
}
