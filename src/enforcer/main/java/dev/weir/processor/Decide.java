package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.LeaseContext;
import dev.weir.decision.PolicyState;
import dev.weir.event.Admission;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseSession;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.storage.HolderNames;
import dev.weir.storage.QueueKeys;
import dev.weir.storage.StateCleaner;
import dev.weir.storage.StoredAnswers;
import dev.weir.storage.StoredStates;
import dev.weir.storage.WaiterCodec.Waiter;
import dev.weir.storage.WriteBackStore;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Decides each request, or forwards it to the queue that decides it. A request for a shared limit whose leases are used up
 * waits until the ledger responds, or until its longest wait is over.
 */
public final class Decide implements Processor<byte[], Object, byte[], Object> {

    /** A task that is opened again does not use the numbers of its earlier requests. */
    private static final int REQUEST_BITS_A_MS = 20;

    private final PolicyRegistry policies;
    private final WeirConfig config;
    private final EnforcerMetrics counts;
    private final StoreNames stores;
    private final Outlets outlets;
    private final LongSupplier clockSteps;
    private final TickScheduler ticks = new TickScheduler(this::tick);
    private ProcessorContext<byte[], Object> context;
    private StoredStates states;
    private LeaseStore leases;
    private DecisionSequence sequence;
    private DecisionContext inOrder = DecisionContext.UNKNOWN; // of the last decision in the order of its own offset
    private StateCleaner sweep;
    private StateCleaner sweepOfBooks;
    private Cancellable sweeping;
    private EarlyCommits early = new EarlyCommits();

    /**
     * The stores: what was used of the policies, the segments of logs, first answers; what is held of shared quota, and who waits
     * for it; the position of the last decision.
     */
    public record StoreNames(
            String states, String segments, String answers, String books, String waiting, String order) {}

    /** The nodes that take what comes out. */
    public record Outlets(String decisions, String admissions, String asks) {}

    /** @param clockSteps how often the wall clock of this process was stepped forward: {@link dev.weir.lease.ClockStepDetector} */
    public Decide(
            PolicyRegistry policies,
            EnforcerMetrics counts,
            WeirConfig config,
            StoreNames stores,
            Outlets outlets,
            LongSupplier clockSteps) {
        this.policies = policies;
        this.counts = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.clockSteps = clockSteps;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        WriteBackStore<StateKey, PolicyState> store = context.getStateStore(stores.states);
        IdempotencyCache firstAnswers = StoredAnswers.open(context.getStateStore(stores.answers), config.state());
        states = new StoredStates(store, context.getStateStore(stores.segments), firstAnswers);
        sequence = new DecisionSequence(context.getStateStore(stores.order));
        store.beforeFlush(() -> {
            sequence.write();
            early.started(context.currentSystemTimeMs());
        });
        WriteBackStore<StateKey, LeaseBook> books = context.getStateStore(stores.books);
        long nowMs = context.currentSystemTimeMs();
        String holder =
                new HolderNames(config.applicationId()).name(context.taskId().partition());
        leases = new LeaseStore(
                new LeaseSession(holder, nowMs << REQUEST_BITS_A_MS, clockSteps),
                books,
                context.getStateStore(stores.waiting),
                config.leases().terms(),
                policies::table,
                nowMs);
        early = new EarlyCommits();
        int keys = config.state().sweepKeys();
        long keepMs = config.state().forgetAfter().toMillis();
        sweep = new StateCleaner(store, states::forget, keys, keepMs);
        sweepOfBooks = new StateCleaner(books, (key, book) -> books.deleteUnlessDirty(key), keys, keepMs);
        if (sweeping != null) { // of a task that failed and is revived
            sweeping.cancel();
        }
        ticks.open(context);
        sweeping = context.schedule(config.state().sweepEvery(), PunctuationType.WALL_CLOCK_TIME, sweepMs -> {
            store.shrink();
            books.shrink();
            sweep.observe(leases.earliestMs()); // it will be decided by what is remembered then
            sweep.run(sweepMs);
            sweepOfBooks.run(sweepMs);
        });
        planTick(nowMs);
    }

    @Override
    public void process(Record<byte[], Object> record) {
        long nowMs = context.currentSystemTimeMs();
        early.resumed(nowMs, leases.roundTripMs());
        if (record.value() instanceof Request request) {
            sweep.observe(request.timestampMs());
            sweepOfBooks.observe(request.timestampMs());
            decide(record, request, nowMs);
        } else {
            LeaseGranted granted = (LeaseGranted) record.value();
            leases.respond(granted.key(), granted.response(), nowMs);
        }
        endStep(nowMs);
    }

    private void tick() {
        long nowMs = context.currentSystemTimeMs();
        early.resumed(nowMs, leases.roundTripMs());
        if (nowMs >= early.dueMs()) {
            commitEarly(nowMs);
        }
        leases.wake(nowMs);
        endStep(nowMs);
    }

    private void commitEarly(long nowMs) {
        if (early.request(nowMs)) {
            context.commit();
        }
    }

    private void planTick(long nowMs) {
        long dueMs = Math.min(leases.dueMs(), early.dueMs());
        if (dueMs != Long.MAX_VALUE) {
            ticks.request(dueMs, nowMs);
        }
    }

    private void decide(Record<byte[], Object> record, Request request, long nowMs) {
        boolean isRouted = request.source().partition() != context.taskId().partition();
        if (!isRouted) {
            sequence.advanceTo(request.source().offset());
        }
        PolicyTable table = policies.table();
        LeaseContext quota = new LeaseContext(leases, nowMs, true, leases.hasRoom());
        DecisionResult ruling = new Decider(states, quota).decide(request, table);
        if (ruling instanceof AwaitLease wait) {
            counts.waits(wait.key().policyId());
            leases.park(
                    new Waiter(wait.key(), wait.maxWaitMs(), request, CarriedHeaders.from(record.headers())), nowMs);
        } else {
            forward(record, ruling, isRouted ? outOfOrder(table) : inOrder(table));
        }
    }

    private void endStep(long nowMs) {
        for (var ready = leases.nextReady(nowMs); ready.isPresent(); ready = leases.nextReady(nowMs)) {
            decideAgain(ready.get(), nowMs);
        }
        leases.endStep(nowMs).forEach(message -> send(message, nowMs));
        planTick(nowMs);
    }

    private void decideAgain(LeaseStore.Ready ready, long nowMs) {
        PolicyTable table = policies.table();
        LeaseContext quota = new LeaseContext(leases, nowMs, false, nowMs < ready.untilMs());
        DecisionResult ruling = new Decider(states, quota).decide(ready.waiter().request(), table);
        if (ruling instanceof AwaitLease wait) {
            leases.parkAgain(ready, wait);
        } else {
            leases.remove();
            forward(record(ready.waiter()), ruling, outOfOrder(table));
        }
    }

    /** Returns the record that a waiting request was read from, without the value. */
    private static Record<byte[], Object> record(Waiter waiter) {
        Request request = waiter.request();
        byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
        return new Record<>(key, null, request.timestampMs(), CarriedHeaders.to(waiter.headers()));
    }

    /** The context of a decision that is taken in the order of the request's own offset. */
    private DecisionContext inOrder(PolicyTable table) {
        Long last = inOrder.policiesChecksum();
        if (last == null || last != table.checksum()) {
            inOrder = new DecisionContext(null, table.checksum());
        }
        return inOrder;
    }

    /** The context of a decision that is taken out of that order. */
    private DecisionContext outOfOrder(PolicyTable table) {
        return new DecisionContext(sequence.next(), table.checksum());
    }

    /** Forwards a decision with the record's headers, or an admission that carries them on to the release. */
    private void forward(Record<byte[], Object> record, DecisionResult ruling, DecisionContext taken) {
        if (ruling instanceof Decision decision) {
            Decision decided = decision.withContext(taken);
            counts.decided(decided);
            counts.answered(context.currentSystemTimeMs() - record.timestamp());
            context.forward(record.withValue(decided), outlets.decisions);
        } else {
            Admission admission =
                    ((Admission) ruling).withHeadersAndContext(CarriedHeaders.from(record.headers()), taken);
            Admission keyed = QueueRules.withKey(admission, policies.queue(admission.queue()));
            byte[] bucket = QueueKeys.record(BucketId.of(keyed));
            context.forward(new Record<>(bucket, keyed, record.timestamp()), outlets.admissions);
        }
    }

    /** Sends a message to a ledger, which reads it after the commit: where a request waits for the response, that is early. */
    private void send(LeaseStore.Message message, long nowMs) {
        StateKey key = message.key();
        LeaseRequest request = message.request();
        counts.sent(new EnforcerMetrics.Leasing(key.policyId(), false, !request.requestsLease()));
        LeaseRequestAvro.Addressed addressed =
                new LeaseRequestAvro.Addressed(request, context.taskId().partition());
        context.forward(new Record<>(KeyCodec.encode(key), addressed, nowMs), outlets.asks);
        if (request.minTokens() > 0) {
            commitEarly(nowMs);
        }
    }
}
