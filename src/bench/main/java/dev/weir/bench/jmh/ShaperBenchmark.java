package dev.weir.bench.jmh;

import dev.weir.bench.candidate.RocksQueues;
import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.QueueRules;
import dev.weir.storage.StoredQueues;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A release from a queue in RocksDB, and the admission of another request. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
public class ShaperBenchmark {

    private static final long NANOS_PER_MS = 1_000_000;
    private static final String QUEUE = "q";

    /** One release per millisecond of the queue's clock. */
    private static final QueueRules RULES = QueueRules.builder(QUEUE, 1, 1)
            .capacity(QueueRules.MAX_CAPACITY)
            .lookAheadMs(0)
            .build();

    /** The number of waiting requests. */
    @Param("100000")
    int waiting;

    /** The number of clients, which send requests in turn. */
    @Param("1000")
    int clients;

    private RocksQueues stores;
    private StoredQueues queues;
    private Shaper shaper;
    private long admitted;
    private long released;

    @Setup
    public void fill() throws IOException {
        stores = new RocksQueues();
        queues = stores.open();
        shaper = new Shaper(queue -> RULES, queues, 1);
        for (int i = 0; i < waiting; i++) {
            admit(0);
        }
    }

    @TearDown
    public void close() throws IOException {
        stores.close();
    }

    @Benchmark
    public long release() {
        long before = released;
        long nowNanos = shaper.dueNanos();
        carryOut(shaper.tick(nowNanos, 1));
        if (released != before + 1) {
            throw new IllegalStateException("a tick released " + (released - before));
        }
        admit(nowNanos);
        return released;
    }

    private void admit(long nowNanos) {
        long nowMs = nowNanos / NANOS_PER_MS;
        Request request = Request.builder("request-" + admitted, "client-" + admitted % clients)
                .timestampMs(nowMs)
                .source(0, admitted)
                .build();
        Admission admission = Admission.of(request, QUEUE, new PolicyVersion("p", 1), null);
        carryOut(shaper.admit(admission, admitted++, nowMs, nowNanos));
    }

    private void carryOut(List<QueueEffect> effects) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.StateStored stored) {
                queues.store(stored);
            } else if (effect instanceof QueueEffect.Released) {
                released++;
            }
        }
    }
}
