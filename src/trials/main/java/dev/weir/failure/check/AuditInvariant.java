package dev.weir.failure.check;

import dev.weir.audit.AuditContext;
import dev.weir.audit.AuditScope;
import dev.weir.audit.AuditedDeadLetter;
import dev.weir.audit.MisplacedPartitions;
import dev.weir.audit.PartitionAudit;
import dev.weir.audit.PartitionRecords;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.shared.SharedQuotaAudit;
import dev.weir.failure.check.Evidence.Dead;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.requests.RequestReader;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/**
 * The invariants that the code of {@code weir audit} checks on a finished run: there is no mismatch, and nearly all of
 * the run can be judged.
 */
final class AuditInvariant {

    private final Map<Mismatch.Kind, List<Mismatch>> differences = new EnumMap<>(Mismatch.Kind.class);
    private final AuditSummary totals = new AuditSummary();
    private final Map<Integer, List<Entry>> decisions = new HashMap<>();
    private final Map<Integer, List<Entry>> releases = new HashMap<>();
    private final Map<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> deadLetters = new HashMap<>();
    private final Map<Integer, List<Entry>> requests;
    private final AuditContext context;
    private final long misplaced;

    AuditInvariant(Evidence evidence, PolicyVersionHistory rules) {
        misplaced = evidence.misplaced();
        context = new AuditContext(
                evidence.config(),
                new RequestReader(
                        new RequestCodec(), evidence.config().requests().rules()),
                new DecisionCodec(),
                new ReleaseCodec(),
                rules.changes());
        int partitions = evidence.config().topics().partitions();
        for (Entry entry : evidence.decisions().committed()) {
            add(decisions, entry.partition(), entry);
        }
        for (Entry entry : evidence.releases().committed()) {
            add(releases, evidence.taskOf(entry.release().client()), entry);
        }
        for (Dead letter : evidence.deadLetters()) {
            deadLetters
                    .computeIfAbsent(letter.source().partition(), any -> new TreeMap<>())
                    .computeIfAbsent(letter.source().offset(), any -> new ArrayList<>(1))
                    .add(new AuditedDeadLetter(
                            letter.reason(), new RecordPosition(AuditedTopic.DEAD_LETTERS, 0, 0), 0));
        }
        AuditRange all = new AuditRange(null, null, Duration.ZERO);
        SharedQuotaAudit sums = new SharedQuotaAudit(evidence.config(), context.rules(), all, totals, this::add);
        PartitionAudit.SharedState shared =
                new PartitionAudit.SharedState(new MisplacedPartitions(), sums, totals, this::add);
        requests = evidence.requestsByPartition();
        Map<Integer, AuditScope.Bounds> bounds = new HashMap<>();
        for (int partition = 0; partition < partitions; partition++) {
            List<Entry> some = requests.getOrDefault(partition, List.of());
            long end = some.isEmpty() ? 0 : some.get(some.size() - 1).offset() + 1;
            bounds.put(partition, new AuditScope.Bounds(0, 0, end, end, end));
        }
        for (int partition = 0; partition < partitions; partition++) {
            AuditScope scope = new AuditScope(
                    partition,
                    bounds,
                    evidence::taskOf,
                    new AuditScope.Retained(true, true, true, Long.MIN_VALUE),
                    true,
                    bounds.keySet(),
                    all);
            PartitionRecords records = new PartitionRecords(
                    requests(partition),
                    records(decisions.getOrDefault(partition, List.of())),
                    records(releases.getOrDefault(partition, List.of())),
                    this::requests,
                    deadLetters);
            new PartitionAudit(context, scope, records, shared).run();
        }
        sums.verify();
    }

    private static void add(Map<Integer, List<Entry>> entries, int partition, Entry entry) {
        entries.computeIfAbsent(partition, any -> new ArrayList<>()).add(entry);
    }

    private void add(Mismatch difference) {
        differences.computeIfAbsent(difference.kind(), any -> new ArrayList<>()).add(difference);
    }

    private Iterator<ConsumerRecord<byte[], byte[]>> requests(int partition) {
        return records(requests.getOrDefault(partition, List.of()));
    }

    private static Iterator<ConsumerRecord<byte[], byte[]>> records(List<Entry> entries) {
        return entries.stream()
                .map(entry -> new ConsumerRecord<>(
                        "",
                        entry.partition(),
                        entry.offset(),
                        entry.timestampMs(),
                        TimestampType.LOG_APPEND_TIME,
                        0,
                        0,
                        entry.key(),
                        entry.value(),
                        new RecordHeaders(),
                        Optional.empty()))
                .iterator();
    }

    /**
     * Checks that each record of the requests topic has one committed decision or one dead letter, and that there are
     * no others.
     *
     * @param overtaken the faults in the order of the decisions
     */
    Breach decidedOnce(List<String> overtaken) {
        Breach.Notes notes = new Breach.Notes("1 decided-once", "requests", "misplaced", "decisions", "dead letters");
        notes.count("requests", totals.requests());
        notes.count("misplaced", misplaced);
        notes.count("decisions", totals.decisions());
        notes.count("dead letters", totals.deadLetters());
        note(
                notes,
                Mismatch.Kind.UNDECIDED,
                Mismatch.Kind.SECOND,
                Mismatch.Kind.NO_REQUEST,
                Mismatch.Kind.DEAD_LETTER,
                Mismatch.Kind.UNREADABLE);
        overtaken.forEach(notes::fault);
        return notes.done();
    }

    /**
     * Checks that the committed decisions equal those that the same code computes from the requests, in every field.
     */
    Breach asRecomputed(long versions) {
        Breach.Notes notes = new Breach.Notes(
                "2 as-recomputed", "equal decisions", "sent to a queue", "policy versions", "in unknown order");
        notes.count("equal decisions", totals.equal());
        notes.count("sent to a queue", totals.sentToQueue());
        notes.count("policy versions", versions);
        note(notes, Mismatch.Kind.DIFFERS, Mismatch.Kind.ABOVE_SHARED_LIMIT);
        Map<UnverifiedReason, Long> unjudged = new EnumMap<>(UnverifiedReason.class);
        unjudged.putAll(totals.unverified());
        Long inUnknownOrder =
                unjudged.remove(UnverifiedReason.ORDER_UNKNOWN); // a decision of a queue that was very late
        notes.count("in unknown order", inUnknownOrder == null ? 0 : inUnknownOrder);
        unjudged.forEach((why, count) -> notes.fault(count + " not judged: " + why.text()));
        double share = VerifiableShare.of(totals.requests(), totals.unverified());
        if (share < VerifiableShare.LEAST) {
            notes.fault("only " + share + " of the requests can be judged: " + totals.unverified());
        }
        return notes.done();
    }

    /** Returns the requests that left a queue twice, or without having waited there. */
    List<Mismatch> endedOtherwise() {
        return differences.getOrDefault(Mismatch.Kind.WRONG_QUEUE_EXITS, List.of());
    }

    private void note(Breach.Notes notes, Mismatch.Kind... kinds) {
        for (Mismatch.Kind kind : kinds) {
            differences
                    .getOrDefault(kind, List.of())
                    .forEach(difference -> notes.fault(
                            difference.request() == null
                                    ? difference.toString()
                                    : Oracle.at(difference.request()) + ": " + difference));
        }
    }
}
