package dev.weir.failure;

import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.Evidence.Entry;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A decision or release that a {@code read_uncommitted} reader saw of an aborted transaction is the same as the
 * committed one.
 *
 * <p>A decision on limits is a function of the requests and of the order in which those of its client were decided,
 * both of which are recorded ({@link RecordedOrder}). If the order was the same, so is every field but {@link
 * Decision#context}: the instance that decides again may have applied more policies, which were not in force at the
 * request's time. If requests that were routed came at other positions, the decision need only be on the same request.
 * A decision on shared limits depends on the time at which it is taken and on the leases at that time; it is left out.
 *
 * <p>What a queue answers depends on the clock. After an abort, it may answer with another position or wait, reject a
 * request that it had admitted, release in another order (the tags of fair queueing are not stored) and at another
 * time, and a sequence number may belong to another request. The request, its queue and its policy must be the same,
 * and in a release what was sent.
 */
final class AbortedOutputInvariant {

    private record Id(String client, String requestId, String queue) {}

    private AbortedOutputInvariant() {}

    static Breach check(
            Evidence evidence, DecisionsByRequest answers, Set<Request.Source> shared, RecordedOrder order) {
        Breach.Notes notes = new Breach.Notes(
                "7 seen-twice-alike",
                "decisions",
                "in another order",
                "queues' answers",
                "releases",
                "releases that came again otherwise");
        for (Entry entry : evidence.abortedDecisions()) {
            if (!shared.contains(entry.decision().source())) {
                compare(entry, answers, order, notes);
            }
        }
        Map<Id, Release> released = new HashMap<>();
        for (Entry entry : evidence.releases()) {
            Release release = entry.release();
            released.put(id(release), release);
        }
        Map<Id, Request> sent = sent(evidence);
        for (Entry entry : evidence.abortedReleases()) {
            Release release = entry.release();
            notes.count("releases");
            compare(release, released.get(id(release)), sent.get(id(release)), notes);
        }
        return notes.done();
    }

    private static void compare(Entry aborted, DecisionsByRequest answers, RecordedOrder order, Breach.Notes notes) {
        Decision decision = aborted.decision();
        List<Entry> told = answers.to(decision.source());
        if (told.isEmpty()) {
            notes.fault(Oracle.at(decision.source()) + ": was told " + decision + " and then nothing");
        }
        for (Entry committed : told) {
            Decision later = committed.decision();
            boolean same;
            if (decision.queueing() != null) {
                notes.count("queues' answers");
                same = isOfSame(decision, later);
            } else if (order.isSame(aborted, later)) {
                notes.count("decisions");
                same = decision.equals(later.withContext(decision.context()));
            } else {
                notes.count("in another order");
                same = isOfSameRequest(decision, later);
            }
            if (!same) {
                notes.fault(Oracle.at(decision.source()) + ", client " + decision.client() + ", policy "
                        + decision.policyId() + ": was told " + decision + ", then " + committed.decision());
            }
        }
    }

    private static boolean isOfSameRequest(Decision one, Decision other) {
        return one.client().equals(other.client()) && one.requestId().equals(other.requestId());
    }

    private static boolean isOfSame(Decision one, Decision other) {
        return other.queueing() != null
                && one.queueing().queue().equals(other.queueing().queue())
                && one.client().equals(other.client())
                && one.requestId().equals(other.requestId())
                && Objects.equals(one.policyId(), other.policyId())
                && Objects.equals(one.policyVersion(), other.policyVersion())
                && one.repeated() == other.repeated();
    }

    private static void compare(Release aborted, Release committed, Request request, Breach.Notes notes) {
        String name = aborted.queue() + "#" + aborted.sequence() + ", client " + aborted.client() + ", "
                + aborted.requestId();
        if (request == null) {
            notes.fault(name + ": was released and never sent there");
        } else if (!isAsSent(aborted, request)) {
            notes.fault(name + ": was released otherwise than it was sent");
        }
        if (committed == null
                || committed.sequence() != aborted.sequence()
                || committed.releaseAtNanos() != aborted.releaseAtNanos()) {
            notes.count("releases that came again otherwise");
        }
    }

    private static boolean isAsSent(Release release, Request request) {
        return Objects.equals(release.tier(), request.tier())
                && release.cost() == request.cost()
                && release.attributes().equals(request.attributes())
                && Arrays.equals(release.payload(), request.payload());
    }

    /** What was sent to queues, by who and where. */
    private static Map<Id, Request> sent(Evidence evidence) {
        Map<Id, Request> sent = new HashMap<>();
        if (evidence.abortedReleases().isEmpty()) {
            return sent;
        }
        Map<Request.Source, Decision> queued = new HashMap<>();
        for (Entry entry : evidence.decisions()) {
            Decision decision = entry.decision();
            if (decision.queueing() != null && !decision.repeated() && !decision.endsWait()) {
                queued.put(decision.source(), decision);
            }
        }
        for (Entry entry : evidence.requests()) {
            Decision decision = queued.get(entry.place());
            Request request = decision == null ? null : evidence.request(entry).request();
            if (request != null && request.kind() == RequestKind.CONSUME) {
                sent.put(
                        new Id(
                                request.client(),
                                request.requestId(),
                                decision.queueing().queue()),
                        request);
            }
        }
        return sent;
    }

    private static Id id(Release release) {
        return new Id(release.client(), release.requestId(), release.queue());
    }
}
