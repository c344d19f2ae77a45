package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.pacing.CacheOwner;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.storage.HolderNames;
import dev.weir.storage.StoredIdempotencyCache;
import dev.weir.storage.StoredReservations;
import dev.weir.storage.StoredStates;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.codec.ReservationEntry;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** Passes requests and the responses of ledgers to the {@link DecidingTask}, which decides or forwards to queues. */
public final class Decide implements Processor<byte[], DecideInput, byte[], Object>, CacheOwner {

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
    private final TickScheduler ticks = new TickScheduler(() -> this.task.tick());
    private ProcessorContext<byte[], Object> context;
    private DecidingTask task;

    /**
     * The names of the stores.
     *
     * @param states the states of policies
     * @param segments the segments of sliding-window logs
     * @param answers the idempotency cache: the first decision for each idempotency key
     * @param reservations the reservations
     * @param books the lease books
     * @param waiting the requests that wait for a lease
     * @param order the position of the last decision
     */
    public record StoreNames(
            String states,
            String segments,
            String answers,
            String reservations,
            String books,
            String waiting,
            String order) {}

    /** The names of the nodes that receive the output. */
    public record Outlets(String decisions, String replies, String admissions, String leaseRequests) {}

    /**
     * @param replies the partitions of the topic of replies
     * @param clockSteps returns how often the wall clock of this process was stepped forward;
     *     see {@link dev.weir.lease.holder.ClockStepDetector}
     */
    public Decide(
            PolicyRegistry policies,
            EnforcerMetrics metrics,
            WeirConfig config,
            StoreNames stores,
            Outlets outlets,
            ReplyPartitions replies,
            LongSupplier clockSteps) {
        this.policies = policies;
        this.metrics = metrics;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.replies = replies;
        this.clockSteps = clockSteps;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        if (task != null) {
            task.stop();
        }
        ticks.open(context);
        ReplyForwarder toRequesters = new ReplyForwarder(context, outlets.replies, replies, metrics);
        DecisionForwarder forwarder = new DecisionForwarder(context, outlets, toRequesters, metrics);
        task = new DecidingTask(context, policies, metrics, openStores(), forwarder, ticks);
    }

    private DecidingTask.Parts openStores() {
        WriteBackStore<StateKey, PolicyState> store = context.getStateStore(stores.states);
        WriteBackStore<byte[], ReservationEntry> reservations = context.getStateStore(stores.reservations);
        StoredStates states = new StoredStates(
                store,
                context.getStateStore(stores.segments),
                StoredIdempotencyCache.open(context.getStateStore(stores.answers), config.state()),
                StoredReservations.open(
                        reservations,
                        config.state(),
                        stored -> metrics.reservations(context.taskId().partition(), stored)));
        DecisionSequence sequence = new DecisionSequence(context.getStateStore(stores.order));
        store.beforeFlush(sequence::write); // Kafka Streams flushes the stores at the start of each commit
        WriteBackStore<StateKey, LeaseBook> books = context.getStateStore(stores.books);
        long nowMs = context.currentSystemTimeMs();
        String holder =
                new HolderNames(config.applicationId()).name(context.taskId().partition());
        LeaseStore leases = new LeaseStore(
                new LeaseSession(holder, nowMs << REQUEST_BITS_A_MS, clockSteps),
                books,
                context.getStateStore(stores.waiting),
                config.leases().terms(),
                policies::table,
                nowMs);
        StateMaintenance maintenance = new StateMaintenance(
                context,
                config.state(),
                new StateMaintenance.Stores(store, books, reservations),
                states,
                leases::earliestMs);
        return new DecidingTask.Parts(states, leases, sequence, maintenance);
    }

    @Override
    public void shrinkCaches() {
        task.shrinkCaches();
    }

    @Override
    public void close() {
        if (context != null) { // unless it was not opened
            metrics.reservationsClosed(context.taskId().partition());
        }
    }

    @Override
    public void process(Record<byte[], DecideInput> record) {
        if (record.value() instanceof RequestToDecide request) {
            task.decide(record, request);
        } else if (record.value() instanceof LedgerResponse response) {
            task.respond(response);
        } else if (record.value() instanceof CancelledReservation cancelled) {
            task.cancel(cancelled.cancellation());
        }
    }
}
