package dev.weir.client.pipeline;

import dev.weir.client.lease.LeaseSettings;
import dev.weir.lease.LeaseTerms;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;

/** Settings of a pipeline that reaches no broker. */
final class SettingsWithoutBrokers {

    private static final Map<String, Object> KAFKA = Map.of("bootstrap.servers", "127.0.0.1:1");

    private SettingsWithoutBrokers() {}

    static PipelineSettings of(int maxInFlight) {
        return of(maxInFlight, false, Optional.empty(), Runnable::run);
    }

    static PipelineSettings mayBlock(boolean mayBlock, Executor executor) {
        return of(1, mayBlock, Optional.empty(), executor);
    }

    static PipelineSettings leased() {
        LeaseSettings.Topics topics = new LeaseSettings.Topics(
                "weir.policies",
                "weir.lease-requests.weir",
                "weir.lease-responses.weir",
                "weir.lease-usage",
                "weir.replies");
        LeaseSettings leases =
                new LeaseSettings(topics, KAFKA, KAFKA, LeaseTerms.DEFAULTS, Duration.ofSeconds(1), true);
        return of(1, false, Optional.of(leases), Runnable::run);
    }

    private static PipelineSettings of(
            int maxInFlight, boolean mayBlock, Optional<LeaseSettings> leases, Executor executor) {
        PipelineSettings.Kafka kafka =
                new PipelineSettings.Kafka("weir.requests", "weir.replies", KAFKA, KAFKA, mayBlock);
        return new PipelineSettings(kafka, leases, maxInFlight, Duration.ZERO, Optional.of(executor));
    }
}
