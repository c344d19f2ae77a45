package dev.weir.query;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.decision.usage.OpenReservation;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.decision.usage.UsageReport;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.processor.policy.RulesInForce;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.QueueView;
import dev.weir.storage.HolderNames;
import dev.weir.storage.QueueKeys;
import dev.weir.storage.snapshot.LedgerSnapshots;
import dev.weir.storage.snapshot.SnapshotLeases;
import dev.weir.storage.snapshot.SnapshotStates;
import dev.weir.topology.Stores;
import dev.weir.wire.KeyCodec;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Implements queries on the stores and queues of the running tasks. Results from stores are as of the last write, which
 * is the last commit or later; results from queues are current. Nothing is written.
 */
public final class QueryService implements InstanceQueries {

    /** The maximum number of states of a client that are reported in addition to those of the policies that apply. */
    private static final int MAX_STATES = 1_000;

    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final PartitionOwners clients;
    private final PartitionOwners queueOwners;
    private final PolicyRegistry policies;
    private final QueueRegistry queues;
    private final LeaseTerms terms;
    private final HolderNames holders;
    private final int maxReservations;
    private final Clock clock;

    /**
     * @param policies the policies and queues in force
     * @param clients the partitions of the deciding application
     * @param queueOwners the partitions of the shaping application
     * @param queues the queues of this instance
     * @param config the terms of leases, the application id in the names of holders, and the most reservations
     */
    public QueryService(
            PolicyRegistry policies,
            PartitionOwners clients,
            PartitionOwners queueOwners,
            QueueRegistry queues,
            WeirConfig config,
            Clock clock) {
        this.terms = config.leases().terms();
        this.holders = new HolderNames(config.applicationId());
        this.maxReservations = config.state().most().reservations();
        this.policies = policies;
        this.clients = clients;
        this.queueOwners = queueOwners;
        this.queues = queues;
        this.clock = clock;
    }

    @Override
    public Result<List<PolicyUsage>> usage(Request request, Supplier<List<Request>> others) {
        return clients.answer(Stores.POLICY_STATES, request.client(), partition -> {
            SnapshotStates trials = snapshots(partition);
            PolicyTable table = policies.table();
            List<StateKey> stored = trials.keys(request.client(), MAX_STATES);
            List<Request> requests = new ArrayList<>(others.get());
            requests.add(request);
            Optional<Map<StateKey, Long>> reserved = reserved(trials, request, table);
            List<PolicyUsage> usages = new ArrayList<>();
            for (UsageReport.Subject subject : UsageReport.subjects(requests, table, stored)) {
                Long tokens =
                        reserved.map(all -> all.getOrDefault(subject.key(), 0L)).orElse(null);
                if (subject.policy().isShared()) {
                    usages.add(leasedUsage(subject, partition).withReserved(tokens));
                    continue;
                }
                Optional<PolicyUsage> usage =
                        trials.attempt(states -> UsageReport.of(subject, request.timestampMs(), states));
                if (usage.isEmpty()) {
                    return changesTooFast();
                }
                usages.add(usage.get().withReserved(tokens));
            }
            return new Result.Local<>(usages);
        });
    }

    /** Returns the tokens of a client's open reservations by key; empty if there are too many reservations to read. */
    private static Optional<Map<StateKey, Long>> reserved(SnapshotStates trials, Request request, PolicyTable table) {
        Map<StateKey, Long> tokens = new HashMap<>();
        Optional<String> more =
                trials.visitReservations(request.client(), "", MAX_RESERVATIONS_READ, (requestId, reservation) -> {
                    OpenReservation.of(requestId, reservation, table, request.timestampMs())
                            .ifPresent(open -> reservation
                                    .held()
                                    .forEach(held -> tokens.merge(
                                            held.key(),
                                            open.cost(),
                                            (one, other) ->
                                                    one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other)));
                    return true;
                });
        return more.isPresent() ? Optional.empty() : Optional.of(tokens);
    }

    @Override
    public Result<ReservationPage> reservations(String client, String after, int most) {
        return clients.answer(Stores.RESERVATIONS, client, partition -> {
            PolicyTable table = policies.table();
            long nowMs = clock.millis();
            List<OpenReservation> open = new ArrayList<>();
            Optional<String> last = snapshots(partition)
                    .visitReservations(client, after, MAX_RESERVATIONS_READ, (requestId, reservation) -> {
                        OpenReservation.of(requestId, reservation, table, nowMs).ifPresent(open::add);
                        return open.size() < most;
                    });
            return new Result.Local<>(new ReservationPage(open, last));
        });
    }

    @Override
    public Result<Decision> check(Request request, Map<LedgerQuestion, LeaseResponse.Checked> ledgers) {
        if (request.kind() == RequestKind.CANCEL && !request.isForReservation()) {
            Admission cancel = keyed(cancel(request), policies.inForce());
            return query(BucketId.of(cancel), (open, nowNanos) -> open.check(cancel, nowNanos));
        }
        return clients.answer(Stores.POLICY_STATES, request.client(), partition -> {
            RulesInForce rules = policies.inForce();
            AnsweredLeases leases = new AnsweredLeases(
                    leases(partition), holders.name(partition), request.cost(), ledgers, clock.millis());
            Optional<DecisionResult> result = snapshots(partition)
                    .attempt(
                            states -> Decider.readOnly(states, leases.context()).decide(request, rules.policies()));
            if (result.isEmpty()) {
                return changesTooFast();
            }
            if (!leases.unanswered().isEmpty()) {
                return new Result.Dependent<>(leases.unanswered());
            }
            return result.get() instanceof Admission admission
                    ? place(admission, rules)
                    : new Result.Local<>((Decision) result.get());
        });
    }

    private PolicyUsage leasedUsage(UsageReport.Subject subject, int partition) {
        LeaseBook book = leases(partition).book(subject.key());
        long nowMs = clock.millis();
        long available = book.available(nowMs, book.decisionTimeMs(nowMs));
        return new PolicyUsage(subject.policy(), subject.key().namesAndValues(), null, List.of(), null, available);
    }

    private SnapshotLeases leases(int partition) {
        return new SnapshotLeases(store(clients, Stores.LEASE_BOOKS, partition), policies.table(), terms);
    }

    @Override
    public Result<SharedPolicyUsage> shared(LedgerQuestion question) {
        Policy policy = policies.table().inForce(question.policyId(), clock.millis());
        if (policy == null || !policy.isShared()) {
            return new Result.Local<>(null);
        }
        StateKey of = policy.sharedKey(question.key());
        byte[] bytes = KeyCodec.encode(of);
        return queueOwners.answer(Stores.LEDGERS, bytes, partition -> new LedgerSnapshots(
                        store(queueOwners, Stores.LEDGERS, partition),
                        store(queueOwners, Stores.LEDGER_SEGMENTS, partition))
                .attempt(
                        policy,
                        bytes,
                        clock.millis(),
                        ledger -> UsageReport.of(
                                new UsageReport.Subject(policy, of),
                                ledger,
                                LeaseRequest.check(question.holder(), question.cost()),
                                policy.leaseTerms(terms)))
                .<Result<SharedPolicyUsage>>map(Result.Local::new)
                .orElseGet(QueryService::changesTooFast));
    }

    @Override
    public Result<QueueView> queue(String id) {
        QueueRules rules = policies.queue(id);
        if (rules != null && !rules.isKeyed()) {
            return key(id, Map.of());
        }
        return queueOwners.part(Stores.QUEUE_STATES, others -> queues.parts(id, PATIENCE)
                .<Result<QueueView>>map(parts -> new Result.Partial<>(merged(parts, rules), others))
                .orElseGet(() -> new Result.NotReady<>("a partition of the queue is moving or too busy")));
    }

    @Override
    public Result<SortedMap<String, QueueView>> unusualQueues() {
        return queueOwners.part(Stores.QUEUE_STATES, others -> queues.unusual(MAX_UNUSUAL, PATIENCE)
                .<Result<SortedMap<String, QueueView>>>map(views -> new Result.Partial<>(views, others))
                .orElseGet(() -> new Result.NotReady<>("a partition of the queues is moving or too busy")));
    }

    private static QueueView merged(List<QueueView> parts, QueueRules rules) {
        return parts.stream()
                .reduce(QueueView::mergedWith)
                .orElseGet(() -> rules == null ? null : QueueView.ofNoBuckets(rules));
    }

    @Override
    public Result<QueueView> key(String id, Map<String, String> key) {
        BucketId bucket = BucketId.of(id, key);
        return query(bucket, (open, nowNanos) -> open.view(bucket, nowNanos));
    }

    /** Returns the decision of the queue. If the queue is on another instance, returns a provisional decision. */
    private Result<Decision> place(Admission admission, RulesInForce rules) {
        Admission keyed = keyed(admission, rules);
        Result<Decision> answer = query(BucketId.of(keyed), (open, nowNanos) -> open.check(keyed, nowNanos));
        return answer instanceof Result.Remote
                ? new Result.Local<>(QueueDecisions.provisional(keyed, rules.queue(keyed.queue()), clock.millis()))
                : answer;
    }

    private static Admission keyed(Admission admission, RulesInForce rules) {
        return QueueRules.withKey(admission, rules.queue(admission.queue()));
    }

    private <T> Result<T> query(BucketId bucket, QueueRegistry.QueueQuery<T> query) {
        return queueOwners.answer(Stores.QUEUE_STATES, QueueKeys.record(bucket), partition -> queues.<Result<T>>query(
                        partition, PATIENCE, (shaper, nowNanos) -> new Result.Local<>(query.run(shaper, nowNanos)))
                .orElseGet(() -> new Result.NotReady<>("the partition of the queue is moving or too busy")));
    }

    private static Admission cancel(Request request) {
        return (Admission)
                Decider.readOnly(PolicyStates.NONE, QuotaSource.local()).decide(request, PolicyTable.EMPTY);
    }

    private SnapshotStates snapshots(int partition) {
        return new SnapshotStates(
                store(clients, Stores.POLICY_STATES, partition),
                store(clients, Stores.LOG_SEGMENTS, partition),
                store(clients, Stores.IDEMPOTENCY, partition),
                store(clients, Stores.RESERVATIONS, partition),
                maxReservations);
    }

    private static ReadOnlyKeyValueStore<Bytes, byte[]> store(PartitionOwners owners, String name, int partition) {
        return owners.application()
                .store(StoreQueryParameters.fromNameAndType(name, QueryableStoreTypes.<Bytes, byte[]>keyValueStore())
                        .withPartition(partition));
    }

    private static <T> Result<T> changesTooFast() {
        return new Result.NotReady<>("the state changes faster than it can be read");
    }
}
