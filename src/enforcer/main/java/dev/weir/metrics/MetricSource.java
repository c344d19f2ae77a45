package dev.weir.metrics;

import dev.weir.processor.EnforcerMetrics;
import dev.weir.processor.PolicyRegistry;
import dev.weir.shape.QueueView;
import dev.weir.storage.CacheBudget;
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
public record MetricSource(
        Map<String, KafkaStreams> applications,
        EnforcerMetrics counts,
        PolicyRegistry policies,
        CacheBudget memory,
        Supplier<List<QueueView>> queues,
        Supplier<? extends Enum<?>> health) {}
