package dev.weir.client.pipeline;

import dev.weir.client.lease.LeaseSettings;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;

/**
 * The settings of a {@link RequestPipeline}.
 *
 * @param kafka the topics and Kafka's clients
 * @param leases the settings of leases; empty if the client leases nothing
 * @param maxInFlight how many requests can wait at the same time
 * @param maxWait how long the calling thread waits if that many do
 * @param executor where futures are completed; empty for a pool of the pipeline's own
 */
public record PipelineSettings(
        Kafka kafka, Optional<LeaseSettings> leases, int maxInFlight, Duration maxWait, Optional<Executor> executor) {

    /**
     * The topics and Kafka's clients.
     *
     * @param requests the topic of requests
     * @param replies the topic of replies
     * @param producer the settings of the producer
     * @param consumer the settings of the consumers and of the schema registry
     * @param mayBlock whether the producer may block the thread that sends a request
     */
    public record Kafka(
            String requests,
            String replies,
            Map<String, Object> producer,
            Map<String, Object> consumer,
            boolean mayBlock) {}
}
