package dev.weir.simulation;

import dev.weir.codec.AdmissionAvro;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.ReleaseAvro;
import dev.weir.codec.RequestAvro;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.processor.CheckPolicies;
import dev.weir.processor.Decide;
import dev.weir.processor.HotStates;
import dev.weir.processor.LiveCounts;
import dev.weir.processor.ReadRequests;
import dev.weir.processor.Shape;
import dev.weir.shape.Release;
import dev.weir.simulation.Partition.Entry;
import dev.weir.topology.Stores;
import java.util.ArrayList;
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

/** A task on an instance: the processors of the product, on the stores that the instance has of it. */
final class Task {

    private static final String DECIDE = "decide";
    private static final String DECISIONS = Slot.TOPICS.decisions();
    private static final String ADMISSIONS = Slot.TOPICS.admissions();
    private static final String LEASE_ASKS = Slot.TOPICS.leaseAsks();
    private static final String RELEASES = Slot.TOPICS.releases();
    private static final String POLICIES = Slot.TOPICS.policies();
    private static final String DEAD_LETTERS = Slot.TOPICS.deadLetters();

    static final Decide.StoreNames DECIDE_STORES = new Decide.StoreNames(
            Stores.POLICY_STATES,
            Stores.LOG_SEGMENTS,
            Stores.FIRST_ANSWERS,
            Stores.LEASE_BOOKS,
            Stores.WAITING_REQUESTS);
    static final Shape.StoreNames SHAPE_STORES = new Shape.StoreNames(
            Stores.QUEUE_STATES,
            Stores.QUEUE_SLOTS,
            Stores.QUEUE_TICKETS,
            Stores.QUEUE_ALARMS,
            Stores.QUEUE_FIRST_ANSWERS);
    static final Shape.Outlets SHAPE_OUTLETS = new Shape.Outlets(DECISIONS, RELEASES, DEAD_LETTERS);

    private static final Set<String> HOT = Set.of(Stores.POLICY_STATES, Stores.LEASE_BOOKS);

    private static final DecisionAvro DECISION = new DecisionAvro();
    private static final AdmissionAvro ADMISSION = new AdmissionAvro();
    private static final ReleaseAvro RELEASE = new ReleaseAvro();
    private static final long NANOS_PER_MS = 1_000_000;

    /** Where a task's writes go, all in one transaction. */
    interface Writes {
        void output(String topic, byte[] key, byte[] value, Headers headers, long timestampMs);

        void changelog(Slot slot, String store, byte[] key, byte[] value);

        void decidedBy(Request.Source source, PolicyTable policies);
    }

    final Slot slot;
    private final Instance instance;
    private final Writes writes;
    private final Flaw flaw;
    private final List<Processor<?, ?, ?, ?>> processors = new ArrayList<>();
    private final Timers timers;
    private final Map<String, StateStore> stores = new LinkedHashMap<>();
    private LocalState state;
    private Context<byte[], Object> context;
    private Consumer<Record<byte[], byte[]>> first;
    private Processor<byte[], Object, byte[], Object> decide;
    private long position;

    Task(Slot slot, Instance instance, Writes writes, WeirConfig.State config, Flaw flaw) {
        this.slot = slot;
        this.instance = instance;
        this.writes = writes;
        this.flaw = flaw;
        timers = new Timers(flaw);
        make(config);
        slot.role().stores.forEach(this::makeStore);
    }

    private void makeStore(String name) {
        HeapStore<Bytes> store = new HeapStore<>(
                name, () -> state.store(name), (key, value) -> writes.changelog(slot, name, key.get(), value), flaw);
        stores.put(name, HOT.contains(name) ? new HotStates(store, instance.hotMemory) : store);
    }

    private void make(WeirConfig.State config) {
        switch (slot.role()) {
            case DECIDE -> {
                ReadRequests read = new ReadRequests(
                        new RequestAvro(),
                        WeirConfig.DEFAULTS.requests().rules(),
                        new LiveCounts(),
                        DECIDE,
                        DEAD_LETTERS);
                decide = new Decide(
                        instance.policies,
                        new LiveCounts(),
                        withState(config),
                        DECIDE_STORES,
                        new Decide.Outlets(DECISIONS, ADMISSIONS, LEASE_ASKS));
                processors.addAll(List.of(read, decide));
                first = read::process;
            }
            case SHAPE -> {
                Shape shape = new Shape(
                        instance.policies, instance.queues, new LiveCounts(), config, SHAPE_STORES, SHAPE_OUTLETS);
                processors.add(shape);
                first = shape::process;
            }
            case CHECK -> {
                CheckPolicies check = new CheckPolicies(
                        new LiveCounts(), Stores.GOOD_POLICIES, new CheckPolicies.Outlets(POLICIES, DEAD_LETTERS));
                processors.add(check);
                first = check::process;
            }
        }
    }

    private static WeirConfig withState(WeirConfig.State state) {
        WeirConfig from = WeirConfig.DEFAULTS;
        return new WeirConfig(
                from.applicationId(),
                from.threads(),
                from.topics(),
                state,
                from.requests(),
                from.shaping(),
                from.service(),
                from.kafka());
    }

    /** Begins, or goes on after a failure as the same object. */
    @SuppressWarnings({"unchecked", "rawtypes"}) // processors differ in what they forward
    void open(LocalState restored, long from) {
        state = restored;
        position = from;
        context = new Context<>(slot.partition(), instance::nowMs, timers, this::forward);
        for (StateStore store : stores.values()) {
            if (flaw != Flaw.HEAP_SURVIVES_ABORT) {
                store.init(null, store);
            }
            context.add(store);
        }
        processors.forEach(processor -> ((Processor) processor).init(context));
    }

    void close() {
        processors.forEach(Processor::close);
        if (flaw != Flaw.HEAP_SURVIVES_ABORT) {
            stores.values().forEach(StateStore::close);
        }
    }

    /** Writes what is only on the heap. */
    void flush() {
        for (StateStore store : stores.values()) {
            if (store instanceof CachedStateStore<?, ?> cached) {
                cached.flushCache();
            }
        }
    }

    LocalState state() {
        return state;
    }

    long position() {
        return position;
    }

    int timers() {
        return timers.size();
    }

    /** Takes one record; false if there is none. */
    boolean step(Partition input) {
        Entry entry = input.next(position);
        if (entry == null) {
            return false;
        }
        position = entry.offset() + 1;
        context.setRecord(entry);
        Record<byte[], byte[]> record =
                new Record<>(entry.key(), entry.value(), Math.max(0, entry.timestampMs()), entry.headers());
        first.accept(record);
        return true;
    }

    int punctuate() {
        int fired = timers.fire(instance.nowMs());
        if (fired > 0 && slot.role() == Slot.Role.DECIDE && flaw == Flaw.SWEEP_TOO_EARLY) {
            forgetOne();
        }
        return fired;
    }

    private void forgetOne() {
        HotStates hot = context.getStateStore(Stores.POLICY_STATES);
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
            decide((Request) record.value(), key, record);
        } else {
            int times = flaw == Flaw.RELEASED_TWICE && node.equals(RELEASES) ? 2 : 1;
            for (int i = 0; i < times; i++) {
                writes.output(node, key, bytes(record.value()), record.headers(), record.timestamp());
            }
        }
    }

    private void decide(Request request, byte[] key, Record<?, ?> record) {
        writes.decidedBy(request.source(), instance.policies.table());
        Request seen = flaw == Flaw.CLOCK_DECIDES ? at(request, instance.nowMs()) : flaw.seen(request);
        decide.process(new Record<>(key, seen, record.timestamp(), record.headers()));
    }

    private static Request at(Request r, long timestampMs) {
        return new Request(
                r.requestId(),
                r.client(),
                r.kind(),
                r.tier(),
                r.cost(),
                r.sizeBytes(),
                r.attributes(),
                r.deadlineMs(),
                r.payload(),
                r.queue(),
                timestampMs,
                r.source());
    }

    private byte[] bytes(Object value) {
        if (value instanceof Decision decision) {
            return DECISION.encode(decision);
        }
        if (value instanceof Admission admission) {
            return ADMISSION.encode(admission);
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
