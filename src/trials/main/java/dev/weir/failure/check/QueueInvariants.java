package dev.weir.failure.check;

import dev.weir.audit.finding.Mismatch;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.testing.QueueAudit;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The invariants of requests that were sent to queues. Repeats are not checked, because they only receive
 * the first decision again.
 */
final class QueueInvariants {

    /** The name of the invariant of slots and attempts. */
    static final String SLOTS = "12 queues-within-slots";

    /** The largest difference between the queue times of two partitions: one that is further ahead is set back. */
    private static final long QUEUE_TIMES_DIFFER_MS = 1_000;

    private static final Set<Reason> OF_ATTEMPTS = EnumSet.of(
            Reason.COMPLETED,
            Reason.EXTENDED,
            Reason.STALE_ATTEMPT,
            Reason.ATTEMPTS_EXHAUSTED,
            Reason.FAILED,
            Reason.IN_FLIGHT);

    private final PolicyVersionHistory rules;
    private final List<Request> requests = new ArrayList<>();
    private final List<Decision> decisions = new ArrayList<>();
    private final List<Release> releases;
    private final QueueAudit audit;
    private long queued;

    QueueInvariants(Evidence evidence, DecisionsByRequest answers, PolicyVersionHistory rules) {
        this.rules = rules;
        releases = evidence.releases().committed().stream().map(Entry::release).toList();
        List<Entry> ofQueues = new ArrayList<>();
        for (Entry entry : evidence.requests()) {
            List<Entry> reported = answers.to(entry.place());
            List<Entry> ends = answers.endsOf(entry.place());
            boolean sent =
                    !ends.isEmpty() || reported.stream().map(Entry::decision).anyMatch(QueueInvariants::wasSent);
            Request request = sent ? evidence.request(entry).request() : null;
            if (request != null) {
                requests.add(request);
                queued += request.kind() == RequestKind.CONSUME
                                && reported.stream().anyMatch(QueueInvariants::isQueued)
                        ? 1
                        : 0;
                ofQueues.addAll(reported);
                ofQueues.addAll(ends);
            }
        }
        ofQueues.sort(Comparator.comparingInt(Entry::partition).thenComparingLong(Entry::offset));
        ofQueues.forEach(entry -> decisions.add(entry.decision()));
        audit = new QueueAudit(requests, decisions, releases);
    }

    private static boolean wasSent(Decision decision) {
        return decision.queueing() != null && !decision.repeated();
    }

    private static boolean isQueued(Entry answer) {
        return answer.decision().outcome() == Outcome.QUEUED;
    }

    /**
     * Checks that each queued request is released, expires, is evicted, cancelled, purged or given up, exactly once, that
     * a release has the content of its request, and that the audit finds nothing else.
     */
    Breach endedOnce(List<Mismatch> otherwise) {
        Breach.Notes notes = new Breach.Notes("4 queued-ended-once", "queued", "released", "expired");
        for (Decision decision : decisions) {
            if (decision.outcome() == Outcome.EXPIRED) {
                notes.count("expired");
            } else if (decision.reason() == Reason.EVICTED) {
                notes.count("evicted");
            } else if (decision.reason() == Reason.PURGED) {
                notes.count("purged");
            } else if (decision.reason() == Reason.CANCELLED && decision.outcome() == Outcome.DENIED) {
                notes.count("cancelled");
            }
        }
        notes.count("queued", queued);
        notes.count(
                "released",
                releases.stream().filter(release -> !release.isRetry()).count());
        otherwise.forEach(difference -> notes.fault(difference.toString()));
        List.of(audit.answers(), audit.withdrawals(), audit.contents()).forEach(faults -> faults.forEach(notes::fault));
        rules.queues().values().stream()
                .filter(versions -> versions.size() == 1)
                .forEach(versions -> audit.expiries(versions.get(0)).forEach(notes::fault));
        return notes.done();
    }

    /**
     * Checks the attempts: no bucket has more in flight than it, its tiers and clients have slots, nor a queue than its
     * total; those of each request are released once each, one after the other and no more than permitted; and only their
     * clients end them.
     */
    Breach withinSlots() {
        Breach.Notes notes = new Breach.Notes(SLOTS, "attempts", "retries");
        for (Release release : releases) {
            if (release.attempt() != null) {
                notes.count("attempts");
                notes.count("retries", release.isRetry() ? 1 : 0);
            }
        }
        for (Decision decision : decisions) {
            if (OF_ATTEMPTS.contains(decision.reason())) {
                notes.count(decision.reason().name().toLowerCase(Locale.ROOT).replace('_', ' '));
            }
        }
        audit.acknowledgements().forEach(notes::fault);
        rules.queues().values().stream()
                .filter(versions -> versions.size() == 1)
                .forEach(versions ->
                        audit.attempts(versions.get(0), QUEUE_TIMES_DIFFER_MS).forEach(notes::fault));
        return notes.done();
    }

    /** Checks that sequences have no gaps, and that each client's requests leave in order, higher priorities first. */
    Breach gapFree() {
        Breach.Notes notes = new Breach.Notes("5 sequences-gap-free", "releases", "queues");
        notes.count("releases", releases.size());
        notes.count("queues", rules.queues().size());
        List.of(audit.sequences(), audit.order()).forEach(faults -> faults.forEach(notes::fault));
        rules.queues().values().stream()
                .filter(versions -> versions.size() == 1)
                .forEach(versions -> audit.priorities(versions.get(0)).forEach(notes::fault));
        return notes.done();
    }

    /**
     * Checks that over every interval, the releases of a queue cost at most the burst plus the refill. If the rules of
     * a queue or its total have changed, their highest rate and burst count, because releases do not show when stricter
     * ones were in force.
     */
    Breach atItsPace() {
        Breach.Notes notes = new Breach.Notes("6 outflow-at-its-pace", "releases", "tokens");
        notes.count("releases", releases.size());
        notes.count("tokens", releases.stream().mapToLong(Release::cost).sum());
        rules.queues().values().forEach(versions -> {
            audit.pace(loosest(versions)).forEach(notes::fault);
            versions.stream()
                    .filter(QueueInvariants::hasTotalRate)
                    .reduce((one, other) -> isFaster(one.total(), other.total()) ? one : other)
                    .filter(each -> versions.stream().allMatch(QueueInvariants::hasTotalRate))
                    .ifPresent(each -> audit.total(each).forEach(notes::fault));
        });
        return notes.done();
    }

    private static QueueRules loosest(List<QueueRules> versions) {
        QueueRules fastest = versions.stream()
                .reduce((one, other) -> isFaster(one, other) ? one : other)
                .orElseThrow();
        long burst = versions.stream().mapToLong(QueueRules::burst).max().orElseThrow();
        return fastest.toBuilder().burst(burst).build();
    }

    private static boolean isFaster(QueueRules one, QueueRules other) {
        return product(one.limit(), other.perMs()).compareTo(product(other.limit(), one.perMs())) > 0;
    }

    private static boolean hasTotalRate(QueueRules rules) {
        return rules.total() != null && rules.total().rate().isPresent();
    }

    private static boolean isFaster(QueueTotal one, QueueTotal other) {
        return one.rate().orElseThrow().isFasterThan(other.rate().orElseThrow());
    }

    private static BigInteger product(long a, long b) {
        return BigInteger.valueOf(a).multiply(BigInteger.valueOf(b));
    }
}
