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
 * Lets requests into their queues, and wakes up when one may leave. An idle queue wakes nobody. Time is that of the
 * broker, as the {@link QueueTime} estimates it: while requests wait, the task sends itself a {@link QueueMarker} each
 * second.
 */
public final class Shape implements Processor<byte[], byte[], byte[], Object> {

    /** How much is done before records are read again. */
    private static final int STEPS_A_TICK = 5_000;

    /** While something waits, rules that have changed are seen at the latest after this. */
    private static final long MAX_TICK_MS = 500;

    /** The nodes that take what comes out. */
    public record Outlets(String decisions, String releases, String markers, String slots, String deadLetters) {}

    /**
     * A question to the queues that leaves them as they are.
     *
     * @param <T> the answer
     */
    public interface QueueQuery<T> {

        /** @param nowNanos queue time */
        T answer(Shaper shaper, long nowNanos);
    }

    private final AdmissionAvro avro = new AdmissionAvro();
    private final PolicyRegistry policies;
    private final WeirConfig config;
    private final EnforcerMetrics metrics;
    private final StoredQueues.StoreNames stores;
    private final Outlets outlets;
    private final QueueRegistry live;
    private final ReentrantLock working = new ReentrantLock(true); // fair: who asks gets in between two records
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
            Outlets outlets) {
        this.policies = policies;
        this.metrics = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.live = live;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
        StoredQueues queues = StoredQueues.open(stores, config.state(), context);
        QueueForwarder forwarder = new QueueForwarder(context, outlets, metrics, this::nowMs);
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

    /** What a record is to do at a queue time. */
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
     * Sends a marker if one is due and there is a reason to.
     *
     * @param isLate what was read was appended long before queue time: the task lags, or the broker's clock was set
     *     back
     */
    private void sendMarker(long localMs, boolean isLate) {
        if (time.isMarkerDue(localMs) && (isLate || shaper.needsTime() || mustSynchronize())) {
            QueueMarker marker = time.nextMarker(context.taskId().partition(), localMs);
            context.forward(new Record<>(null, marker, time.ms(localMs)), outlets.markers);
        }
    }

    /** Whether there is something to do that has to wait for a marker: restored buckets that may be idle by now. */
    private boolean mustSynchronize() {
        return !time.isSynchronized() && shaper.dueNanos() < Long.MAX_VALUE;
    }

    @Override
    public void close() {
        live.close(context.taskId().partition(), this);
        work(() -> shaper = null);
    }

    /** Asks the queues something that leaves them as they are; none if they are busy for longer, or there are none. */
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

    /** Queue time. */
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
