package dev.weir.storage;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.Shaper;
import dev.weir.shape.backlog.ScheduleSummary;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.timer.TimerKey;
import dev.weir.storage.codec.BucketCodec;
import dev.weir.storage.codec.QueueCodec;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** The queues of a task in its stores. */
public final class StoredQueues implements Shaper.Tables {

    /**
     * The names of the stores.
     *
     * @param states the states of queues, buckets and ledgers, and the commands in effect
     * @param entries the waiting requests
     * @param tickets the place of each waiting request by client and request id
     * @param expiryTimers the expiry timers of requests that can expire before others ahead of them
     * @param timers the due times of buckets that are not on the heap
     * @param schedule the requests that wait for their time
     * @param answers the queues' idempotency cache
     */
    public record StoreNames(
            String states,
            String entries,
            String tickets,
            String expiryTimers,
            String timers,
            String schedule,
            String answers) {}

    /**
     * The stores.
     *
     * @param states the states of queues, buckets and ledgers
     * @param entries the waiting requests
     * @param tickets the place of each waiting request by client and request id
     * @param expiryTimers the expiry timers of requests that can expire before others ahead of them
     * @param timers the due times of buckets that are not on the heap
     * @param schedule the requests that wait for their time
     */
    public record Parts(
            KeyValueStore<Bytes, byte[]> states,
            KeyValueStore<Bytes, byte[]> entries,
            KeyValueStore<Bytes, byte[]> tickets,
            KeyValueStore<Bytes, byte[]> expiryTimers,
            KeyValueStore<Bytes, byte[]> timers,
            KeyValueStore<Bytes, byte[]> schedule) {}

    private static final Bytes END = Bytes.wrap(QueueKeys.end());

    private final QueueCodec codec = new QueueCodec();
    private final KeyValueStore<Bytes, byte[]> states;
    private final KeyValueStore<Bytes, byte[]> entries;
    private final KeyValueStore<Bytes, byte[]> tickets;
    private final KeyValueStore<Bytes, byte[]> expiryTimers;
    private final KeyValueStore<Bytes, byte[]> schedule;
    private final KeyValueTable<TimerKey, BucketId> timerTable;
    private final IdempotencyCache idempotencyCache;
    private final boolean isExact;
    private boolean hasEnd;

    /** @param isExact whether the writes between two commits are restored atomically (exactly-once) */
    public StoredQueues(Parts parts, IdempotencyCache idempotencyCache, boolean isExact) {
        states = parts.states;
        entries = parts.entries;
        tickets = parts.tickets;
        expiryTimers = parts.expiryTimers;
        schedule = parts.schedule;
        timerTable = new StoredTable<>(parts.timers, QueueKeys::timer, QueueKeys::bucket, QueueKeys::readBucket);
        this.idempotencyCache = idempotencyCache;
        this.isExact = isExact;
    }

    public static StoredQueues open(StoreNames names, WeirConfig.State config, ProcessorContext<?, ?> context) {
        Parts parts = new Parts(
                context.getStateStore(names.states()),
                context.getStateStore(names.entries()),
                context.getStateStore(names.tickets()),
                context.getStateStore(names.expiryTimers()),
                context.getStateStore(names.timers()),
                context.getStateStore(names.schedule()));
        boolean isExact = !StreamsConfig.AT_LEAST_ONCE.equals(
                context.appConfigs().get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
        return new StoredQueues(
                parts, StoredIdempotencyCache.open(context.getStateStore(names.answers()), config), isExact);
    }

    @Override
    public QueueStore of(BucketId bucket) {
        byte[] key = QueueKeys.bucket(bucket);
        return new QueueStore(
                new StoredTable<>(entries, place -> QueueKeys.entry(key, place), codec::encode, codec::decodeEntry),
                new StoredTable<>(
                        tickets, ticket -> QueueKeys.ticket(key, ticket), QueueCodec::encode, QueueCodec::decodePlace),
                new StoredTable<>(
                        expiryTimers,
                        timer -> QueueKeys.expiryTimer(key, timer),
                        QueueCodec::encode,
                        QueueCodec::decodePlace),
                new StoredSchedule(schedule, key, codec),
                new StoredTable<>(
                        schedule,
                        ticket -> QueueKeys.scheduleTicket(key, ticket),
                        QueueCodec::encode,
                        QueueCodec::decodeScheduleKey));
    }

    @Override
    public BucketState load(BucketId bucket) {
        byte[] bytes = states.get(key(bucket));
        return bytes == null ? null : BucketCodec.decode(bucket, bytes);
    }

    /** Stores a state, or deletes it. */
    public void store(QueueEffect.StateStored effect) {
        if (effect instanceof QueueEffect.BucketStored bucket) {
            states.put(key(bucket.id()), bucket.state() == null ? null : BucketCodec.encode(bucket.state()));
        } else if (effect instanceof QueueEffect.QueueStored queue) {
            writeEnd();
            Bytes key = Bytes.wrap(QueueKeys.rules(queue.queue()));
            states.put(key, queue.state() == null ? null : QueueCodec.encode(queue.state()));
        } else if (effect instanceof QueueEffect.OrdersStored ordered) {
            writeEnd();
            Bytes key = Bytes.wrap(QueueKeys.orders(ordered.target()));
            states.put(key, ordered.orders() == null ? null : QueueCodec.encode(ordered.orders()));
        } else if (effect instanceof QueueEffect.LastLoanStored last) {
            writeEnd();
            states.put(Bytes.wrap(QueueKeys.lastLoan()), QueueCodec.encodeLastLoan(last.number()));
        } else {
            QueueEffect.LedgerStored ledger = (QueueEffect.LedgerStored) effect;
            writeEnd();
            Bytes key = Bytes.wrap(QueueKeys.ledger(ledger.queue()));
            states.put(key, ledger.state() == null ? null : QueueCodec.encode(ledger.state()));
        }
    }

    private void writeEnd() {
        if (!hasEnd) {
            hasEnd = true;
            states.put(END, new byte[0]);
        }
    }

    @Override
    public KeyValueTable<TimerKey, BucketId> timers() {
        return timerTable;
    }

    private static Bytes key(BucketId bucket) {
        return Bytes.wrap(QueueKeys.bucket(bucket));
    }

    @Override
    public IdempotencyCache idempotencyCache() {
        return idempotencyCache;
    }

    /**
     * Passes on the states. RocksDbIterator does not check the iterator's status, so a scan that meets an unreadable
     * block ends as if there were no more entries. Therefore each scan is checked for completeness.
     *
     * @throws DamagedStoreException if entries are missing
     */
    @Override
    public void readStates(Consumer<QueueEffect.StateStored> read) {
        try (KeyValueIterator<Bytes, byte[]> all = states.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                readState(entry.key.get(), entry.value, read);
            }
        }
        if (isExact && !hasEnd && states.get(END) != null) {
            throw new DamagedStoreException("the store of queues is damaged: some states cannot be read");
        }
    }

    /** Reads one entry. The entry of a queue sorts before those of its buckets. */
    private void readState(byte[] key, byte[] value, Consumer<QueueEffect.StateStored> read) {
        if (QueueKeys.isEnd(key)) {
            hasEnd = true;
            return;
        }
        if (QueueKeys.isLastLoan(key)) {
            read.accept(new QueueEffect.LastLoanStored(QueueCodec.decodeLastLoan(value)));
            return;
        }
        if (QueueKeys.isLedger(key)) {
            read.accept(new QueueEffect.LedgerStored(QueueKeys.readQueue(key), QueueCodec.decodeLedger(value)));
            return;
        }
        if (QueueKeys.isOrders(key)) {
            read.accept(new QueueEffect.OrdersStored(QueueKeys.readOrders(key), QueueCodec.decodeOrders(value)));
            return;
        }
        BucketId bucket = QueueKeys.readBucket(key);
        if (bucket == null) {
            QueueState queue = QueueCodec.decodeQueue(value);
            read.accept(new QueueEffect.QueueStored(queue.rules().id(), queue));
            return;
        }
        BucketState state = withSchedule(BucketCodec.decode(bucket, value));
        boolean isComplete = isExact || hasTimers(state);
        read.accept(new QueueEffect.BucketStored(bucket, isComplete ? state : state.withTimers(List.of())));
    }

    /** Without exactly-once, a crash can leave a state without some requests, or requests without the state. */
    private BucketState withSchedule(BucketState state) {
        if (isExact) {
            return state;
        }
        StoredSchedule stored = new StoredSchedule(schedule, QueueKeys.bucket(state.id()), codec);
        Optional<ScheduleKey> first = Optional.ofNullable(stored.firstFrom(ScheduleKey.LEAST));
        return state.withSchedule(new ScheduleSummary(stored.count(), first));
    }

    /** Returns false if a crash left a state without its timers, which is possible without exactly-once. */
    private boolean hasTimers(BucketState state) {
        return state.timers().stream().allMatch(timer -> timerTable.get(timer) != null);
    }

    /** @throws DamagedStoreException if entries are missing */
    @Override
    public void readWaiting(BucketId bucket, BiConsumer<QueueStore.Place, QueueEntry> requests) {
        long withTicket = 0;
        try (KeyValueIterator<Bytes, byte[]> all = entries.range(key(bucket), end(bucket))) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                QueueEntry read = codec.decodeEntry(entry.value);
                if (!(read instanceof QueueEntry.Gap)) {
                    requests.accept(QueueKeys.readEntry(entry.key.get()).place(), read);
                    withTicket += hasTicket(read) ? 1 : 0;
                }
            }
        }
        requireTickets(bucket, withTicket);
    }

    private static boolean hasTicket(QueueEntry entry) {
        return entry instanceof QueueEntry.Attempted attempted
                ? attempted.request().hasTicket()
                : ((QueueEntry.Waiting) entry).hasTicket();
    }

    private void requireTickets(BucketId bucket, long expected) {
        long found = 0;
        try (KeyValueIterator<Bytes, byte[]> all = tickets.range(key(bucket), end(bucket))) {
            for (; all.hasNext(); all.next()) {
                found++;
            }
        }
        if (isExact && found != expected) { // without exactly-once, a crash can leave one without the other
            throw new DamagedStoreException("the store of queue " + bucket.queue() + " is damaged: a bucket has "
                    + expected + " requests with a ticket, but " + found + " tickets");
        }
    }

    /** Returns a key after all keys of a bucket: no text starts with the byte 0xFF. */
    private static Bytes end(BucketId bucket) {
        byte[] key = QueueKeys.bucket(bucket);
        byte[] end = Arrays.copyOf(key, key.length + 1);
        end[key.length] = (byte) 0xFF;
        return Bytes.wrap(end);
    }
}
