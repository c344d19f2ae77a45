package dev.weir.processor;

import dev.weir.codec.QueueCodec;
import dev.weir.codec.QueueKeys;
import dev.weir.config.WeirConfig;
import dev.weir.policy.FirstAnswers;
import dev.weir.shape.BucketId;
import dev.weir.shape.BucketState;
import dev.weir.shape.QueueRules;
import dev.weir.shape.QueueStore;
import dev.weir.shape.Shaper;
import dev.weir.shape.Slot;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** The queues of a task, in its stores. */
final class StoreQueues implements Shaper.Stores {

    private final QueueCodec codec = new QueueCodec();
    private final KeyValueStore<Bytes, byte[]> states;
    private final KeyValueStore<Bytes, byte[]> slots;
    private final KeyValueStore<Bytes, byte[]> tickets;
    private final KeyValueStore<Bytes, byte[]> alarms;
    private final FirstAnswers firstAnswers;

    /** As they are stored. */
    private final Map<String, QueueRules> rules = new HashMap<>();

    private final boolean isExact;

    StoreQueues(Shape.StoreNames names, WeirConfig.State config, ProcessorContext<?, ?> context) {
        states = context.getStateStore(names.states());
        slots = context.getStateStore(names.slots());
        tickets = context.getStateStore(names.tickets());
        alarms = context.getStateStore(names.alarms());
        firstAnswers = StoreFirstAnswers.open(context.getStateStore(names.answers()), config);
        isExact = !StreamsConfig.AT_LEAST_ONCE.equals(
                context.appConfigs().get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
    }

    @Override
    public QueueStore of(BucketId bucket) {
        return new QueueStore(
                new StoreTable<>(slots, place -> QueueKeys.slot(bucket, place), codec::encode, codec::decodeSlot),
                new StoreTable<>(
                        tickets,
                        ticket -> QueueKeys.ticket(bucket, ticket),
                        QueueCodec::encode,
                        QueueCodec::decodePlace),
                new StoreTable<>(
                        alarms, alarm -> QueueKeys.alarm(bucket, alarm), QueueCodec::encode, QueueCodec::decodePlace));
    }

    @Override
    public void save(BucketState state) {
        QueueRules current = state.rules();
        QueueRules stored = rules.put(current.id(), current);
        if (stored != current && !current.equals(stored)) {
            states.put(Bytes.wrap(QueueKeys.rules(current.id())), QueueCodec.encode(current));
        }
        states.put(key(state.id()), QueueCodec.encode(state.outflow()));
    }

    @Override
    public void delete(BucketId bucket) {
        states.delete(key(bucket));
    }

    private static Bytes key(BucketId bucket) {
        return Bytes.wrap(QueueKeys.bucket(bucket));
    }

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }

    /**
     * Tells a new shaper what there is: reads every slot once, whose keys are in the order of their flows.
     *
     * @throws DamagedStoreException if it is not all there
     */
    void restore(Shaper shaper) {
        long withTicket = 0;
        try (KeyValueIterator<Bytes, byte[]> all = states.all()) {
            all.forEachRemaining(entry -> restore(entry.key.get(), entry.value, shaper));
        }
        try (KeyValueIterator<Bytes, byte[]> all = slots.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                if (codec.decodeSlot(entry.value) instanceof Slot.Waiting waiting) {
                    QueueKeys.SlotKey key = QueueKeys.readSlot(entry.key.get());
                    if (!shaper.restore(key.bucket(), key.place(), waiting)) {
                        throw new DamagedStoreException("requests wait in a bucket of queue "
                                + key.bucket().queue() + " that has no state");
                    }
                    withTicket += waiting.hasTicket() ? 1 : 0;
                }
            }
        }
        requireTickets(withTicket);
        shaper.resume();
    }

    /** A queue's rules come before its buckets. */
    private void restore(byte[] key, byte[] value, Shaper shaper) {
        BucketId bucket = QueueKeys.readBucket(key);
        if (bucket == null) {
            QueueRules last = QueueCodec.decodeRules(value);
            rules.put(last.id(), last);
        } else {
            shaper.restore(new BucketState(bucket, rules.get(bucket.queue()), QueueCodec.decodeOutflow(value)));
        }
    }

    /** A walk that comes to a block which cannot be read ends as if nothing came after (RocksDbIterator asks for no status). */
    private void requireTickets(long expected) {
        long found = 0;
        try (KeyValueIterator<Bytes, byte[]> all = tickets.all()) {
            for (; all.hasNext(); all.next()) {
                found++;
            }
        }
        if (isExact && found != expected) { // else a crash may have left one without the other
            throw new DamagedStoreException(expected + " requests that wait have a ticket, and there are " + found);
        }
    }
}
