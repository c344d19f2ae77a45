package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.event.Admission;
import dev.weir.shape.Shaper;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotReport;
import dev.weir.storage.QueueMarker;
import dev.weir.storage.SlotCodec;
import dev.weir.storage.StoredQueues;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.UnreadableException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Admits requests to their queues and schedules a tick for the next release. An idle queue needs no ticks. Time is
 * the broker's, as estimated by {@link QueueTime}: while requests wait, the task sends itself a {@link QueueMarker}
 * every second.
 */
public final class Shape implements Processor<byte[], byte[], byte[], Object> {

    /** The maximum number of steps per tick, so that records are read in between. */
    private static final int STEPS_A_TICK = 5_000;

    /** While requests wait, changed rules are applied after this time at the latest. */
    private static final long MAX_TICK_MS = 500;

    /** The names of the nodes that receive the output. */
    public record Outlets(
            String decisions, String replies, String releases, String markers, String slots, String deadLetters) {}

    /**
     * A read-only query on the queues.
     *
     * @param <T> the type of the result
     */
    public interface QueueQuery<T> {

        /** @param nowNanos the queue time in nanoseconds */
        T answer(Shaper shaper, long nowNanos);
    }

    private final AdmissionAvro avro = new AdmissionAvro();
    private final PolicyRegistry policies;
    private final WeirConfig config;
    private final EnforcerMetrics metrics;
    private final StoredQueues.StoreNames stores;
    private final Outlets outlets;
    private final ReplyPartitions replies;
    private final QueueRegistry live;
    private final ReentrantLock working = new ReentrantLock(true); // fair, so that queries run between two records
    private final TickScheduler ticks = new TickScheduler(this::tick);
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;
    private Shaper shaper; // null while there is no task
    private QueueTime time;
    private long changesSeen;

    public Shape(
            PolicyRegistry policies,
            QueueRegistry live,
            EnforcerMetrics counts,
            WeirConfig config,
            StoredQueues.StoreNames stores,
            Outlets outlets,
            ReplyPartitions replies) {
        this.policies = policies;
        this.metrics = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.replies = replies;
        this.live = live;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
        StoredQueues queues = StoredQueues.open(stores, config.state(), context);
        ReplyForwarder toRequesters = new ReplyForwarder(context, outlets.replies, replies, metrics);
        QueueForwarder forwarder =
                new QueueForwarder(context, outlets, toRequesters, metrics, policies::queue, this::nowMs);
        Shaper restored = new Shaper(
                policies::queue, queues, forwarder, forwarder, config.shaping().hotKeys());
        queues.restore(restored);
        work(() -> {
            shaper = restored;
            time = new QueueTime(restored.lastWriteMs());
        });
        changesSeen = -1;
        ticks.open(context);
        planTick();
        live.open(context.taskId().partition(), this);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        long appendMs = Math.min(record.timestamp(), Shaper.MAX_TIME_MS);
        long localMs = context.currentSystemTimeMs();
        Optional<QueueMarker> marker = QueueMarker.read(record.key(), record.value(), metadata.partition());
        if (marker.isPresent()) {
            work(() -> {
                if (time.readMarker(marker.get(), appendMs, localMs)) {
                    shaper.stepBack(time.nanos(localMs));
                }
                planTick();
            });
            return;
        }
        Consumer<Long> action;
        try {
            action = action(record, metadata.offset(), appendMs);
        } catch (UnreadableException e) {
            rejections.reject(record, e);
            return;
        }
        work(() -> {
            time.read(appendMs, localMs);
            action.accept(time.nanos(localMs));
            sendMarker(localMs, time.isAheadOf(appendMs, localMs));
            planTick();
        });
    }

    /** Returns the action of a record, which accepts the queue time in nanoseconds. */
    private Consumer<Long> action(Record<byte[], byte[]> record, long offset, long appendMs)
            throws UnreadableException {
        if (record.key() == null && SlotCodec.isReport(record.value())) {
            SlotReport report = SlotCodec.decodeReport(record.value());
            return nowNanos -> shaper.receive(report, nowNanos);
        }
        if (record.key() == null && SlotCodec.isGrant(record.value())) {
            SlotGrant grant = SlotCodec.decodeGrant(record.value());
            return nowNanos -> shaper.receive(grant, nowNanos);
        }
        Admission admission = avro.decode(record.value());
        return nowNanos -> shaper.admit(admission, offset, appendMs, nowNanos);
    }

    /**
     * Sends a marker if one is due and needed.
     *
     * @param isLate whether a record was read that was appended long before queue time: the task lags, or the broker's
     *     clock was set back
     */
    private void sendMarker(long localMs, boolean isLate) {
        if (time.isMarkerDue(localMs) && (isLate || shaper.needsTime() || mustSynchronize())) {
            QueueMarker marker = time.nextMarker(context.taskId().partition(), localMs);
            context.forward(new Record<>(null, marker, time.ms(localMs)), outlets.markers);
        }
    }

    /** Returns whether work has to wait for the first marker, such as restored buckets that may be idle by now. */
    private boolean mustSynchronize() {
        return !time.isSynchronized() && shaper.dueNanos() < Long.MAX_VALUE;
    }

    @Override
    public void close() {
        live.close(context.taskId().partition(), this);
        work(() -> shaper = null);
    }

    /** Runs a read-only query on the queues. Returns empty if they are busy for longer, or the task is closed. */
    <T> Optional<T> query(Duration patience, QueueQuery<T> question) {
        try {
            if (!working.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                return Optional.empty();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
        try {
            return Optional.ofNullable(shaper)
                    .map(queues -> question.answer(queues, time.nanos(context.currentSystemTimeMs())));
        } finally {
            working.unlock();
        }
    }

    /** Returns the queue time in milliseconds. */
    private long nowMs() {
        return time.ms(context.currentSystemTimeMs());
    }

    private void work(Runnable step) {
        working.lock();
        try {
            step.run();
        } finally {
            working.unlock();
        }
    }

    private void tick() {
        long localMs = context.currentSystemTimeMs();
        work(() -> {
            long changes = policies.changes();
            if (time.isSynchronized()) {
                long nowNanos = time.nanos(localMs);
                if (changes != changesSeen) {
                    changesSeen = changes;
                    shaper.refresh(nowNanos);
                }
                shaper.tick(nowNanos, STEPS_A_TICK);
            }
            sendMarker(localMs, false);
            planTick();
        });
    }

    private void planTick() {
        long dueNanos = shaper.dueNanos();
        if (dueNanos == Long.MAX_VALUE) {
            return;
        }
        long localMs = context.currentSystemTimeMs();
        long dueInMs = time.untilMs(dueNanos, localMs);
        long mostMs = shaper.needsTime() || !time.isSynchronized() ? MAX_TICK_MS : Long.MAX_VALUE;
        ticks.request(localMs + (time.isSynchronizing() ? MAX_TICK_MS : Math.min(mostMs, dueInMs)), localMs);
    }
}
