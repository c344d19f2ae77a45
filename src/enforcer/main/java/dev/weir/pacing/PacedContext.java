package dev.weir.pacing;

import java.io.File;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.Punctuator;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * A context whose timers are of the wall clock, end polls when they are due and count as work, and whose {@link #commit}
 * asks for a commit soon instead of at once.
 */
final class PacedContext<K, V> implements ProcessorContext<K, V> {

    private final ProcessorContext<K, V> context;
    private final ThreadPace pace;

    PacedContext(ProcessorContext<K, V> context, ThreadPace pace) {
        this.context = context;
        this.pace = pace;
    }

    @Override
    public Cancellable schedule(Duration every, PunctuationType type, Punctuator punctuator) {
        if (type != PunctuationType.WALL_CLOCK_TIME) {
            throw new UnsupportedOperationException(type.toString());
        }
        ThreadPace.Timer timer = pace.timer(every, context);
        Cancellable scheduled = context.schedule(every, type, atMs -> {
            timer.restart();
            punctuator.punctuate(atMs);
            pace.work(context);
        });
        return () -> {
            timer.cancel();
            scheduled.cancel();
        };
    }

    @Override
    public Cancellable schedule(Instant from, Duration every, PunctuationType type, Punctuator punctuator) {
        throw new UnsupportedOperationException("a timer with a first time");
    }

    @Override
    public void commit() {
        pace.hurry(context);
    }

    @Override
    public <A extends K, B extends V> void forward(Record<A, B> record) {
        context.forward(record);
    }

    @Override
    public <A extends K, B extends V> void forward(Record<A, B> record, String child) {
        context.forward(record, child);
    }

    @Override
    public String applicationId() {
        return context.applicationId();
    }

    @Override
    public TaskId taskId() {
        return context.taskId();
    }

    @Override
    public Optional<RecordMetadata> recordMetadata() {
        return context.recordMetadata();
    }

    @Override
    public Serde<?> keySerde() {
        return context.keySerde();
    }

    @Override
    public Serde<?> valueSerde() {
        return context.valueSerde();
    }

    @Override
    public File stateDir() {
        return context.stateDir();
    }

    @Override
    public StreamsMetrics metrics() {
        return context.metrics();
    }

    @Override
    @SuppressWarnings("TypeParameterUnusedInFormals") // as in Kafka Streams
    public <S extends StateStore> S getStateStore(String name) {
        return context.getStateStore(name);
    }

    @Override
    public Map<String, Object> appConfigs() {
        return context.appConfigs();
    }

    @Override
    public Map<String, Object> appConfigsWithPrefix(String prefix) {
        return context.appConfigsWithPrefix(prefix);
    }

    @Override
    public long currentSystemTimeMs() {
        return context.currentSystemTimeMs();
    }

    @Override
    public long currentStreamTimeMs() {
        return context.currentStreamTimeMs();
    }
}
