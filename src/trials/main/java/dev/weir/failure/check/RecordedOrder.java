package dev.weir.failure.check;

import dev.weir.event.Decision;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Request;
import dev.weir.failure.check.Evidence.Entry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/**
 * The order in which the requests of a client were decided, as the decisions record it: the committed order, and those
 * of aborted transactions. A task that restarts after an abort decides the requests of its own partition in the same
 * order. Requests that were routed to it, or that wait for shared quota, may then be decided at other positions.
 *
 * <pre>
 *   committed                17   18
 *   aborted                            19   3@7   20
 *   committed afterwards               19   20   3@7       the decisions on 20 and 3@7 may differ from the aborted ones
 * </pre>
 */
final class RecordedOrder {

    private static final DecisionOrder START = new DecisionOrder(-1, 0);

    /**
     * The maximum difference between the times of two records of different partitions that a task processes one after
     * the other.
     */
    private static final long SPREAD_MS = 10_000;

    /** The decisions by limits on the requests of one client. */
    private static final class OfClient {
        /** The requests of the client's own partition, by their offsets. */
        final NavigableMap<DecisionOrder, Request.Source> inOrder = new TreeMap<>();
        /** All requests, by their committed positions. */
        final NavigableMap<DecisionOrder, Request.Source> committed = new TreeMap<>();
        /**
         * The times of requests that were sent to a queue and not decided at their own offset. Aborted decisions do not
         * show these requests.
         */
        final NavigableMap<DecisionOrder, Long> queued = new TreeMap<>();

        boolean isInOrder() {
            return inOrder.equals(committed);
        }
    }

    /**
     * The decisions by limits of a task between a commit and an abort.
     *
     * @param before the last committed position
     */
    private record Attempt(DecisionOrder before, List<Entry> entries) {

        DecisionOrder first() {
            return position(entries.get(0).decision());
        }

        DecisionOrder last() {
            return position(entries.get(entries.size() - 1).decision());
        }

        long lastMs() {
            return entries.stream().mapToLong(Entry::timestampMs).max().orElseThrow();
        }
    }

    private final Map<String, OfClient> clients = new HashMap<>();
    private final Map<Entry, Attempt> attempts = new HashMap<>();
    private final Set<Request.Source> shared;

    /** @param shared the requests to which shared limits apply */
    RecordedOrder(Evidence evidence, DecisionsByRequest answers, Set<Request.Source> shared) {
        this.shared = shared;
        for (Entry entry : evidence.requests()) {
            Request request = evidence.request(entry).request();
            List<Entry> committed = answers.to(entry.place());
            if (request != null) {
                int task = evidence.taskOf(request.client());
                Decision decision =
                        committed.isEmpty() ? null : committed.get(0).decision();
                add(clients.computeIfAbsent(request.client(), any -> new OfClient()), request, task, decision);
            }
        }
        Map<Integer, NavigableMap<Long, DecisionOrder>> committed = new HashMap<>();
        for (Entry entry : evidence.decisions().committed()) {
            Decision decision = entry.decision();
            if (decision.queueing() == null) {
                committed
                        .computeIfAbsent(entry.partition(), any -> new TreeMap<>())
                        .put(entry.offset(), position(decision));
            }
        }
        findAttempts(evidence.decisions().aborted(), committed);
    }

    private static void add(OfClient client, Request request, int task, Decision decision) {
        boolean isOwn = request.source().partition() == task;
        DecisionOrder inOrder = new DecisionOrder(request.source().offset(), 0);
        DecisionOrder order = decision == null ? null : decision.context().order();
        if (isOwn) {
            client.inOrder.put(inOrder, request.source());
        }
        if (isOwn || order != null) {
            client.committed.put(order == null ? inOrder : order, request.source());
        }
        if (order != null && decision.queueing() != null) {
            client.queued.put(order, request.timestampMs());
        }
    }

    private void findAttempts(
            List<Entry> aborted, Map<Integer, NavigableMap<Long, DecisionOrder>> committedByPartition) {
        Map<Integer, Attempt> last = new HashMap<>(); // by partition
        aborted.stream()
                .filter(entry -> entry.decision().queueing() == null)
                .sorted(Comparator.comparingInt(Entry::partition).thenComparingLong(Entry::offset))
                .forEach(entry -> {
                    Map.Entry<Long, DecisionOrder> commit = committedByPartition
                            .getOrDefault(entry.partition(), new TreeMap<>())
                            .lowerEntry(entry.offset());
                    DecisionOrder before = commit == null ? START : commit.getValue();
                    Attempt attempt = last.get(entry.partition());
                    boolean goesOn = attempt != null
                            && attempt.before.equals(before)
                            && position(entry.decision()).compareTo(attempt.last()) > 0;
                    if (!goesOn) {
                        attempt = new Attempt(before, new ArrayList<>());
                        last.put(entry.partition(), attempt);
                    }
                    attempt.entries.add(entry);
                    attempts.put(entry, attempt);
                });
    }

    private static DecisionOrder position(Decision decision) {
        DecisionOrder order = decision.context().order();
        return order == null ? new DecisionOrder(decision.source().offset(), 0) : order;
    }

    /**
     * Returns the requests that were decided after a later one of the same client and partition. Requests that may wait
     * for shared quota are exempt.
     */
    List<String> overtaken() {
        List<String> overtaken = new ArrayList<>();
        clients.forEach((client, of) -> {
            Map<Integer, Request.Source> last = new HashMap<>(); // by partition
            for (Request.Source source : of.committed.values()) {
                Request.Source before = shared.contains(source) ? null : last.put(source.partition(), source);
                if (before != null && before.offset() > source.offset()) {
                    overtaken.add(
                            Oracle.at(source) + ", client " + client + ": was decided after offset " + before.offset());
                }
            }
        });
        return overtaken;
    }

    /**
     * Returns whether the same requests of the client had been decided, in the same order, before an aborted decision
     * and before the committed one on the same request. Returns false if this is not certain.
     */
    boolean isSame(Entry aborted, Decision committed) {
        Decision decision = aborted.decision();
        OfClient client = clients.get(decision.client());
        Attempt attempt = attempts.get(aborted);
        if (client == null || attempt == null) {
            return false;
        }
        boolean isInOrder = decision.context().order() == null && client.isInOrder();
        if (isInOrder) {
            return true;
        }
        if (attempt.first().compareTo(attempt.before) <= 0) {
            return false; // of an instance that was paused during a takeover: its start position is unknown
        }
        List<Request.Source> then = then(client, attempt, decision);
        DecisionOrder end = position(committed);
        List<Request.Source> now = end.compareTo(attempt.before) <= 0
                ? List.of()
                : List.copyOf(client.committed
                        .subMap(attempt.before, false, end, false)
                        .values());
        boolean mayHideAnother = client.queued.tailMap(attempt.before, false).values().stream()
                .anyMatch(timestampMs -> timestampMs <= attempt.lastMs() + SPREAD_MS);
        return then.equals(now) && !mayHideAnother && now.stream().noneMatch(shared::contains);
    }

    /** Returns the requests of the client that were decided between the commit and a decision that was aborted. */
    private static List<Request.Source> then(OfClient client, Attempt attempt, Decision decision) {
        DecisionOrder end = position(decision);
        NavigableMap<DecisionOrder, Request.Source> then =
                new TreeMap<>(client.inOrder.subMap(attempt.before, false, end, false));
        Set<Request.Source> moved = new HashSet<>();
        for (Entry entry : attempt.entries) {
            Decision other = entry.decision();
            boolean isBefore = position(other).compareTo(end) < 0;
            if (other.context().order() != null && other.client().equals(decision.client())) {
                moved.add(other.source());
                if (isBefore) {
                    then.put(position(other), other.source());
                }
            }
        }
        then.entrySet().removeIf(entry -> entry.getKey().step() == 0 && moved.contains(entry.getValue()));
        return List.copyOf(then.values());
    }
}
