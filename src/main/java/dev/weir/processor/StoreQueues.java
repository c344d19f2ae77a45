package dev.weir.processor;

import dev.weir.codec.QueueCodec;
import dev.weir.codec.QueueKeys;
import dev.weir.config.WeirConfig;
import dev.weir.policy.FirstAnswers;
import dev.weir.shape.QueueState;
import dev.weir.shape.QueueStore;
import dev.weir.shape.Shaper;
import dev.weir.shape.Slot;
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
    public QueueStore of(String queue) {
        return new QueueStore(
                new StoreTable<>(slots, place -> QueueKeys.slot(queue, place), codec::encode, codec::decodeSlot),
                new StoreTable<>(
                        tickets,
                        ticket -> QueueKeys.ticket(queue, ticket),
                        QueueCodec::encode,
                        QueueCodec::decodePlace),
                new StoreTable<>(
                        alarms, alarm -> QueueKeys.alarm(queue, alarm), QueueCodec::encode, QueueCodec::decodePlace));
    }

    @Override
    public void save(QueueState state) {
        states.put(Bytes.wrap(QueueKeys.queue(state.rules().id())), QueueCodec.encode(state));
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
            all.forEachRemaining(entry -> shaper.restore(QueueCodec.decodeState(entry.value)));
        }
        try (KeyValueIterator<Bytes, byte[]> all = slots.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, byte[]> entry = all.next();
                if (codec.decodeSlot(entry.value) instanceof Slot.Waiting waiting) {
                    QueueKeys.SlotKey key = QueueKeys.readSlot(entry.key.get());
                    shaper.restore(key.queue(), key.place(), waiting);
                    withTicket += waiting.hasTicket() ? 1 : 0;
                }
            }
        }
        requireTickets(withTicket);
        shaper.resume();
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
