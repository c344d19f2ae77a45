package dev.weir.storage;

import dev.weir.config.WeirConfig;
import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.KeyValueTable;
import dev.weir.shape.BucketState;
import dev.weir.shape.QueueState;
import dev.weir.shape.Shaper;
import dev.weir.shape.TimerKey;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueStore;
import dev.weir.shape.backlog.Slot;
import dev.weir.shape.total.OutflowState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** The queues of a task, in its stores. */
public final class StoredQueues implements Shaper.Stores {

    /** The stores: the states of queues and buckets, slots, tickets, alarms and timers; the queues' first answers. */
    public record StoreNames(
            String states, String slots, String tickets, String alarms, String timers, String answers) {}

    /**
     * Where queues are kept.
     *
     * @param states of queues, buckets and ledgers
     * @param slots requests that wait
     * @param tickets where a request waits
     * @param alarms when requests expire that may do so before others ahead of them
     * @param timers when the buckets are due that are not on the heap
     */
    public record Parts(
            KeyValueStore<Bytes, byte[]> states,
            KeyValueStore<Bytes, byte[]> slots,
            KeyValueStore<Bytes, byte[]> tickets,
            KeyValueStore<Bytes, byte[]> alarms,
            KeyValueStore<Bytes, byte[]> timers) {}

    private static final Bytes END = Bytes.wrap(QueueKeys.end());

    private final QueueCodec codec = new QueueCodec();
    private final KeyValueStore<Bytes, byte[]> states;
    private final KeyValueStore<Bytes, byte[]> slots;
    private final KeyValueStore<Bytes, byte[]> tickets;
    private final KeyValueStore<Bytes, byte[]> alarms;
    private final KeyValueTable<TimerKey, BucketId> timerTable;
    private final IdempotencyCache firstAnswers;
    private final boolean isExact;
    private boolean hasEnd;

    /** @param isExact whether what is written between two commits is there as a whole or not at all */
    public StoredQueues(Parts parts, IdempotencyCache firstAnswers, boolean isExact) {
        states = parts.states;
        slots = parts.slots;
        tickets = parts.tickets;
        alarms = parts.alarms;
        timerTable = new StoredTable<>(parts.timers, QueueKeys::timer, QueueKeys::bucket, QueueKeys::readBucket);
        this.firstAnswers = firstAnswers;
        this.isExact = isExact;
    }

    public static StoredQueues open(StoreNames names, WeirConfig.State config, ProcessorContext<?, ?> context) {
        Parts parts = new Parts(
                context.getStateStore(names.states()),
                context.getStateStore(names.slots()),
                context.getStateStore(names.tickets()),
                context.getStateStore(names.alarms()),
                context.getStateStore(names.timers()));
        boolean isExact = !StreamsConfig.AT_LEAST_ONCE.equals(
                context.appConfigs().get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
        return new StoredQueues(parts, StoredAnswers.open(context.getStateStore(names.answers()), config), isExact);
    }

    @Override
    public QueueStore of(BucketId bucket) {
        return new QueueStore(
                new StoredTable<>(slots, place -> QueueKeys.slot(bucket, place), codec::encode, codec::decodeSlot),
                new StoredTable<>(
                        tickets,
                        ticket -> QueueKeys.ticket(bucket, ticket),
                        QueueCodec::encode,
                        QueueCodec::decodePlace),
                new StoredTable<>(
                        alarms, alarm -> QueueKeys.alarm(bucket, alarm), QueueCodec::encode, QueueCodec::decodePlace));
    }

    @Override
    public BucketState load(BucketId bucket) {
        byte[] bytes = states.get(key(bucket));
        return bytes == null ? null : BucketCodec.decode(bucket, bytes);
    }

    @Override
    public void save(BucketState state) {
        states.put(key(state.id()), BucketCodec.encode(state));
    }

    @Override
    public void save(QueueState state) {
        if (!hasEnd) {
            hasEnd = true;
            states.put(END, new byte[0]);
        }
        states.put(Bytes.wrap(QueueKeys.rules(state.rules().id())), QueueCodec.encode(state));
    }

    @Override
    public KeyValueTable<TimerKey, BucketId> timers() {
        return timerTable;
    }

    @Override
    public void delete(BucketId bucket) {
        states.put(key(bucket), null);
    }

    @Override
    public void saveLedger(String queue, OutflowState slotsGiven) {
        states.put(Bytes.wrap(QueueKeys.ledger(queue)), QueueCodec.encode(slotsGiven));
    }

    @Override
    public void deleteLedger(String queue) {
        states.put(Bytes.wrap(QueueKeys.ledger(queue)), null);
    }

    private static Bytes key(BucketId bucket) {
        return Bytes.wrap(QueueKeys.bucket(bucket));
    }

    @Override
    public IdempotencyCache firstAnswers() {
        return firstAnswers;
    }

    /**
     * Restores a new shaper: reads the state of every bucket once, and the slots of those whose states do not list what
     * waits. A walk over a store that comes to a block which cannot be read ends as if nothing came after it
     * (RocksDbIterator asks for no status), so it is checked that each walk has found all there is.
     *
     * @throws DamagedStoreException if it is not all there
     */
    public void restore(Shaper shaper) {
        List<BucketId> unlisted = new ArrayList<>();
        try (KeyValueIterator<Bytes, byte[]> all = states.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                restore(entry.key.get(), entry.value, shaper, unlisted);
            }
        }
        if (isExact && !hasEnd && states.get(END) != null) {
            throw new DamagedStoreException("some states of queues cannot be read");
        }
        unlisted.forEach(bucket -> restoreSlots(bucket, shaper));
        shaper.resume();
    }

    /** A queue comes before its buckets. */
    private void restore(byte[] key, byte[] value, Shaper shaper, List<BucketId> unlisted) {
        if (QueueKeys.isEnd(key)) {
            hasEnd = true;
            return;
        }
        if (QueueKeys.isLedger(key)) {
            shaper.restore(QueueKeys.readQueue(key), QueueCodec.decodeOutflow(value));
            return;
        }
        BucketId bucket = QueueKeys.readBucket(key);
        if (bucket == null) {
            shaper.restore(QueueCodec.decodeQueue(value));
            return;
        }
        BucketState state = BucketCodec.decode(bucket, value);
        shaper.restore(isExact || hasTimers(state) ? state : state.withTimers(List.of()));
        if (state.contents() == null) {
            unlisted.add(bucket);
        }
    }

    /** A crash may have left a state without its timers where they are not written together. */
    private boolean hasTimers(BucketState state) {
        return state.timers().stream().allMatch(timer -> timerTable.get(timer) != null);
    }

    private void restoreSlots(BucketId bucket, Shaper shaper) {
        long withTicket = 0;
        try (KeyValueIterator<Bytes, byte[]> all = slots.range(key(bucket), end(bucket))) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                if (codec.decodeSlot(entry.value) instanceof Slot.Waiting waiting) {
                    shaper.restore(bucket, QueueKeys.readSlot(entry.key.get()).place(), waiting);
                    withTicket += waiting.hasTicket() ? 1 : 0;
                }
            }
        }
        requireTickets(bucket, withTicket);
    }

    private void requireTickets(BucketId bucket, long expected) {
        long found = 0;
        try (KeyValueIterator<Bytes, byte[]> all = tickets.range(key(bucket), end(bucket))) {
            for (; all.hasNext(); all.next()) {
                found++;
            }
        }
        if (isExact && found != expected) { // else a crash may have left one without the other
            throw new DamagedStoreException(expected + " requests that wait in a bucket of queue " + bucket.queue()
                    + " have a ticket, and there are " + found);
        }
    }

    /** Behind all keys of a bucket: no text that follows begins with this byte. */
    private static Bytes end(BucketId bucket) {
        byte[] key = QueueKeys.bucket(bucket);
        byte[] end = Arrays.copyOf(key, key.length + 1);
        end[key.length] = (byte) 0xFF;
        return Bytes.wrap(end);
    }
}
