package dev.weir.prometheus;

import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.RequestPartitions;
import dev.weir.shape.view.QueueView;
import dev.weir.storage.CacheBudget;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;

/**
 * The sources of an enforcer's metrics.
 *
 * @param applications the Kafka Streams applications
 * @param metrics the counters of the processors
 * @param policies the policies and queues in force
 * @param memory the budget of the caches
 * @param queues returns the current views of this process's queues
 * @param health returns the current health
 * @param partitions the partitions of the request topic and of the state
 */
public record MetricSource(
        Applications applications,
        EnforcerMetrics metrics,
        PolicyRegistry policies,
        CacheBudget memory,
        Supplier<List<QueueView>> queues,
        Supplier<? extends Enum<?>> health,
        RequestPartitions partitions) {

    /**
     * The Kafka Streams applications.
     *
     * @param streams the applications by name ({@code deciding}, {@code shaping})
     * @param lags returns the lag of each partition that they read, as of the last fetch
     */
    public record Applications(Map<String, KafkaStreams> streams, Supplier<Map<TopicPartition, Long>> lags) {}
}
