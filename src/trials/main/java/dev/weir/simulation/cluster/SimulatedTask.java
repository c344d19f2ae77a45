package dev.weir.simulation.cluster;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.PolicyLedger;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lease.ledger.OutstandingLeases;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.policy.PolicyTable;
import dev.weir.processor.Decide;
import dev.weir.processor.DecideInput;
import dev.weir.processor.Lend;
import dev.weir.processor.ReadLeaseResponses;
import dev.weir.processor.ReadRequests;
import dev.weir.processor.ReadRoutedRequests;
import dev.weir.processor.ReplyPartitions;
import dev.weir.processor.RequestToDecide;
import dev.weir.processor.Shape;
import dev.weir.processor.policy.CheckPolicies;
import dev.weir.requests.RecordOrigin;
import dev.weir.requests.RequestPlacement;
import dev.weir.requests.RequestReader;
import dev.weir.requests.ReservationCancellation;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.storage.HolderNames;
import dev.weir.storage.StoredQueues;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.codec.LeaseCodec;
import dev.weir.storage.codec.QueueMessageCodec;
import dev.weir.topology.Stores;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.internals.CachedStateStore;

/** A task on an instance: the real processors, on the local stores of the instance. */
public final class SimulatedTask {

    private static final String DECIDE = "decide";
    private static final String DECISIONS = SimulatedTaskSlot.TOPICS.decisions();
    private static final String ADMISSIONS = SimulatedTaskSlot.TOPICS.admissions();
    private static final String ROUTED = SimulatedTaskSlot.TOPICS.routedRequests();
    private static final String LEASE_ASKS = SimulatedTaskSlot.TOPICS.leaseRequests();
    private static final String LEASE_GRANTS = SimulatedTaskSlot.TOPICS.leaseResponses();
    private static final String RELEASES = SimulatedTaskSlot.TOPICS.releases();
    private static final String POLICIES = SimulatedTaskSlot.TOPICS.policies();
    private static final String DEAD_LETTERS = SimulatedTaskSlot.TOPICS.deadLetters();

    static final Decide.StoreNames DECIDE_STORES = new Decide.StoreNames(
            Stores.POLICY_STATES,
            Stores.LOG_SEGMENTS,
            Stores.IDEMPOTENCY,
            Stores.RESERVATIONS,
            Stores.LEASE_BOOKS,
            Stores.WAITING_REQUESTS,
            Stores.DECISION_ORDER);
    public static final StoredQueues.StoreNames SHAPE_STORES = new StoredQueues.StoreNames(
            Stores.QUEUE_STATES,
            Stores.QUEUE_ENTRIES,
            Stores.QUEUE_TICKETS,
            Stores.QUEUE_EXPIRY_TIMERS,
            Stores.QUEUE_TIMERS,
            Stores.QUEUE_SCHEDULE,
            Stores.QUEUE_IDEMPOTENCY);
    /** Requests of the simulation select no partition for replies. */
    public static final ReplyPartitions NO_REPLIES = new ReplyPartitions(0);

    private static final String REPLIES = SimulatedTaskSlot.TOPICS.replies();

    public static final Shape.Outlets SHAPE_OUTLETS =
            new Shape.Outlets(DECISIONS, REPLIES, RELEASES, ADMISSIONS, ROUTED, DEAD_LETTERS);

    private static final Set<String> HOT = Set.of(Stores.POLICY_STATES, Stores.RESERVATIONS, Stores.LEASE_BOOKS);

    private static final DecisionCodec DECISION = new DecisionCodec();
    private static final QueueMessageCodec QUEUE_MESSAGE = new QueueMessageCodec();
    private static final ReleaseCodec RELEASE = new ReleaseCodec();
    private static final LeaseRequestAvro ASK = new LeaseRequestAvro();
    private static final LeaseResponseAvro GRANT = new LeaseResponseAvro();
    private static final long NANOS_PER_MS = 1_000_000;
    private static final long BEGUN_AFTER_MS = 10;

    /**
     * The destination of a record.
     *
     * @param partition the partition, null to use that of the key
     */
    record Output(String topic, Integer partition) {}

    /**
     * The policies and time by which a request was decided.
     *
     * @param nowMs the time by the machine's clock
     */
    public record Used(PolicyTable policies, long nowMs) {}

    /** The receiver of a task's writes, all in one transaction. */
    interface Writes {
        void output(Output to, byte[] key, byte[] value, Headers headers, long timestampMs);

        void changelog(SimulatedTaskSlot slot, String store, byte[] key, byte[] value);

        void decidedBy(Request.Source source, Used used);
    }

    public final SimulatedTaskSlot slot;
    private final SimulatedInstance instance;
    private final Writes writes;
    private final InjectedFlaw flaw;
    private final List<Processor<?, ?, ?, ?>> processors = new ArrayList<>();
    private final SimulatedTimers timers;
    private final Map<String, StateStore> stores = new LinkedHashMap<>();
    private LocalState state;
    private SimulatedContext<byte[], Object> context;
    private final Map<String, Consumer<Record<byte[], byte[]>>> first = new HashMap<>();
    private Processor<byte[], DecideInput, byte[], Object> decide;
    private final Map<SimulatedPartition, Long> positions = new LinkedHashMap<>();
    private long openedMs;
    private long wokenMs;

    /** @param partitions the number of partitions of the requests topic */
    SimulatedTask(
            SimulatedTaskSlot slot,
            int partitions,
            SimulatedInstance instance,
            Writes writes,
            WeirConfig config,
            InjectedFlaw flaw) {
        this.slot = slot;
        this.instance = instance;
        this.writes = writes;
        this.flaw = flaw;
        timers = new SimulatedTimers(flaw);
        make(config, partitions);
        slot.role().stores.forEach(this::makeStore);
    }

    private void makeStore(String name) {
        HeapStore<Bytes> store = new HeapStore<>(
                name, () -> state.store(name), (key, value) -> writes.changelog(slot, name, key.get(), value), flaw);
        stores.put(name, HOT.contains(name) ? new WriteBackStore<>(store, instance.hotMemory) : store);
    }

    private void make(WeirConfig config, int partitions) {
        switch (slot.role()) {
            case DECIDE -> {
                RequestReader reader = new RequestReader(
                        new RequestCodec(), WeirConfig.DEFAULTS.requests().rules());
                RequestPlacement placement = new RequestPlacement(partitions, WeirConfig.MisplacedAction.ROUTE);
                ReadRequests read = new ReadRequests(
                        reader,
                        placement,
                        config.requests().maxAhead(),
                        new EnforcerMetrics(),
                        new ReadRequests.Outlets(DECIDE, ROUTED, DEAD_LETTERS));
                ReadRoutedRequests readRouted = new ReadRoutedRequests(
                        reader,
                        placement,
                        new EnforcerMetrics(),
                        SimulatedTaskSlot.TOPICS.requests(),
                        new ReadRoutedRequests.Outlets(DECIDE, DEAD_LETTERS));
                decide = new Decide(
                        instance.policies,
                        new EnforcerMetrics(),
                        config,
                        DECIDE_STORES,
                        new Decide.Outlets(DECISIONS, REPLIES, ADMISSIONS, LEASE_ASKS),
                        NO_REPLIES,
                        () -> 0);
                ReadLeaseResponses readGrants = new ReadLeaseResponses(
                        new EnforcerMetrics(), new HolderNames(config.applicationId()), DECIDE, DEAD_LETTERS);
                processors.addAll(List.of(read, readRouted, readGrants, decide));
                first.put(SimulatedTaskSlot.TOPICS.requests(), read::process);
                first.put(ROUTED, readRouted::process);
                first.put(LEASE_GRANTS, readGrants::process);
            }
            case SHAPE -> {
                Shape shape = new Shape(
                        instance.policies,
                        instance.queues,
                        new EnforcerMetrics(),
                        config,
                        SHAPE_STORES,
                        SHAPE_OUTLETS,
                        NO_REPLIES);
                processors.add(shape);
                first.put(ADMISSIONS, shape::process);
            }
            case LEND -> {
                Lend lend = new Lend(
                        instance.policies,
                        new EnforcerMetrics(),
                        config,
                        new Lend.StoreNames(Stores.LEDGERS, Stores.LEDGER_SEGMENTS),
                        new Lend.Outlets(LEASE_GRANTS, DEAD_LETTERS));
                processors.add(lend);
                first.put(LEASE_ASKS, lend::process);
            }
            case CHECK -> {
                CheckPolicies check = new CheckPolicies(
                        new EnforcerMetrics(), Stores.GOOD_POLICIES, new CheckPolicies.Outlets(POLICIES, DEAD_LETTERS));
                processors.add(check);
                first.put(POLICIES, check::process);
            }
        }
    }

    /** Starts the task, or restarts it after a failure with the same processors. */
    @SuppressWarnings({"unchecked", "rawtypes"}) // processors differ in what they forward
    void open(LocalState restored, Map<SimulatedPartition, Long> from) {
        state = restored;
        positions.clear();
        positions.putAll(from);
        openedMs = instance.nowMs();
        wokenMs = Long.MIN_VALUE;
        breakOnPurpose();
        context = new SimulatedContext<>(slot.partition(), instance::nowMs, timers, this::forward);
        for (StateStore store : stores.values()) {
            if (flaw != InjectedFlaw.HEAP_SURVIVES_ABORT) {
                store.init(null, store);
            }
            context.add(store);
        }
        processors.forEach(processor -> ((Processor) processor).init(context));
    }

    private void breakOnPurpose() {
        if (slot.role() == SimulatedTaskSlot.Role.DECIDE && flaw == InjectedFlaw.WAITING_FORGOTTEN) {
            state.store(Stores.WAITING_REQUESTS).clear();
        }
        if (slot.role() == SimulatedTaskSlot.Role.LEND && flaw == InjectedFlaw.LEASES_LOST) {
            state.store(Stores.LEDGERS).replaceAll((key, bytes) -> {
                PolicyLedger of = LeaseCodec.decodeLedger(bytes, logId -> null);
                Ledger ledger = of.ledger();
                OutstandingLeases none =
                        new OutstandingLeases(List.of(), ledger.outstanding().nextId());
                Ledger left = new Ledger(ledger.usage(), none, ledger.refused());
                return LeaseCodec.encode(new PolicyLedger(left, of.retired()));
            });
        }
    }

    void close() {
        processors.forEach(Processor::close);
        if (flaw != InjectedFlaw.HEAP_SURVIVES_ABORT) {
            stores.values().forEach(StateStore::close);
        }
    }

    /** Flushes cached state. */
    void flush() {
        for (StateStore store : stores.values()) {
            if (store instanceof CachedStateStore<?, ?> cached) {
                cached.flushCache();
            }
        }
    }

    public LocalState state() {
        return state;
    }

    /** Returns the next offset of each input. */
    Map<SimulatedPartition, Long> positions() {
        return positions;
    }

    /**
     * Returns when punctuations were last fired, by the machine's clock. It only counts if all punctuations that were
     * scheduled at the start were due by then.
     */
    public long wokenMs() {
        return wokenMs;
    }

    /** Returns when the task was opened last, for the first time or after a failure. */
    public long openedMs() {
        return openedMs;
    }

    public int timers() {
        return timers.size();
    }

    /** Processes one record. Returns false if there is none. */
    boolean step() {
        for (SimulatedPartition input : inputs()) {
            Entry entry = input.next(positions.get(input));
            if (entry != null) {
                positions.put(input, entry.offset() + 1);
                if (flaw == InjectedFlaw.PAUSES_IGNORED && isPause(entry)) {
                    return true;
                }
                context.setRecord(entry);
                first.get(entry.partition().topic)
                        .accept(new Record<>(entry.key(), received(entry), timestampMs(entry), entry.headers()));
                return true;
            }
        }
        return false;
    }

    /** Returns the value that a processor sees. */
    private byte[] received(Entry entry) {
        boolean isForged = flaw == InjectedFlaw.FORGERIES_ACCEPTED
                && entry.partition().topic.equals(ADMISSIONS);
        return isForged ? QUEUE_MESSAGE.encode(flaw.received(message(entry))) : entry.value();
    }

    private static boolean isPause(Entry entry) {
        return entry.partition().topic.equals(ADMISSIONS)
                && entry.key() == null // only admissions have a key
                && message(entry) instanceof QueueMessage.Commanded sent
                && sent.command().action() == QueueCommand.Action.PAUSE;
    }

    private static QueueMessage message(Entry entry) {
        try {
            return QUEUE_MESSAGE.decode(entry.value());
        } catch (UnreadableException e) {
            throw new IllegalStateException("a message to queues cannot be read", e);
        }
    }

    /**
     * Returns the inputs in the order in which they are read. The last two are swapped at some times, so that the order
     * of their records differs after a crash.
     */
    private List<SimulatedPartition> inputs() {
        List<SimulatedPartition> inputs = new ArrayList<>(positions.keySet());
        if (inputs.size() > 1 && instance.nowMs() % 2 == 0) {
            Collections.swap(inputs, inputs.size() - 2, inputs.size() - 1);
        }
        return inputs;
    }

    private long timestampMs(Entry entry) {
        if (flaw == InjectedFlaw.QUEUES_BY_OWN_CLOCK && entry.partition().topic.equals(ADMISSIONS)) {
            return instance.nowMs();
        }
        return entry.partition().topic.equals(ROUTED) && !ReservationCancellation.isMarked(entry.headers())
                ? RecordOrigin.read(entry.headers()).orElseThrow().timestampMs()
                : Math.max(0, entry.timestampMs());
    }

    int punctuate() {
        int fired = timers.fire(instance.nowMs());
        if (instance.nowMs() >= openedMs + BEGUN_AFTER_MS) {
            wokenMs = instance.nowMs();
        }
        if (fired > 0 && slot.role() == SimulatedTaskSlot.Role.DECIDE && flaw == InjectedFlaw.SWEEP_TOO_EARLY) {
            deleteOneState();
        }
        return fired;
    }

    private void deleteOneState() {
        WriteBackStore<?, ?> hot = context.getStateStore(Stores.POLICY_STATES);
        hot.flushCache();
        hot.clearCache();
        KeyValueStore<Bytes, byte[]> states = hot.wrapped();
        try (KeyValueIterator<Bytes, byte[]> all = states.all()) {
            if (all.hasNext()) {
                states.delete(all.next().key);
            }
        }
    }

    private void forward(Record<?, ?> record, String node) {
        byte[] key = (byte[]) record.key();
        if (node.equals(DECIDE)) {
            decide(key, record);
        } else {
            int times = flaw == InjectedFlaw.RELEASED_TWICE && node.equals(RELEASES) ? 2 : 1;
            for (int i = 0; i < times; i++) {
                writes.output(
                        output(node, record.value()), key, bytes(record.value()), record.headers(), record.timestamp());
            }
        }
    }

    private static Output output(String topic, Object value) {
        Integer partition = null;
        if (value instanceof LeaseResponseAvro.Addressed answer) {
            partition = answer.partition();
        } else if (value instanceof QueueMessage.Marker marker) {
            partition = marker.partition();
        } else if (value instanceof QueueMessage.Granted granted) {
            partition = granted.grant().place().partition();
        }
        return new Output(topic, partition);
    }

    private void decide(byte[] key, Record<?, ?> record) {
        DecideInput input = record.value() instanceof RequestToDecide read
                ? new RequestToDecide(seen(read.request()), read.inOrder())
                : (DecideInput) record.value();
        decide.process(new Record<>(key, input, record.timestamp(), record.headers()));
    }

    private Request seen(Request request) {
        return flaw == InjectedFlaw.CLOCK_DECIDES ? at(request, instance.nowMs()) : flaw.seen(request);
    }

    /** Records by what a request was decided, which may be after a wait. */
    private void decided(Request.Source source) {
        if (slot.role() == SimulatedTaskSlot.Role.DECIDE) {
            writes.decidedBy(source, new Used(instance.policies.table(), instance.nowMs()));
        }
    }

    private static Request at(Request r, long timestampMs) {
        return r.toBuilder().timestampMs(timestampMs).build();
    }

    private byte[] bytes(Object value) {
        if (value instanceof Decision decision) {
            decided(decision.source());
            return DECISION.encode(decision);
        }
        if (value instanceof QueueMessage.Granted granted) {
            return QUEUE_MESSAGE.encode(new QueueMessage.Granted(flaw.given(granted.grant())));
        }
        if (value instanceof QueueMessage message) {
            if (message instanceof QueueMessage.Admitted admitted) {
                decided(admitted.admission().request().source());
            }
            return QUEUE_MESSAGE.encode(message);
        }
        if (value instanceof LeaseRequestAvro.Addressed question) {
            return ASK.encode(
                    new LeaseRequestAvro.Addressed(flaw.leaseRequest(question.request()), question.partition()));
        }
        if (value instanceof LeaseResponseAvro.Addressed answer) {
            return GRANT.encode(new LeaseResponseAvro.Addressed(
                    flaw.leaseResponse(answer.response()), answer.holder(), answer.partition()));
        }
        return value instanceof Release release
                ? RELEASE.encode(flaw.written(release, instance.nowMs() * NANOS_PER_MS))
                : (byte[]) value;
    }

    @Override
    public String toString() {
        return slot + " on " + instance;
    }
}
