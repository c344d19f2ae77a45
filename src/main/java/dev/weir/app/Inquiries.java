package dev.weir.app;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.QueueKeys;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Admission;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.Kind;
import dev.weir.policy.LeaseContext;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyStates;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.QuotaSource;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import dev.weir.policy.SharedUsage;
import dev.weir.policy.StateKey;
import dev.weir.policy.Usage;
import dev.weir.policy.Usages;
import dev.weir.policy.Wait;
import dev.weir.processor.LedgerTrials;
import dev.weir.processor.LivePolicies;
import dev.weir.processor.LiveQueues;
import dev.weir.processor.Shape;
import dev.weir.processor.StateTrials;
import dev.weir.processor.StoredHoldings;
import dev.weir.shape.Answers;
import dev.weir.shape.BucketId;
import dev.weir.shape.QueueRules;
import dev.weir.shape.QueueView;
import dev.weir.topology.Stores;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Answers from the stores of the running tasks, which are written at the latest when they commit, and from the queues as they
 * are. It writes nothing.
 */
final class Inquiries implements Questions {

    /** How many states of a client are told, beside those of the policies that apply. */
    private static final int MAX_STATES = 1_000;

    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final Owners clients;
    private final Owners queueOwners;
    private final LivePolicies policies;
    private final LiveQueues queues;
    private final LeaseTerms terms;
    private final Clock clock;

    /** The two applications, and what they decide, shape and lend by. */
    Inquiries(
            LivePolicies policies,
            Owners clients,
            Owners queueOwners,
            LiveQueues queues,
            LeaseTerms terms,
            Clock clock) {
        this.terms = terms;
        this.policies = policies;
        this.clients = clients;
        this.queueOwners = queueOwners;
        this.queues = queues;
        this.clock = clock;
    }

    @Override
    public Answer<List<Usage>> usage(Request request) {
        return clients.answer(Stores.POLICY_STATES, request.client(), partition -> {
            StateTrials trials = trials(partition);
            PolicyTable table = policies.table();
            List<StateKey> stored = trials.keys(request.client(), MAX_STATES);
            List<Usage> usages = new ArrayList<>();
            for (Usages.Subject subject : Usages.subjects(request, table, stored)) {
                if (subject.policy().isShared()) {
                    usages.add(held(subject, partition));
                    continue;
                }
                Optional<Usage> usage = trials.attempt(states -> Usages.of(subject, request.timestampMs(), states));
                if (usage.isEmpty()) {
                    return changesTooFast();
                }
                usages.add(usage.get());
            }
            return new Answer.Here<>(usages);
        });
    }

    @Override
    public Answer<Decision> check(Request request) {
        if (request.kind() == Kind.CANCEL) {
            Admission cancel = keyed(cancel(request));
            return ask(BucketId.of(cancel), (shaper, nowNanos) -> shaper.check(cancel, nowNanos));
        }
        return clients.answer(Stores.POLICY_STATES, request.client(), partition -> {
            PolicyTable table = policies.table();
            LeaseContext leases = LeaseContext.readOnly(held(partition), clock.millis(), true, true);
            Optional<Ruling> ruling = trials(partition)
                    .attempt(states -> Decider.readOnly(states, leases).decide(request, table));
            if (ruling.isEmpty()) {
                return changesTooFast();
            }
            if (ruling.get() instanceof Wait) {
                return new Answer.NotNow<>("it would wait for a part of a shared quota, and then be decided");
            }
            return ruling.get() instanceof Admission admission
                    ? place(admission)
                    : new Answer.Here<>((Decision) ruling.get());
        });
    }

    private Usage held(Usages.Subject subject, int partition) {
        LeaseBook book = held(partition).book(subject.key());
        long nowMs = clock.millis();
        long held = book.available(nowMs, book.timeMs(nowMs));
        return new Usage(subject.policy(), subject.key().others(), null, List.of(), held);
    }

    private StoredHoldings held(int partition) {
        return new StoredHoldings(store(clients, Stores.LEASE_BOOKS, partition), policies.table(), terms);
    }

    @Override
    public Answer<SharedUsage> shared(String policyId, Map<String, String> key) {
        Policy policy = policies.table().inForce(policyId, clock.millis());
        if (policy == null || !policy.isShared()) {
            return new Answer.Here<>(null);
        }
        StateKey of = policy.sharedKey(key);
        byte[] bytes = KeyCodec.encode(of);
        return queueOwners.answer(Stores.LEDGERS, bytes, partition -> new LedgerTrials(
                        store(queueOwners, Stores.LEDGERS, partition),
                        store(queueOwners, Stores.LEDGER_SEGMENTS, partition))
                .attempt(policy, bytes, clock.millis(), ledger -> Usages.of(new Usages.Subject(policy, of), ledger))
                .<Answer<SharedUsage>>map(Answer.Here::new)
                .orElseGet(Inquiries::changesTooFast));
    }

    @Override
    public Answer<QueueView> queue(String id) {
        QueueRules rules = policies.queue(id);
        if (rules != null && !rules.isKeyed()) {
            return key(id, Map.of());
        }
        return queueOwners.part(Stores.QUEUE_STATES, others -> queues.parts(id, PATIENCE)
                .<Answer<QueueView>>map(parts -> new Answer.Part<>(together(parts, rules), others))
                .orElseGet(() -> new Answer.NotNow<>("a part of the queue is being moved, or it is too busy")));
    }

    private static QueueView together(List<QueueView> parts, QueueRules rules) {
        return parts.stream()
                .reduce(QueueView::and)
                .orElseGet(() -> rules == null ? null : QueueView.ofNoBuckets(rules));
    }

    @Override
    public Answer<QueueView> key(String id, Map<String, String> key) {
        BucketId bucket = BucketId.of(id, key);
        return ask(bucket, (shaper, nowNanos) -> shaper.view(bucket, nowNanos));
    }

    /** What the queue would say; if it is elsewhere, as much of it as is known here. */
    private Answer<Decision> place(Admission admission) {
        Admission keyed = keyed(admission);
        Answer<Decision> answer = ask(BucketId.of(keyed), (shaper, nowNanos) -> shaper.check(keyed, nowNanos));
        return answer instanceof Answer.Elsewhere
                ? new Answer.Here<>(Answers.unplaced(keyed, policies.queue(keyed.queue()), clock.millis()))
                : answer;
    }

    private Admission keyed(Admission admission) {
        return QueueRules.keyed(admission, policies.queue(admission.queue()));
    }

    private <T> Answer<T> ask(BucketId bucket, Shape.Question<T> question) {
        return queueOwners.answer(Stores.QUEUE_STATES, QueueKeys.record(bucket), partition -> queues.<Answer<T>>ask(
                        partition, PATIENCE, (shaper, nowNanos) -> new Answer.Here<>(question.answer(shaper, nowNanos)))
                .orElseGet(() -> new Answer.NotNow<>("the queue is being moved, or it is too busy")));
    }

    private static Admission cancel(Request request) {
        return (Admission)
                Decider.readOnly(PolicyStates.NONE, QuotaSource.local()).decide(request, PolicyTable.EMPTY);
    }

    private StateTrials trials(int partition) {
        return new StateTrials(
                store(clients, Stores.POLICY_STATES, partition),
                store(clients, Stores.LOG_SEGMENTS, partition),
                store(clients, Stores.FIRST_ANSWERS, partition));
    }

    private static ReadOnlyKeyValueStore<Bytes, byte[]> store(Owners owners, String name, int partition) {
        return owners.application()
                .store(StoreQueryParameters.fromNameAndType(name, QueryableStoreTypes.<Bytes, byte[]>keyValueStore())
                        .withPartition(partition));
    }

    private static <T> Answer<T> changesTooFast() {
        return new Answer.NotNow<>("the client's state changes faster than it can be read");
    }
}
