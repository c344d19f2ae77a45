package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.ANSWERED_ONCE;
import static dev.weir.simulation.schedule.Violation.Promise.BY_BROKER_TIME;
import static dev.weir.simulation.schedule.Violation.Promise.ENDS_ONCE;
import static dev.weir.simulation.schedule.Violation.Promise.IN_PACE;
import static dev.weir.simulation.schedule.Violation.Promise.IN_SEQUENCE;
import static dev.weir.simulation.schedule.Violation.Promise.PAUSED;
import static dev.weir.simulation.schedule.Violation.Promise.WITHIN_SLOTS;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.OutflowPace;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.total.InFlightGrant;
import dev.weir.simulation.cluster.SimulatedCluster;
import dev.weir.simulation.cluster.SimulatedPartition;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.cluster.SimulatedTaskSlot;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.Violation;
import dev.weir.storage.QueueKeys;
import dev.weir.storage.codec.QueueMessageCodec;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * The check of queues. It follows each queued request from its admission to its end, and the releases of each queue.
 */
final class QueueCheck {

    private static final AdmissionAvro ADMISSION = new AdmissionAvro();
    private static final DecisionCodec DECISION = new DecisionCodec();
    private static final ReleaseCodec RELEASE = new ReleaseCodec();
    private static final QueueMessageCodec MESSAGE = new QueueMessageCodec();
    private static final long NANOS_PER_MS = 1_000_000;

    /**
     * The longest look-ahead, plus the differences between the clocks of leaders and the jumps of instances' clocks.
     */
    private static final long MOST_AHEAD_MS =
            SchedulePolicies.MOST_LOOK_AHEAD_MS + SchedulePlan.MOST_LEADER_AHEAD_MS + 2 * SchedulePlan.MOST_JITTER_MS;

    private record Id(String client, String requestId) {}

    /** The releases of one bucket. */
    private static final class Outflow {
        final OutflowPace pace;
        long sequence;
        long lastNanos = Long.MIN_VALUE;

        Outflow(long burst) {
            pace = new OutflowPace(1_000, burst);
        }
    }

    private final SimulatedCluster cluster;
    private final SchedulePlan plan;
    private final SchedulePolicies schedulePolicies;
    private final Map<Integer, Long> read = new HashMap<>();
    private final Map<Request.Source, Request> due = new HashMap<>();
    private final Map<Request.Source, Id> waiting = new HashMap<>();
    private final Map<Id, Integer> waitingById = new HashMap<>();
    private final Set<Request.Source> ended = new HashSet<>();
    private final Map<String, Id> attempts = new HashMap<>(); // by receipt
    private final Map<BucketId, Outflow> outflows = new HashMap<>();
    private final List<Decision> decisions = new ArrayList<>();
    private final List<Release> releases = new ArrayList<>();
    private final Set<QueuePartition> paused = new HashSet<>(); // as of the last check
    private final Map<QueuePartition, Action> commanded = new HashMap<>(); // since the last check
    private int recalls; // of the slots of totals

    QueueCheck(SimulatedCluster cluster, SchedulePlan plan, SchedulePolicies schedulePolicies) {
        this.cluster = cluster;
        this.plan = plan;
        this.schedulePolicies = schedulePolicies;
    }

    List<Decision> decisions() {
        return decisions;
    }

    List<Release> releases() {
        return releases;
    }

    /** Returns how often a partition was told to return slots of a total. */
    int recalls() {
        return recalls;
    }

    /** Returns the number of queued requests that have not ended. */
    int waiting() {
        return waitingById.values().stream().mapToInt(count -> count).sum();
    }

    /** @param committed the records that were committed since the last check */
    void check(List<Entry> committed) {
        for (int partition = 0; partition < plan.size().queuePartitions(); partition++) {
            follow(cluster.partition(SimulatedTaskSlot.TOPICS.admissions(), partition));
        }
        for (Entry entry : committed) {
            if (entry.transaction().group.equals(SimulatedTaskSlot.SHAPING)) {
                if (entry.partition().topic.equals(SimulatedTaskSlot.TOPICS.decisions())) {
                    decided(DecisionCheck.read(() -> DECISION.decode(entry.value())));
                } else if (entry.partition().topic.equals(SimulatedTaskSlot.TOPICS.releases())) {
                    released(DecisionCheck.read(() -> RELEASE.decode(entry.value())), entry.timestampMs());
                }
            }
        }
        commanded.forEach((of, action) -> {
            if (action == Action.PAUSE) {
                paused.add(of);
            } else if (action == Action.RESUME) {
                paused.remove(of);
            }
        });
        commanded.clear();
        Violation.unless(due.isEmpty(), ANSWERED_ONCE, () -> "admitted without a decision: " + due.keySet());
    }

    private void follow(SimulatedPartition partition) {
        long until = cluster.committedOffset(SimulatedTaskSlot.SHAPING, partition);
        for (long offset = read.getOrDefault(partition.number, 0L); offset < until; offset++) {
            Optional<Entry> entry = partition.at(offset).filter(Entry::isCommitted);
            entry.filter(each -> each.key() != null).ifPresent(this::admitted); // only admissions have a key
            entry.filter(each -> each.key() == null).ifPresent(each -> told(each, partition.number));
        }
        read.put(partition.number, until);
    }

    private void admitted(Entry entry) {
        Request request =
                DecisionCheck.read(() -> ADMISSION.decode(entry.value())).request();
        due.put(request.source(), request);
    }

    private void told(Entry entry, int partition) {
        QueueMessage message = DecisionCheck.read(() -> MESSAGE.decode(entry.value()));
        if (message instanceof QueueMessage.Commanded sent) {
            commanded(sent.command(), partition);
        } else if (message instanceof QueueMessage.Granted granted
                && granted.grant().inFlight().recall() != InFlightGrant.Recall.NONE) {
            recalls++;
        }
    }

    private void commanded(QueueCommand command, int partition) {
        QueuePartition of = new QueuePartition(command.target().queue(), partition);
        if (command.action() == Action.RESUME) {
            paused.remove(of); // it may have released something in the same transaction
        }
        if (command.action() == Action.RESUME || command.action() == Action.PAUSE) {
            commanded.put(of, command.action());
        }
    }

    private void decided(Decision decision) {
        decisions.add(decision);
        Request.Source source = decision.source();
        Id id = new Id(decision.client(), decision.requestId());
        Request request = due.remove(source);
        if (request == null) {
            boolean ends = decision.endsWait() && waiting.containsKey(source) && ended.add(source);
            Violation.unless(ends, decision.endsWait() ? ENDS_ONCE : ANSWERED_ONCE, () -> "decided again: " + decision);
            end(id, decision);
        } else {
            RequestKind kind = request.kind();
            boolean isEnd = kind == RequestKind.CONSUME && !decision.repeated() && decision.endsWait();
            Violation.unless(!isEnd, ENDS_ONCE, () -> "ended before it was queued: " + decision);
            if (kind == RequestKind.CONSUME && decision.outcome() == Outcome.QUEUED && !decision.repeated()) {
                waiting.put(source, id);
                waitingById.merge(id, 1, Integer::sum);
            } else if (decision.reason() == Reason.COMPLETED || decision.reason() == Reason.EXTENDED) {
                acknowledged(request, decision);
            }
        }
    }

    private void acknowledged(Request request, Decision decision) {
        Id id = attempts.get(request.acknowledgement().receipt());
        Violation.unless(
                id != null && id.client.equals(request.client()),
                WITHIN_SLOTS,
                () -> request.client() + " has no such attempt: " + decision);
        if (request.acknowledgement().result() == Acknowledgement.Result.DONE) {
            end(id, decision);
        }
    }

    private void end(Id id, Object what) {
        int left = waitingById.merge(id, -1, Integer::sum);
        Violation.unless(left >= 0, ENDS_ONCE, () -> "did not wait, or ended before: " + what);
    }

    private void released(Release release, long appendMs) {
        Violation.unless(
                release.releaseAtNanos() <= (appendMs + MOST_AHEAD_MS) * NANOS_PER_MS,
                BY_BROKER_TIME,
                () -> "written at " + appendMs + ", too far ahead: " + release);
        releases.add(release);
        BucketId of = BucketId.of(release.queue(), release.key());
        int partition = BuiltInPartitioner.partitionForKey(
                QueueKeys.record(of), plan.size().queuePartitions());
        Violation.unless(
                !paused.contains(new QueuePartition(release.queue(), partition)),
                PAUSED,
                () -> "released although paused: " + release);
        Id request = new Id(release.client(), release.requestId());
        if (release.attempt() == null) {
            end(request, release);
        } else {
            Id before = attempts.put(release.attempt().receipt(), request);
            Violation.unless(before == null, WITHIN_SLOTS, () -> "the attempt was released before: " + release);
        }
        Violation.unless(
                release.key().isEmpty() != SchedulePolicies.isKeyed(release.queue()),
                IN_SEQUENCE,
                () -> "has a wrong key: " + release);
        BucketId bucket = BucketId.of(release.queue(), release.key());
        Outflow outflow = outflows.computeIfAbsent(bucket, id -> new Outflow(SchedulePolicies.burst(id.queue())));
        boolean beginsAnew = SchedulePolicies.isKeyed(release.queue()) && release.sequence() == 1; // the key was idle
        outflow.sequence = beginsAnew ? 1 : outflow.sequence + 1;
        Violation.unless(
                release.sequence() == outflow.sequence && release.releaseAtNanos() >= outflow.lastNanos,
                IN_SEQUENCE,
                () -> "must have sequence " + outflow.sequence + ", not before " + outflow.lastNanos + ": " + release);
        outflow.lastNanos = release.releaseAtNanos();
        if (SchedulePolicies.hasRate(release.queue())) {
            checkPace(outflow, release);
        }
    }

    private void checkPace(Outflow outflow, Release release) {
        long limit = schedulePolicies.mostLimit(release.queue());
        Violation.unless(
                outflow.pace.earlyNanos(limit, release.releaseAtNanos(), release.cost()) <= 0,
                IN_PACE,
                () -> "too early: " + release);
    }
}
