package dev.weir.prometheus;

import dev.weir.event.Rejection;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.view.QueueView;
import dev.weir.wire.PolicyAvro;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/** Collects Weir's own metrics: decisions, releases, dead letters, queues, leases, policies, caches and health. */
final class WeirMetricsCollector implements MultiCollector {

    private static final double MS_PER_SECOND = 1_000;

    private final MetricSource source;

    WeirMetricsCollector(MetricSource source) {
        this.source = source;
    }

    @Override
    public MetricSnapshots collect() {
        EnforcerMetrics metrics = source.metrics();
        List<QueueView> queues = source.queues().get();
        return MetricSnapshots.of(
                decisions(metrics),
                observed(metrics),
                new MetricFamily("weir_decision_latency_seconds", "Age of a request's record when it is decided")
                        .addHistogram(metrics.latenciesMs())
                        .histogram(),
                deadLetters(metrics),
                new MetricFamily("weir_requests_misplaced", "Requests that were not in the partition of their client")
                        .add((double) metrics.misplacedRequests())
                        .counter(),
                new MetricFamily("weir_request_partitions", "Partitions of the request topic")
                        .add((double) source.partitions().requests())
                        .gauge(),
                new MetricFamily("weir_state_partitions", "Partitions of the state of clients")
                        .add((double) source.partitions().state())
                        .gauge(),
                new MetricFamily("weir_replies_ignored", "Decisions whose reply partition does not exist")
                        .add((double) metrics.repliesIgnored())
                        .counter(),
                quotaWaits(metrics),
                leasing(metrics),
                keyFieldsMissing(metrics),
                reservations(metrics),
                waits(metrics),
                new MetricFamily(
                                "weir_release_lateness_seconds",
                                "Delay of a release: time from its releaseAt until it is written")
                        .addHistogram(metrics.latenessMs())
                        .histogram(),
                waiting(queues),
                oldest(queues),
                keys(queues),
                hotKeys(queues),
                paused(queues),
                draining(queues),
                commandedKeys(queues),
                inFlight(queues),
                slots(queues),
                mostInFlight(queues),
                mostInFlightOfAllKeys(queues),
                oldestAttempt(queues),
                retries(queues),
                attempts(metrics, queues),
                policies(),
                new MetricFamily("weir_hot_state_bytes", "Estimated heap used by the caches of client state")
                        .add((double) source.memory().usedBytes())
                        .gauge(),
                new MetricFamily("weir_hot_state_limit_bytes", "Maximum heap for the caches of client state")
                        .add((double) source.memory().bytes())
                        .gauge(),
                health());
    }

    private static MetricSnapshot decisions(EnforcerMetrics metrics) {
        MetricFamily decisions = new MetricFamily("weir_decisions", "Decisions", "policy", "outcome", "reason");
        metrics.decisions()
                .forEach((kind, count) -> decisions.add(
                        count,
                        kind.policy(),
                        kind.outcome().name(),
                        kind.reason().name()));
        return decisions.counter();
    }

    private static MetricSnapshot observed(EnforcerMetrics metrics) {
        MetricFamily observed =
                new MetricFamily("weir_observed", "Requests that an observing policy would have denied", "policy");
        metrics.observed().forEach((policy, count) -> observed.add(count, policy));
        return observed.counter();
    }

    private static MetricSnapshot deadLetters(EnforcerMetrics metrics) {
        MetricFamily letters = new MetricFamily("weir_dead_letters", "Rejected records (dead letters)", "reason");
        for (Rejection reason : Rejection.values()) {
            letters.add(0, reason.name()); // Prometheus sees no increase if a series begins with its first dead letter
        }
        metrics.deadLetters().forEach((reason, count) -> letters.add(count, reason.name()));
        return letters.counter();
    }

    private static MetricSnapshot quotaWaits(EnforcerMetrics metrics) {
        MetricFamily waits =
                new MetricFamily("weir_quota_waits", "Requests that waited for a lease of a shared limit", "policy");
        metrics.waitedForQuota().forEach((policy, count) -> waits.add(count, policy));
        return waits.counter();
    }

    private static MetricSnapshot leasing(EnforcerMetrics metrics) {
        MetricFamily messages = new MetricFamily(
                "weir_lease_messages", "Messages between lease holders and ledgers", "policy", "message");
        metrics.leasing()
                .forEach((of, count) ->
                        messages.add(count, of.policy(), of.message().name()));
        return messages.counter();
    }

    private static MetricSnapshot keyFieldsMissing(EnforcerMetrics metrics) {
        MetricFamily missing = new MetricFamily(
                "weir_key_field_missing", "Requests that lacked a key field of a policy", "policy", "field");
        metrics.keyFieldsMissing().forEach((of, count) -> missing.add(count, of.policy(), of.field()));
        return missing.counter();
    }

    private static MetricSnapshot reservations(EnforcerMetrics metrics) {
        MetricFamily reservations = new MetricFamily(
                "weir_reservations",
                "Stored reservations: open ones, and ended ones that are not deleted",
                "partition");
        metrics.reservations()
                .forEach((partition, stored) -> reservations.add((double) stored, String.valueOf(partition)));
        return reservations.gauge();
    }

    private static MetricSnapshot waits(EnforcerMetrics metrics) {
        MetricFamily waits =
                new MetricFamily("weir_release_wait_seconds", "Time from admission to release", "queue", "tier");
        metrics.waitsMs().forEach((line, wait) -> waits.addHistogram(wait, line.queue(), line.tier()));
        return waits.histogram();
    }

    private static MetricSnapshot waiting(List<QueueView> queues) {
        MetricFamily waiting = new MetricFamily("weir_queue_waiting", "Requests waiting in queues", "queue", "tier");
        int reported = 0;
        for (QueueView queue : queues) {
            for (QueueView.TierView tier : queue.tiers()) {
                boolean isNamed = tier.tier() == null || queue.rules().namesTier(tier.tier());
                String name = tier.tier() == null ? EnforcerMetrics.NONE : tier.tier();
                boolean isReported = isNamed && ++reported <= EnforcerMetrics.MOST;
                waiting.add((double) tier.waiting(), queue.rules().id(), isReported ? name : EnforcerMetrics.OTHER);
            }
        }
        return waiting.gauge();
    }

    private static MetricSnapshot oldest(List<QueueView> queues) {
        MetricFamily oldest =
                new MetricFamily("weir_queue_oldest_wait_seconds", "Wait of the oldest request so far", "queue");
        for (QueueView queue : queues) {
            Long waitMs = queue.oldestWaitMs();
            oldest.max(
                    waitMs == null ? 0 : waitMs / MS_PER_SECOND, queue.rules().id());
        }
        return oldest.gauge();
    }

    private static MetricSnapshot keys(List<QueueView> queues) {
        MetricFamily keys = new MetricFamily("weir_queue_keys", "Keys of a keyed queue that are in use", "queue");
        for (QueueView queue : queues) {
            if (queue.buckets() instanceof QueueView.SeveralBuckets several) {
                keys.add(several.keys(), queue.rules().id());
            }
        }
        return keys.gauge();
    }

    private static MetricSnapshot hotKeys(List<QueueView> queues) {
        MetricFamily hotKeys =
                new MetricFamily("weir_queue_hot_keys", "Keys of a keyed queue that are on the heap", "queue");
        for (QueueView queue : queues) {
            if (queue.buckets() instanceof QueueView.SeveralBuckets several) {
                hotKeys.add(several.hotKeys(), queue.rules().id());
            }
        }
        return hotKeys.gauge();
    }

    private static MetricSnapshot paused(List<QueueView> queues) {
        return inEffect(
                new MetricFamily("weir_queue_paused", "1 if the whole queue is paused, 0 otherwise", "queue"),
                queues,
                OrdersView::paused);
    }

    private static MetricSnapshot draining(List<QueueView> queues) {
        return inEffect(
                new MetricFamily("weir_queue_draining", "1 if the whole queue drains by command, 0 otherwise", "queue"),
                queues,
                OrdersView::draining);
    }

    private static MetricSnapshot inEffect(
            MetricFamily family, List<QueueView> queues, Function<OrdersView, Optional<QueueCommand.Origin>> command) {
        for (QueueView queue : queues) {
            boolean isInEffect = command.apply(queue.orders()).isPresent();
            family.max(isInEffect ? 1 : 0, queue.rules().id());
        }
        return family.gauge();
    }

    private static MetricSnapshot commandedKeys(List<QueueView> queues) {
        MetricFamily keys = new MetricFamily(
                "weir_queue_commanded_keys",
                "Keys of a queue that are paused, drain or are purged by command",
                "queue");
        for (QueueView queue : queues) {
            if (queue.buckets() instanceof QueueView.SeveralBuckets) {
                keys.add(queue.orders().keys(), queue.rules().id());
            }
        }
        return keys.gauge();
    }

    private static MetricSnapshot inFlight(List<QueueView> queues) {
        MetricFamily inFlight =
                new MetricFamily("weir_queue_in_flight", "Released requests that their workers process", "queue");
        ofWorkers(queues)
                .forEach(queue ->
                        inFlight.add(queue.inFlight().requests(), queue.rules().id()));
        return inFlight.gauge();
    }

    private static MetricSnapshot slots(List<QueueView> queues) {
        MetricFamily slots = new MetricFamily("weir_queue_slots", "Slots of requests in flight", "queue", "tier");
        int reported = 0;
        for (QueueView queue : ofWorkers(queues)) {
            Map<String, Long> byTier = new TreeMap<>(queue.inFlight().slotsByTier());
            queue.rules().tiers().keySet().forEach(tier -> byTier.putIfAbsent(tier, 0L));
            byTier.putIfAbsent("", 0L);
            for (Map.Entry<String, Long> tier : byTier.entrySet()) {
                boolean isNamed = tier.getKey().isEmpty() || queue.rules().namesTier(tier.getKey());
                boolean isReported = isNamed && ++reported <= EnforcerMetrics.MOST;
                String name = tier.getKey().isEmpty() ? EnforcerMetrics.NONE : tier.getKey();
                slots.add((double) tier.getValue(), queue.rules().id(), isReported ? name : EnforcerMetrics.OTHER);
            }
        }
        return slots.gauge();
    }

    private static MetricSnapshot mostInFlight(List<QueueView> queues) {
        MetricFamily most = new MetricFamily(
                "weir_queue_max_in_flight", "Most slots of a queue in use, or of each of its keys", "queue");
        for (QueueView queue : queues) {
            if (queue.rules().inFlight() != null) {
                most.max(queue.rules().inFlight().most(), queue.rules().id());
            }
        }
        return most.gauge();
    }

    private static MetricSnapshot mostInFlightOfAllKeys(List<QueueView> queues) {
        MetricFamily most = new MetricFamily(
                "weir_queue_total_max_in_flight", "Most slots of all keys of a queue together in use", "queue");
        for (QueueView queue : queues) {
            if (queue.rules().total() != null) {
                queue.rules()
                        .total()
                        .inFlight()
                        .ifPresent(slots -> most.max(slots, queue.rules().id()));
            }
        }
        return most.gauge();
    }

    private static MetricSnapshot oldestAttempt(List<QueueView> queues) {
        MetricFamily oldest =
                new MetricFamily("weir_queue_oldest_attempt_seconds", "Age of the oldest request in flight", "queue");
        for (QueueView queue : ofWorkers(queues)) {
            Long ageMs = queue.inFlight().oldestMs();
            oldest.max(ageMs == null ? 0 : ageMs / MS_PER_SECOND, queue.rules().id());
        }
        return oldest.gauge();
    }

    private static MetricSnapshot retries(List<QueueView> queues) {
        MetricFamily retries =
                new MetricFamily("weir_queue_retries_waiting", "Requests that wait for another attempt", "queue");
        ofWorkers(queues)
                .forEach(queue ->
                        retries.add(queue.inFlight().retries(), queue.rules().id()));
        return retries.gauge();
    }

    private static MetricSnapshot attempts(EnforcerMetrics metrics, List<QueueView> queues) {
        MetricFamily attempts =
                new MetricFamily("weir_attempts", "Attempts of workers that have ended", "queue", "result");
        for (QueueView queue : ofWorkers(queues)) {
            for (AttemptEnd result : AttemptEnd.values()) { // Prometheus sees no increase if a series begins above 0
                attempts.add(0, queue.rules().id(), result.name());
            }
        }
        metrics.attempts()
                .forEach((ended, count) ->
                        attempts.add(count, ended.queue(), ended.result().name()));
        return attempts.counter();
    }

    /** Returns the queues whose workers answer, or have to answer what was released before a change. */
    private static List<QueueView> ofWorkers(List<QueueView> queues) {
        return queues.stream()
                .filter(queue -> queue.rules().inFlight() != null
                        || queue.inFlight().requests() > 0
                        || queue.inFlight().retries() > 0)
                .toList();
    }

    private MetricSnapshot health() {
        MetricFamily health =
                new MetricFamily("weir_health", "1 for the current state of the instance, 0 for the others", "state");
        Enum<?> current = source.health().get();
        for (Enum<?> each : current.getDeclaringClass().getEnumConstants()) {
            health.add(each == current ? 1 : 0, each.name());
        }
        return health.gauge();
    }

    private MetricSnapshot policies() {
        MetricFamily policies = new MetricFamily("weir_policies", "Policies and queues in force", "kind");
        for (PolicyAvro.Kind kind : PolicyAvro.Kind.values()) {
            int inForce = source.policies().size(kind);
            if (inForce > 0) {
                policies.add(inForce, kind.name().toLowerCase(Locale.ROOT));
            }
        }
        return policies.gauge();
    }
}
