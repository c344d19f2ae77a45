package dev.weir.live;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectReader;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.metrics.Histogram;
import dev.weir.server.LatencyBuckets;
import dev.weir.wire.json.Json;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The report of an instance to the others.
 *
 * @param seconds oldest first
 */
public record InstanceReport(List<InstanceSecond> seconds, InstanceStatus now) {

    /** A later version may report more. */
    private static final ObjectReader READER =
            Json.MAPPER.readerFor(InstanceReport.class).without(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    public String json() {
        return Json.write(this);
    }

    /** @throws IllegalArgumentException if it is not a report of this version */
    public static InstanceReport read(String json) {
        try {
            InstanceReport report = READER.readValue(json);
            report.check();
            return report;
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(Json.message(e), e);
        } catch (NullPointerException e) {
            throw new IllegalArgumentException("the report is incomplete", e);
        }
    }

    /** Checks that the report is complete and its histograms have the bounds of this version. */
    private void check() {
        for (InstanceSecond second : seconds) {
            requireBounds(second.latenciesMs(), LatencyBuckets.MS);
            second.decisions().values().forEach(Objects::requireNonNull);
            second.queues().forEach(queue -> Objects.requireNonNull(queue.tiers()));
        }
        Stream.of(now.address(), now.health(), now.recentClients(), now.queues().keyed(), now.partitions())
                .forEach(Objects::requireNonNull);
        for (QueueStatus queue : now.queues().fullest()) {
            Objects.requireNonNull(queue.rules());
            Objects.requireNonNull(queue.backlog().tiers());
            queue.backlog().longest().forEach(of -> Objects.requireNonNull(of.key()));
            if (queue.waitsMs() != null) {
                requireBounds(queue.waitsMs(), EnforcerMetrics.WAITS_MS);
            }
        }
    }

    private static void requireBounds(Histogram.Reading values, List<Long> bounds) {
        if (!values.bounds().equals(bounds) || values.counts().size() != bounds.size() + 1) {
            throw new IllegalArgumentException("the report has histograms with other bounds");
        }
    }
}
