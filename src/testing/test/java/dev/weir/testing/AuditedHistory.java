package dev.weir.testing;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.rules.QueueRules;
import java.util.ArrayList;
import java.util.List;

/** Tests of the audit of a history of the queue {@code q}: requests of alice in one partition, and what became of them. */
abstract class AuditedHistory {

    final List<Request> requests = new ArrayList<>();
    final List<Decision> decisions = new ArrayList<>();
    final List<Release> releases = new ArrayList<>();
    private final QueueRules rules;

    AuditedHistory(QueueRules rules) {
        this.rules = rules;
    }

    final QueueAudit audit() {
        return new QueueAudit(requests, decisions, releases);
    }

    final List<String> faults() {
        return audit().faults(List.of(rules));
    }

    /** Adds a request at the next offset. */
    final Request send(Request.Builder request) {
        Request sent = request.source(0, requests.size()).build();
        requests.add(sent);
        return sent;
    }

    /** Returns a decision of the queue. */
    static Decision decision(String id, Request.Source source, Outcome outcome, Reason reason, long atMs) {
        return new Decision(
                        new Decision.Identity(id, "alice", source),
                        new Decision.Status(outcome, reason, 202),
                        Decision.Timing.never(atMs))
                .withQueueing(new Decision.Queueing("q", null, null));
    }
}
