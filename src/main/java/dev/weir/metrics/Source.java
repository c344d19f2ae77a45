package dev.weir.metrics;

import dev.weir.processor.HotMemory;
import dev.weir.processor.LiveCounts;
import dev.weir.processor.LivePolicies;
import dev.weir.shape.QueueView;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.streams.KafkaStreams;

/**
 * What there is to tell of an enforcer.
 *
 * @param applications by what they do
 * @param health how it is
 * @param memory what states take on the heap
 * @param queues the queues that this process has, as they are now
 */
public record Source(
        Map<String, KafkaStreams> applications,
        LiveCounts counts,
        LivePolicies policies,
        HotMemory memory,
        Supplier<List<QueueView>> queues,
        Supplier<? extends Enum<?>> health) {}
