package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.storage.StoredQueues;
import dev.weir.storage.codec.QueueMessageCodec;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** Passes the messages of a partition of {@code weir.admissions} to the queues of its {@link QueueTask}. */
public final class Shape implements Processor<byte[], byte[], byte[], Object> {

    /** How long after its commit a message is read. */
    private static final long READ_DELAY_MS = 50;

    /** The names of the nodes that receive the output. */
    public record Outlets(
            String decisions,
            String replies,
            String releases,
            String messages,
            String reservations,
            String deadLetters) {}

    private final QueueMessageCodec codec = new QueueMessageCodec();
    private final PolicyRegistry policies;
    private final QueueRegistry open;
    private final EnforcerMetrics metrics;
    private final WeirConfig config;
    private final StoredQueues.StoreNames stores;
    private final Outlets outlets;
    private final ReplyPartitions replies;
    private final TickScheduler ticks = new TickScheduler(() -> this.task.tick());
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;
    private QueueTask task;

    /** @param open the open tasks, updated by the processor */
    public Shape(
            PolicyRegistry policies,
            QueueRegistry open,
            EnforcerMetrics metrics,
            WeirConfig config,
            StoredQueues.StoreNames stores,
            Outlets outlets,
            ReplyPartitions replies) {
        this.policies = policies;
        this.open = open;
        this.metrics = metrics;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
        this.replies = replies;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
        int partition = context.taskId().partition();
        StoredQueues queues = StoredQueues.open(stores, config.state(), context);
        Shaper shaper = new Shaper(
                policies::queue,
                queues,
                new Shaper.Messaging(partition, config.commits().max().toMillis() + READ_DELAY_MS),
                config.shaping().hotKeys());
        ReplyForwarder toRequesters = new ReplyForwarder(context, outlets.replies, replies, metrics);
        QueueEffectForwarder forwarder = new QueueEffectForwarder(
                context,
                outlets,
                toRequesters,
                metrics,
                policies::queue,
                queues,
                new QueueEffectForwarder.DeadRequests(
                        rejections, Topics.of(config).requests()));
        ticks.open(context);
        task = new QueueTask(context, policies, forwarder, ticks, shaper);
        open.add(partition, task);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        QueueMessage message;
        try {
            message = codec.decode(record.value());
        } catch (UnreadableException e) {
            rejections.reject(record, e);
            return;
        }
        long offset = context.recordMetadata().orElseThrow().offset();
        task.receive(message, offset, Math.min(record.timestamp(), Shaper.MAX_TIME_MS));
    }

    @Override
    public void close() {
        if (task != null) { // unless it could not be opened
            open.remove(context.taskId().partition(), task);
            task.close();
        }
    }
}
