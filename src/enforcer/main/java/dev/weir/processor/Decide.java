package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.LeaseContext;
import dev.weir.decision.PolicyState;
import dev.weir.event.AwaitLease;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseSession;
import dev.weir.policy.PolicyTable;
import dev.weir.storage.HolderNames;
import dev.weir.storage.StoredIdempotencyCache;
import dev.weir.storage.StoredStates;
import dev.weir.storage.WaiterCodec.Waiter;
import dev.weir.storage.WriteBackStore;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Decides each request, or forwards it to the queue that decides it. A request that needs more of a shared limit than
 * the task's leases hold waits until the ledger responds or its maximum wait has passed.
 */
public final class Decide implements Processor<byte[], Object, byte[], Object> {

    /**
     * Request numbers start at the time of the start in milliseconds, shifted by this many bits, so a task that is
     * opened again does not reuse the numbers of its earlier requests.
     */
    private static final int REQUEST_BITS_A_MS = 20;

    private final PolicyRegistry policies;
    private final WeirConfig config;
    private final EnforcerMetrics metrics;
    private final StoreNames stores;
    private final Outlets outlets;
    private final ReplyPartitions replies;
    private final LongSupplier clockSteps;
    private final TickScheduler ticks = new TickScheduler(this::tick);
    private ProcessorContext<byte[], Object> context;
    private StoredStates states;
    private LeaseStore leases;
    private DecisionSequence sequence;
    private DecisionForwarder forwarder;
    private StateMaintenance maintenance;
    private EarlyCommits early = new EarlyCommits();

    /**
     * The names of the stores.
     *
     * @param states the states of policies
     * @param segments the segments of sliding-window logs
     * @param answers the idempotency cache: the first decision for each idempotency key
     * @param books the lease books
     * @param waiting the requests that wait for a lease
     * @param order the position of the last decision
     */
    public record StoreNames(
            String states, String segments, String answers, String books, String waiting, String order) {}

    /** The names of the nodes that receive the output. */
    public record Outlets(String decisions, String replies, String admissions, String leaseRequests) {}

    /**
     * @param replies the partitions of the topic of replies
     * @param clockSteps returns how often the wall clock of this process was stepped forward;
     *     see {@link dev.weir.lease.ClockStepDetector}
     */
    public Decide(
            PolicyRegistry policies,
            EnforcerMetrics counts,
            WeirConfig config,
            StoreNames stores,
            Outlets outlets,
            ReplyPartitions replies,
            LongSupplier clockSteps) {
        this.policies = policies;
        this.metrics = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.replies = replies;
        this.clockSteps = clockSteps;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        WriteBackStore<StateKey, PolicyState> store = context.getStateStore(stores.states);
        IdempotencyCache idempotencyCache =
                StoredIdempotencyCache.open(context.getStateStore(stores.answers), config.state());
        states = new StoredStates(store, context.getStateStore(stores.segments), idempotencyCache);
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
        forwarder = new DecisionForwarder(
                context, outlets, new ReplyForwarder(context, outlets.replies, replies, metrics), metrics, policies);
        if (maintenance != null) {
            maintenance.stop();
        }
        maintenance = new StateMaintenance(context, config.state(), store, states, books, leases::earliestMs);
        ticks.open(context);
        planTick(nowMs);
    }

    @Override
    public void process(Record<byte[], Object> record) {
        long nowMs = context.currentSystemTimeMs();
        early.resumed(nowMs, leases.roundTripMs());
        if (record.value() instanceof Request request) {
            decide(
                    record,
                    request,
                    request.source().partition() != context.taskId().partition(),
                    nowMs);
        } else if (record.value() instanceof RoutedRequest routed) {
            decide(record, routed.request(), true, nowMs);
        } else {
            LedgerResponse granted = (LedgerResponse) record.value();
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

    /** @param isRouted whether the request is not in the task's own partition, whose offsets order the decisions */
    private void decide(Record<byte[], Object> record, Request request, boolean isRouted, long nowMs) {
        maintenance.observe(request.timestampMs());
        if (!isRouted) {
            sequence.advanceTo(request.source().offset());
        }
        PolicyTable table = policies.table();
        LeaseContext quota = new LeaseContext(leases, nowMs, true, leases.hasRoom());
        DecisionResult result = new Decider(states, quota, metrics).decide(request, table);
        if (result instanceof AwaitLease wait) {
            metrics.waits(wait.key().policyId());
            leases.park(
                    new Waiter(wait.key(), wait.maxWaitMs(), request, CarriedHeaders.from(record.headers())), nowMs);
        } else {
            forwarder.forward(record, result, isRouted ? sequence.outOfOrder(table) : sequence.inOrder(table));
        }
    }

    private void endStep(long nowMs) {
        for (var ready = leases.nextReady(nowMs); ready.isPresent(); ready = leases.nextReady(nowMs)) {
            decideAgain(ready.get(), nowMs);
        }
        for (LeaseStore.Message message : leases.endStep(nowMs)) {
            forwarder.send(message, nowMs);
            if (message.request().minTokens() > 0 || message.request().isCheck()) { // a request waits for the response
                commitEarly(nowMs);
            }
        }
        planTick(nowMs);
    }

    private void decideAgain(LeaseStore.Ready ready, long nowMs) {
        PolicyTable table = policies.table();
        LeaseContext quota = new LeaseContext(leases, nowMs, false, nowMs < ready.untilMs());
        DecisionResult result =
                new Decider(states, quota, metrics).decide(ready.waiter().request(), table);
        if (result instanceof AwaitLease wait) {
            leases.parkAgain(ready, wait);
        } else {
            leases.remove();
            forwarder.forward(record(ready.waiter()), result, sequence.outOfOrder(table));
        }
    }

    /** Returns the record that a waiting request was read from, without the value. */
    private static Record<byte[], Object> record(Waiter waiter) {
        Request request = waiter.request();
        byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
        return new Record<>(key, null, request.timestampMs(), CarriedHeaders.to(waiter.headers()));
    }
}
