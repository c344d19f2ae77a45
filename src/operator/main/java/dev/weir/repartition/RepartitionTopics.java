package dev.weir.repartition;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.StatePartitions;
import dev.weir.topics.TopicRequirements;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The topics of the deciding application that have as many partitions as its state, or at least as many. */
final class RepartitionTopics {

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final int POLL_MS = 50;

    private final Admin admin;
    private final Topics topics;
    private final String size;
    private final List<String> changelogs = new ArrayList<>();
    private final int requests;
    private final int state;

    RepartitionTopics(Admin admin, WeirConfig config) {
        this.admin = admin;
        topics = Topics.of(config);
        size = StatePartitions.changelog(config);
        new TopicRequirements(config).changelogs().forEach((changelog, source) -> {
            if (source.equals(topics.requests())) {
                changelogs.add(changelog);
            }
        });
        requests = count(topics.requests());
        if (requests == 0) {
            throw UnreachableException.noTopic(topics.requests());
        }
        state = StatePartitions.of(admin, config);
    }

    /** Returns the plan, from the present numbers of partitions. */
    RepartitionPlan plan() {
        Map<String, Integer> partitions = partitions();
        boolean isUnfinished = partitions.containsKey(size)
                && changelogs.stream().anyMatch(name -> partitions.getOrDefault(name, state) != state);
        List<String> growing = new ArrayList<>();
        partitions.forEach((name, count) -> {
            if (count > requests) {
                throw new UnreachableException(
                        name + " has " + count + " partitions, " + topics.requests() + " has only " + requests
                                + "; add partitions to the latter",
                        null);
            }
            if (count < requests && !name.equals(size)) {
                growing.add(name);
            }
        });
        if (partitions.getOrDefault(size, requests) < requests) {
            growing.add(size); // the last one: see StatePartitions
        }
        long records = changelogs.stream()
                .filter(partitions::containsKey)
                .mapToLong(name -> length(name, partitions.get(name)))
                .sum();
        return new RepartitionPlan(topics.requests(), state, requests, isUnfinished, growing, records);
    }

    /** Returns the numbers of partitions of the existing topics, by name. Those that may have more are capped. */
    private Map<String, Integer> partitions() {
        Map<String, Integer> partitions = new TreeMap<>();
        List<String> all = new ArrayList<>(changelogs);
        all.add(topics.routedRequests());
        all.add(topics.leaseResponses());
        all.forEach(name -> {
            int count = count(name);
            if (count > 0) {
                partitions.put(name, changelogs.contains(name) ? count : Math.min(count, requests));
            }
        });
        return partitions;
    }

    /** Returns the number of partitions of a topic, 0 if it does not exist. */
    int count(String topic) {
        try {
            return admin.describeTopics(List.of(topic))
                    .topicNameValues()
                    .get(topic)
                    .get(TIMEOUT.toSeconds(), TimeUnit.SECONDS)
                    .partitions()
                    .size();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return 0;
            }
            throw failure("describe " + topic, e);
        } catch (TimeoutException e) {
            throw failure("describe " + topic, e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private long length(String topic, int partitions) {
        Map<TopicPartition, Long> begin =
                offsets(topic, partitions, OffsetSpec.earliest(), IsolationLevel.READ_COMMITTED);
        return offsets(topic, partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED).entrySet().stream()
                .mapToLong(end -> end.getValue() - begin.get(end.getKey()))
                .sum();
    }

    private Map<TopicPartition, Long> offsets(
            String topic, int partitions, OffsetSpec which, IsolationLevel isolation) {
        Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
        for (int partition = 0; partition < partitions; partition++) {
            specs.put(new TopicPartition(topic, partition), which);
        }
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (Map.Entry<TopicPartition, ListOffsetsResultInfo> found : await(
                        "read the offsets of " + topic,
                        admin.listOffsets(specs, new ListOffsetsOptions(isolation))
                                .all())
                .entrySet()) {
            offsets.put(found.getKey(), found.getValue().offset());
        }
        return offsets;
    }

    /**
     * Returns the offsets after the last records of a topic.
     *
     * @throws UnreachableException if a transaction is still open after a minute
     */
    Map<TopicPartition, Long> ends(String topic) {
        int partitions = count(topic);
        long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
        while (true) {
            Map<TopicPartition, Long> stable =
                    offsets(topic, partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED);
            if (stable.equals(offsets(topic, partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED))) {
                return stable;
            }
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new UnreachableException(
                        topic + " has an open transaction; `weir doctor` prints the command that ends it", null);
            }
            pause();
        }
    }

    /** Adds partitions to a topic, and waits until their leaders answer. */
    void grow(String topic, int partitions) {
        await(
                "add partitions to " + topic,
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions)))
                        .all());
        long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
        while (count(topic) < partitions) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new UnreachableException("the brokers do not list the partitions that " + topic + " got", null);
            }
            pause();
        }
        var unused = offsets(topic, partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
    }

    private static void pause() {
        try {
            Thread.sleep(POLL_MS);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static <T> T await(String what, KafkaFuture<T> answer) {
        try {
            return answer.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw failure(what, e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static UnreachableException failure(String what, Exception e) {
        Throwable why = e instanceof ExecutionException ? e.getCause() : e;
        return new UnreachableException("cannot " + what + ": " + UnreachableException.causeMessage(why), e);
    }

    private static UnreachableException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new UnreachableException("interrupted", e);
    }
}
