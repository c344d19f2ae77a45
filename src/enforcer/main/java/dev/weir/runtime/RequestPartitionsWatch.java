package dev.weir.runtime;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaCommands;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.requests.RequestPartitions;
import dev.weir.topics.RequestTopic;
import dev.weir.topics.StatePartitions;
import dev.weir.topology.StreamsSettings;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks up the number of partitions of the request topic while an enforcer is running, as often as its consumers do,
 * and logs a change.
 */
final class RequestPartitionsWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(RequestPartitionsWatch.class);

    private final WeirConfig config;
    private final RequestPartitions partitions;
    private final Duration interval;
    private final KafkaCommands commands;
    private final ScheduledExecutorService looks =
            Executors.newSingleThreadScheduledExecutor(RequestPartitionsWatch::inBackground);

    /** @param partitions updated when the topic has another number of partitions */
    RequestPartitionsWatch(WeirConfig config, RequestPartitions partitions) {
        this.config = config;
        this.partitions = partitions;
        interval = StreamsSettings.metadataAge(config);
        commands = new KafkaCommands(config);
    }

    void start() {
        var unused = looks.scheduleWithFixedDelay(
                this::look, interval.toMillis(), interval.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void look() {
        try {
            if (partitions.update(RequestTopic.partitions(config))) {
                missing().ifPresent(LOG::warn);
            }
        } catch (UnreachableException e) {
            LOG.debug("The partitions of the request topic are unknown", e); // the stream threads report outages
        } catch (RuntimeException e) {
            LOG.warn("Cannot look up the partitions of the request topic: {}", e.getMessage());
        }
    }

    /** Returns which partitions the state lacks, with the command that adds them; empty if it lacks none. */
    Optional<String> missing() {
        return StatePartitions.difference(
                        Topics.of(config).requests(), partitions.requests(), partitions.state(), commands)
                .map(one -> one.what() + "; " + String.join(" ", one.fix()));
    }

    @Override
    public void close() {
        looks.shutdownNow();
    }

    private static Thread inBackground(Runnable looks) {
        Thread thread = new Thread(looks, "request-partitions");
        thread.setDaemon(true);
        return thread;
    }
}
