package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.ANSWERED_ONCE;
import static dev.weir.simulation.schedule.Violation.Promise.DECIDED_ALIKE;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.MapStates;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.policy.PolicyTable;
import dev.weir.requests.RecordOrigin;
import dev.weir.requests.ReservationCancellation;
import dev.weir.simulation.cluster.SimulatedCluster;
import dev.weir.simulation.cluster.SimulatedPartition;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.cluster.SimulatedTask;
import dev.weir.simulation.cluster.SimulatedTaskSlot;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.Violation;
import dev.weir.topology.Stores;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * The check of decisions. It recomputes each one by the pure core, in the order in which the task of the partition
 * decides, and compares it with the committed one, byte for byte. A request must be decided in the transaction that
 * commits its offset, unless it waits for shared quota.
 */
final class DecisionCheck {

    private static final RequestCodec REQUEST = new RequestCodec();
    private static final DecisionCodec DECISION = new DecisionCodec();
    private static final AdmissionAvro ADMISSION = new AdmissionAvro();
    private static final String DEAD = "a dead letter";

    private final SimulatedCluster cluster;
    private final SchedulePlan plan;
    private final SchedulePolicies schedulePolicies;
    private final LimitCheck limits;
    private final ReservationCheck reservations;
    private final LeaseCheck leases;
    private final InjectedFlaw flaw;
    private final Map<Integer, MapStates> states = new HashMap<>();
    private final Map<Integer, DecisionOrder> positions = new HashMap<>();
    private final Map<SimulatedPartition, Long> read = new HashMap<>();
    private final Map<Request.Source, Object> due = new HashMap<>();
    private final Map<Request.Source, Object> underWay = new HashMap<>();
    private final Set<Request.Source> waited = new HashSet<>();
    private final List<Request> requests = new ArrayList<>();
    private final List<Decision> decisions = new ArrayList<>();
    private int misplaced;

    DecisionCheck(
            SimulatedCluster cluster,
            SchedulePlan plan,
            SchedulePolicies schedulePolicies,
            LimitCheck limits,
            LeaseCheck leases,
            InjectedFlaw flaw) {
        this.cluster = cluster;
        this.plan = plan;
        this.schedulePolicies = schedulePolicies;
        this.limits = limits;
        this.reservations = new ReservationCheck(schedulePolicies);
        this.leases = leases;
        this.flaw = flaw;
    }

    /** A request whose offset is committed. */
    private record Requested(Request request, List<Admission.Header> headers) {}

    /** Returns the requests whose offsets are committed, each partition in order. */
    List<Request> requests() {
        return requests;
    }

    /** Returns the decisions on these requests, except those by queues. */
    List<Decision> decisions() {
        return decisions;
    }

    /** @param committed the records that were committed since the last check */
    void check(List<Entry> committed) {
        for (int partition = 0; partition < plan.size().partitions(); partition++) {
            read(cluster.partition(SimulatedTaskSlot.TOPICS.requests(), partition), this::received);
        }
        for (int partition = 0; partition < plan.size().partitions(); partition++) {
            read(cluster.partition(SimulatedTaskSlot.TOPICS.routedRequests(), partition), this::routed);
        }
        for (Entry entry : committed) {
            if (entry.transaction().group.equals(SimulatedTaskSlot.DECIDING)) {
                answer(entry);
            }
        }
        due.forEach((source, requested) -> {
            Violation.unless(
                    mayWait(requested), ANSWERED_ONCE, () -> source + " is committed without a decision: " + requested);
            waited.add(source);
        });
    }

    private boolean mayWait(Object requested) {
        boolean waits = requested instanceof Requested of
                && (of.request.kind() == RequestKind.CONSUME || of.request.kind() == RequestKind.PEEK);
        return waits && schedulePolicies.isShared(((Requested) requested).request);
    }

    /** Returns the number of requests that were not decided when their offset was committed. */
    int waited() {
        return waited.size();
    }

    /** Returns the number of requests without a decision. */
    int waiting() {
        return due.size() + underWay.size();
    }

    /** Returns the number of misplaced requests. */
    int misplaced() {
        return misplaced;
    }

    /** Checks that exactly the requests without a decision wait in a task. */
    void checkWaiting(SimulatedTask task) {
        if (task.slot.role() == SimulatedTaskSlot.Role.DECIDE) {
            long without = due.values().stream()
                    .filter(requested ->
                            requested instanceof Requested of && partition(of.request) == task.slot.partition())
                    .count();
            int waiting = task.state().store(Stores.WAITING_REQUESTS).size();
            Violation.unless(
                    without == waiting,
                    ANSWERED_ONCE,
                    () -> task + " has " + waiting + " waiting requests, without a decision are " + due.keySet());
        }
    }

    private void read(SimulatedPartition partition, Consumer<Entry> each) {
        long until = cluster.committedOffset(SimulatedTaskSlot.DECIDING, partition);
        for (long offset = read.getOrDefault(partition, 0L); offset < until; offset++) {
            partition.at(offset).filter(Entry::isCommitted).ifPresent(each);
        }
        read.put(partition, until);
    }

    private void received(Entry entry) {
        Request.Source source = new Request.Source(entry.partition().number, entry.offset());
        Object requested = requested(entry, source);
        if (requested instanceof Requested of && partition(of.request) != source.partition()) {
            misplaced++;
            underWay.put(source, requested);
        } else {
            due.put(source, requested);
        }
    }

    /** Handles a routed record. The misplaced request must be decided when the offset of this record is committed. */
    private void routed(Entry entry) {
        if (ReservationCancellation.isMarked(entry.headers())) {
            return; // the message of a queue is no request
        }
        Request.Source source = RecordOrigin.read(entry.headers()).orElseThrow().source();
        Object requested = underWay.remove(source);
        Violation.unless(
                requested != null, ANSWERED_ONCE, () -> source + " is routed, but not committed, or routed before");
        due.put(source, requested);
    }

    /** Returns the partition that decides a request. */
    private int partition(Request request) {
        return BuiltInPartitioner.partitionForKey(
                request.client().getBytes(StandardCharsets.UTF_8), plan.size().partitions());
    }

    private Object requested(Entry entry, Request.Source source) {
        Request request;
        try {
            request = REQUEST.decode(entry.value(), entry.timestampMs(), source);
        } catch (UnreadableException e) {
            return DEAD;
        }
        requests.add(request);
        if (request.kind() == RequestKind.CONSUME) {
            limits.requested(request);
        }
        return new Requested(request, headers(entry.headers()));
    }

    /**
     * Recomputes a decision. The available shared quota is that which the recorded decision shows. Changes that take
     * effect later are known before they are read, and affect only when a denied request can be repeated.
     */
    private DecisionResult decide(Requested requested, DecisionResult answer, SimulatedTask.Used used) {
        Request request = flaw.seen(requested.request);
        PolicyTable table = plan.changesFromATime() ? schedulePolicies.table() : used.policies();
        MapStates own = states.computeIfAbsent(partition(request), p -> neverExpiring());
        DecisionResult result = new Decider(own, AvailableQuota.context(request, answer)).decide(request, table);
        leases.answered(requested.request, result, table, used.nowMs(), plan.skewMs() == 0);
        DecisionContext context = context(answer);
        checkContext(requested.request, context, used);
        boolean foresawLess = used.policies().checksum() != table.checksum();
        if (foresawLess && result instanceof Decision ours && answer instanceof Decision theirs && isDenied(ours)) {
            return ours.withRetryAfterMs(theirs.retryAfterMs()).withContext(context);
        }
        return result instanceof Admission admission
                ? admission.withHeadersAndContext(requested.headers, context)
                : result instanceof Decision decision ? decision.withContext(context) : result;
    }

    private static boolean isDenied(Decision decision) {
        return decision.outcome() == Outcome.DENIED;
    }

    private static DecisionContext context(DecisionResult answer) {
        return answer instanceof Decision decision ? decision.context() : ((Admission) answer).context();
    }

    /** Checks that the recorded positions of the decisions of a task increase, also across restarts. */
    private void checkContext(Request request, DecisionContext context, SimulatedTask.Used used) {
        Request.Source source = request.source();
        int partition = partition(request);
        Violation.unless(
                context.order() != null || source.partition() == partition,
                DECIDED_ALIKE,
                () -> source + " was routed, but its position is not recorded");
        DecisionOrder order = context.order() == null ? new DecisionOrder(source.offset(), 0) : context.order();
        DecisionOrder last = positions.put(partition, order);
        Violation.unless(
                last == null || last.compareTo(order) < 0,
                DECIDED_ALIKE,
                () -> source + " is recorded at " + order + ", but was decided after " + last);
        Violation.unless(
                context.policiesChecksum() == used.policies().checksum(),
                DECIDED_ALIKE,
                () -> source + " records other policies than those that decided it");
    }

    private MapStates neverExpiring() {
        WeirConfig.State config = plan.config().state();
        long retentionMs = config.retention().toMillis();
        return new MapStates(
                IdempotencyCache.inMemory(config.most().idempotencyKeys(), retentionMs),
                BoundedReservations.inMemory(config.most().reservations(), retentionMs));
    }

    private static List<Admission.Header> headers(Headers headers) {
        List<Admission.Header> list = new ArrayList<>();
        for (Header header : headers) {
            list.add(new Admission.Header(header.key(), header.value()));
        }
        return list;
    }

    private static Admission keyed(Admission admission) {
        return SchedulePolicies.isKeyed(admission.queue())
                        && !admission.request().kind().isAcknowledgement()
                ? admission.withKey(Map.of("client", admission.request().client()))
                : admission;
    }

    private void answer(Entry entry) {
        String topic = entry.partition().topic;
        if (topic.equals(SimulatedTaskSlot.TOPICS.deadLetters())) {
            Request.Source source = deadSource(entry);
            compare(source, DEAD, take(source));
        } else if (topic.equals(SimulatedTaskSlot.TOPICS.decisions())) {
            Decision decision = read(() -> DECISION.decode(entry.value()));
            Object requested = take(decision.source());
            SimulatedTask.Used used = cluster.takeUsed(decision.source());
            if (requested instanceof Requested of && isCancelledWait(of.request, decision)) {
                checkContext(of.request, decision.context(), used);
            } else {
                compare(
                        decision.source(),
                        decision,
                        requested instanceof Requested of ? decide(of, decision, used) : requested);
            }
            decisions.add(decision);
            Request request = ((Requested) requested).request;
            limits.decided(decision, schedulePolicies.isShared(request));
            reservations.decided(request, decision);
        } else if (topic.equals(SimulatedTaskSlot.TOPICS.admissions())) {
            Admission admission = read(() -> ADMISSION.decode(entry.value()));
            Object requested = take(admission.request().source());
            SimulatedTask.Used used = cluster.takeUsed(admission.request().source());
            Object expected = requested instanceof Requested of ? decide(of, admission, used) : requested;
            byte[] bytes = expected instanceof Admission other ? ADMISSION.encode(keyed(other)) : new byte[0];
            if (!Arrays.equals(bytes, entry.value())) {
                throw new Violation(DECIDED_ALIKE, admission + " should be " + expected);
            }
        }
    }

    /**
     * Returns whether a request was cancelled while it waited for a lease: nothing is charged. That depends on when the
     * lease arrived, so it is not recomputed; but a request must have ended the wait.
     */
    private boolean isCancelledWait(Request request, Decision decision) {
        boolean isCancelled = request.kind() == RequestKind.CONSUME
                && decision.outcome() == Outcome.DENIED
                && decision.reason() == Reason.CANCELLED;
        if (isCancelled) {
            Violation.unless(
                    schedulePolicies.isShared(request)
                            && requests.stream()
                                    .anyMatch(ending -> ending.isForReservation()
                                            && ending.client().equals(request.client())
                                            && ending.reservationId().equals(request.requestId())),
                    DECIDED_ALIKE,
                    () -> request + " is cancelled, but it did not wait, or nobody has ended it");
        }
        return isCancelled;
    }

    private Object take(Request.Source source) {
        Object expected = due.remove(source);
        Violation.unless(
                expected != null,
                ANSWERED_ONCE,
                () -> source + " is decided, but was not committed, or was decided before");
        return expected;
    }

    private static void compare(Request.Source source, Object is, Object expected) {
        if (!is.equals(expected)) {
            throw new Violation(DECIDED_ALIKE, source + " has the decision\n  " + is + ", should have\n  " + expected);
        }
    }

    private static Request.Source deadSource(Entry entry) {
        return new Request.Source(
                Integer.parseInt(header(entry, DeadLetterHeaders.PARTITION)),
                Long.parseLong(header(entry, DeadLetterHeaders.OFFSET)));
    }

    private static String header(Entry entry, String name) {
        return new String(entry.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    /** Decodes a record. */
    interface Reading<T> {
        T read() throws UnreadableException;
    }

    static <T> T read(Reading<T> reading) {
        try {
            return reading.read();
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }
}
