package dev.weir.failure.check;

import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.Evidence.Entry;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The invariant that decisions and releases of aborted transactions, which a {@code read_uncommitted} reader sees,
 * agree with the committed ones.
 *
 * <p>A decision by limits is a function of the requests and of the order in which the requests of the client were
 * decided. Both are recorded ({@link RecordedOrder}). If the order was the same, all fields must be equal except
 * {@link Decision#context}: the instance that repeats the decision may have applied further policies, which were not in
 * force at the time of the request. If routed requests were decided at other positions, the two decisions only have to
 * be on the same request. Decisions by shared limits are not checked, because they depend on the time of the decision
 * and on the leases at that time.
 *
 * <p>A decision by a queue depends on the clock. After an abort, the queue may report another position or wait, or
 * reject a request that it had admitted. It may release requests in another order (the tags of fair queueing are not
 * stored) or at another time, and give a sequence number to another request. The request, its queue and its policy must
 * be the same, and a release must have the content of the request.
 */
final class AbortedOutputInvariant {

    private record Id(String client, String requestId, String queue) {}

    private AbortedOutputInvariant() {}

    static Breach check(
            Evidence evidence, DecisionsByRequest answers, Set<Request.Source> shared, RecordedOrder order) {
        Breach.Notes notes = new Breach.Notes(
                "7 seen-twice-alike",
                "decisions",
                "decisions in another order",
                "queue decisions",
                "releases",
                "changed releases");
        for (Entry entry : evidence.decisions().aborted()) {
            if (!shared.contains(entry.decision().source())) {
                compare(entry, answers, order, notes);
            }
        }
        Map<Id, Release> released = new HashMap<>();
        for (Entry entry : evidence.releases().committed()) {
            Release release = entry.release();
            released.put(id(release), release);
        }
        Map<Id, Request> sent = sent(evidence);
        for (Entry entry : evidence.releases().aborted()) {
            Release release = entry.release();
            notes.count("releases");
            compare(release, released.get(id(release)), sent.get(id(release)), notes);
        }
        return notes.done();
    }

    private static void compare(Entry aborted, DecisionsByRequest answers, RecordedOrder order, Breach.Notes notes) {
        Decision decision = aborted.decision();
        List<Entry> reported = answers.to(decision.source());
        if (reported.isEmpty()) {
            notes.fault(Oracle.at(decision.source()) + ": the aborted decision " + decision + " has no committed one");
        }
        for (Entry committed : reported) {
            Decision later = committed.decision();
            boolean same;
            if (decision.queueing() != null) {
                notes.count("queue decisions");
                same = isOfSame(decision, later);
            } else if (order.isSame(aborted, later)) {
                notes.count("decisions");
                same = decision.equals(later.withContext(decision.context()));
            } else {
                notes.count("decisions in another order");
                same = isOfSameRequest(decision, later);
            }
            if (!same) {
                notes.fault(Oracle.at(decision.source()) + ", client " + decision.client() + ", policy "
                        + decision.policyId() + ": the aborted decision is " + decision + ", the committed one "
                        + committed.decision());
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
            notes.fault(name + ": was released, but not sent to this queue");
        } else if (!isAsSent(aborted, request)) {
            notes.fault(name + ": the release differs from the request");
        }
        if (committed == null
                || committed.sequence() != aborted.sequence()
                || committed.releaseAtNanos() != aborted.releaseAtNanos()) {
            notes.count("changed releases");
        }
    }

    private static boolean isAsSent(Release release, Request request) {
        return Objects.equals(release.tier(), request.tier())
                && release.cost() == request.cost()
                && release.attributes().equals(request.attributes())
                && Arrays.equals(release.payload(), request.payload());
    }

    /** Returns the requests that were sent to queues. */
    private static Map<Id, Request> sent(Evidence evidence) {
        Map<Id, Request> sent = new HashMap<>();
        if (evidence.releases().aborted().isEmpty()) {
            return sent;
        }
        Map<Request.Source, Decision> queued = new HashMap<>();
        for (Entry entry : evidence.decisions().committed()) {
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
