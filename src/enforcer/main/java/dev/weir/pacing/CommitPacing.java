package dev.weir.pacing;

import dev.weir.config.WeirConfig;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;

/**
 * Lets the threads of an application of Kafka Streams commit when {@link CommitPace} chooses. All processors and clients
 * of the threads must be {@code paced}. A commit is synchronous and covers all tasks of a thread.
 */
public final class CommitPacing {

    @SuppressWarnings("ThreadLocalUsage") // the threads of one application: there are as many paces
    private final ThreadLocal<ThreadPace> threads;

    public CommitPacing(WeirConfig.Commits settings) {
        threads = ThreadLocal.withInitial(() -> new ThreadPace(settings));
    }

    /** Returns the pace of the current thread. */
    ThreadPace ofThread() {
        return threads.get();
    }

    /** Returns a supplier of processors whose work is committed in time. */
    public <A, B, C, D> ProcessorSupplier<A, B, C, D> paced(ProcessorSupplier<A, B, C, D> supplier) {
        return () -> new PacedProcessor<>(supplier.get(), this);
    }

    /** Returns a main consumer, which waits for records no longer than until the next commit. */
    public Consumer<byte[], byte[]> pacedConsumer(Map<String, Object> config) {
        return new PacedConsumer(config, this);
    }

    /** Returns a producer, which measures what commits cost. */
    public Producer<byte[], byte[]> pacedProducer(Map<String, Object> config) {
        return new PacedProducer(config, this);
    }
}
