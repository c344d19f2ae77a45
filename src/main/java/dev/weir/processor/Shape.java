package dev.weir.processor;

import dev.weir.codec.AdmissionAvro;
import dev.weir.codec.QueueMarker;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.shape.Outlet;
import dev.weir.shape.QueueClock;
import dev.weir.shape.Release;
import dev.weir.shape.Shaper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Lets requests into their queues, and wakes up when one may leave. Queues go by the {@linkplain QueueClock broker's time}:
 * when it starts, and each second while something waits, the task sends itself a marker through its own partition. An idle
 * queue wakes nobody and sends nothing.
 */
public final class Shape implements Processor<byte[], byte[], byte[], Object> {

    /** How much is done before records are read again. */
    private static final int STEPS_A_TICK = 5_000;

    /** No tick comes sooner: what falls due in between is released together, stamped with its own times. */
    private static final long MIN_TICK_MS = 5;

    /** While something waits, rules that have changed are seen at the latest after this. */
    private static final long MAX_TICK_MS = 500;

    /** How often the clock is compared with the broker's while something waits. */
    private static final long MARK_EVERY_MS = 1_000;

    /** A marker that has not come back after this is given up. */
    private static final long MARK_AGAIN_MS = 10_000;

    private static final byte[] NO_KEY = {};

    private static final long NANOS_PER_MS = 1_000_000;

    /** The stores: each queue's state, its slots, tickets and alarms; the queues' first answers. */
    public record StoreNames(String states, String slots, String tickets, String alarms, String answers) {}

    /** The nodes that take what comes out. */
    public record Outlets(String decisions, String releases, String deadLetters, String markers) {}

    private final AdmissionAvro avro = new AdmissionAvro();
    private final LivePolicies policies;
    private final WeirConfig.State config;
    private final LiveCounts counts;
    private final StoreNames stores;
    private final Outlets outlets;
    private final LiveQueues live;
    private final ReentrantLock working = new ReentrantLock(true); // fair: who asks gets in between two records
    private ProcessorContext<byte[], Object> context;
    private Shaper shaper; // null while there is no task
    private QueueClock clock;
    private QueueMarker marker; // the last one that was sent, null before the first
    private long markedAtMs;
    private boolean isMarkerUnderWay;
    private long task;
    private long changesSeen;
    private Cancellable tick;
    private long tickAtMs;

    public Shape(
            LivePolicies policies,
            LiveQueues live,
            LiveCounts counts,
            WeirConfig.State config,
            StoreNames stores,
            Outlets outlets) {
        this.policies = policies;
        this.counts = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.live = live;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        StoreQueues queues = new StoreQueues(stores, config, context);
        Shaper restored = new Shaper(policies::queue, queues, new Sinks());
        queues.restore(restored);
        work(() -> {
            shaper = restored;
            clock = new QueueClock();
        });
        task = ThreadLocalRandom.current().nextLong(); // tells its markers from those of others
        marker = null;
        isMarkerUnderWay = false;
        changesSeen = -1;
        cancelTick(); // of a task that failed and is revived
        planTickIn(MIN_TICK_MS);
        live.open(context.taskId().partition(), this);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        long localMs = context.currentSystemTimeMs();
        if (QueueMarker.isMarker(record.value())) {
            work(() -> returned(QueueMarker.decode(record.value(), metadata.partition()), record.timestamp(), localMs));
            return;
        }
        Admission admission;
        try {
            admission = avro.decode(record.value());
        } catch (UnreadableException e) {
            counts.rejected(e.rejection());
            context.forward(DeadLetter.of(record, e.rejection(), e.getMessage(), metadata), outlets.deadLetters);
            return;
        }
        work(() -> {
            clock.read(record.timestamp(), localMs);
            long nowMs = nowMs();
            long enqueuedAtMs = Math.min(record.timestamp(), nowMs);
            shaper.admit(admission, metadata.offset(), enqueuedAtMs, nowMs * NANOS_PER_MS);
            goOn();
        });
    }

    /** Its own latest marker settles the clock; any other is a record like any other. */
    private void returned(QueueMarker seen, long appendMs, long localMs) {
        clock.read(appendMs, localMs);
        if (!seen.equals(marker) || !isMarkerUnderWay) {
            return;
        }
        isMarkerUnderWay = false;
        clock.returned(appendMs, markedAtMs, localMs);
        if (clock.takeReset()) {
            shaper.resetTime(nowMs() * NANOS_PER_MS);
        }
        goOn();
    }

    /** Queue time. */
    private long nowMs() {
        return Math.min(clock.nowMs(context.currentSystemTimeMs()), Shaper.LAST_MS);
    }

    @Override
    public void close() {
        live.close(context.taskId().partition(), this);
        work(() -> shaper = null);
    }

    /** Asks the queues something that leaves them as they are; none if they are busy for longer, or there are none. */
    <T> Optional<T> ask(Duration patience, long processMs, LiveQueues.Question<T> question) {
        try {
            if (!working.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                return Optional.empty();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
        try {
            return Optional.ofNullable(shaper).map(queues -> question.ask(queues, nanos(clock.estimateMs(processMs))));
        } finally {
            working.unlock();
        }
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
        cancelTick();
        work(() -> {
            if (clock.isSettled(context.currentSystemTimeMs())) {
                long nowNanos = nanos(nowMs());
                long changes = policies.changes();
                if (changes != changesSeen) {
                    changesSeen = changes;
                    shaper.refresh(nowNanos);
                }
                shaper.tick(nowNanos, STEPS_A_TICK);
            }
            goOn();
        });
    }

    private void goOn() {
        mark();
        planTick();
    }

    private void mark() {
        long localMs = context.currentSystemTimeMs();
        boolean isWanted = isMarkerUnderWay
                ? localMs - markedAtMs >= MARK_AGAIN_MS
                : !clock.isSettled(localMs) || (isAnyoneWaiting() && localMs - markedAtMs >= MARK_EVERY_MS);
        if (!isWanted && localMs >= markedAtMs) {
            return;
        }
        marker = new QueueMarker(context.taskId().partition(), task, marker == null ? 0 : marker.number() + 1);
        markedAtMs = localMs;
        isMarkerUnderWay = true;
        context.forward(new Record<>(NO_KEY, marker, 0), outlets.markers); // the broker sets the time
    }

    private boolean isAnyoneWaiting() {
        return shaper.dueNanos() != Long.MAX_VALUE;
    }

    private static long nanos(long ms) {
        return Math.min(ms, Shaper.LAST_MS) * NANOS_PER_MS;
    }

    private void cancelTick() {
        if (tick != null) {
            tick.cancel();
            tick = null;
        }
    }

    private void planTick() {
        if (!isAnyoneWaiting()) {
            return;
        }
        boolean isSettled = clock.isSettled(context.currentSystemTimeMs());
        long dueInMs = -Math.floorDiv(-shaper.dueNanos(), NANOS_PER_MS) - nowMs();
        planTickIn(isSettled ? Math.max(MIN_TICK_MS, Math.min(MAX_TICK_MS, dueInMs)) : MAX_TICK_MS);
    }

    private void planTickIn(long inMs) {
        long nowMs = context.currentSystemTimeMs();
        if (tick != null && tickAtMs <= nowMs + inMs) {
            return;
        }
        cancelTick();
        tickAtMs = nowMs + inMs;
        tick = context.schedule(Duration.ofMillis(inMs), PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    /** Forwards what the queues say, with the headers of the request that it is about. */
    private final class Sinks implements Outlet {

        @Override
        public void decide(Admission of, Decision decision) {
            counts.decided(decision);
            forward(of, decision.in(of.context()), outlets.decisions);
        }

        @Override
        public void release(Admission of, Release release) {
            counts.released(release, nowMs());
            forward(of, release, outlets.releases);
        }

        private void forward(Admission of, Object value, String node) {
            Headers headers = new RecordHeaders();
            of.headers().forEach(header -> headers.add(header.key(), header.value()));
            byte[] key = of.request().client().getBytes(StandardCharsets.UTF_8);
            context.forward(new Record<>(key, value, nowMs(), headers), node);
        }
    }
}
