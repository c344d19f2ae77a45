package dev.weir.simulation.cluster;

import java.io.File;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.Punctuator;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** The processor context of one task. */
public final class SimulatedContext<K, V> implements ProcessorContext<K, V> {

    private record Place(String topic, int partition, long offset) implements RecordMetadata {}

    private final int partition;
    private final LongSupplier clock;
    private final SimulatedTimers timers;
    private final BiConsumer<Record<?, ?>, String> sinks;
    private final Map<String, StateStore> stores = new HashMap<>();
    private RecordMetadata metadata;

    /** @param sinks receive forwarded records, with the name of the receiving node */
    public SimulatedContext(
            int partition, LongSupplier clock, SimulatedTimers timers, BiConsumer<Record<?, ?>, String> sinks) {
        this.partition = partition;
        this.clock = clock;
        this.timers = timers;
        this.sinks = sinks;
    }

    public void add(StateStore store) {
        stores.put(store.name(), store);
    }

    void setRecord(SimulatedPartition.Entry entry) {
        metadata = new Place(entry.partition().topic, entry.partition().number, entry.offset());
    }

    @Override
    public <K1 extends K, V1 extends V> void forward(Record<K1, V1> record, String node) {
        sinks.accept(record, node);
    }

    @Override
    public <K1 extends K, V1 extends V> void forward(Record<K1, V1> record) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Cancellable schedule(Duration every, PunctuationType type, Punctuator punctuator) {
        return timers.schedule(every.toMillis(), clock.getAsLong(), punctuator);
    }

    @Override
    public Cancellable schedule(Instant from, Duration every, PunctuationType type, Punctuator punctuator) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Optional<RecordMetadata> recordMetadata() {
        return Optional.ofNullable(metadata);
    }

    @Override
    public TaskId taskId() {
        return new TaskId(0, partition);
    }

    @Override
    public long currentSystemTimeMs() {
        return clock.getAsLong();
    }

    @Override
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // as Kafka Streams does
    public <S extends StateStore> S getStateStore(String name) {
        return (S) stores.get(name);
    }

    @Override
    public void commit() {}

    @Override
    public String applicationId() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Serde<?> keySerde() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Serde<?> valueSerde() {
        throw new UnsupportedOperationException();
    }

    @Override
    public File stateDir() {
        throw new UnsupportedOperationException();
    }

    @Override
    public StreamsMetrics metrics() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Map<String, Object> appConfigs() {
        return Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    }

    @Override
    public Map<String, Object> appConfigsWithPrefix(String prefix) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long currentStreamTimeMs() {
        throw new UnsupportedOperationException();
    }
}
