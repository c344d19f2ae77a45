package dev.weir.doctor;

import dev.weir.policy.DurationsAndSizes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.DescribeProducersResult;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicAuthorizationException;

/** Checks for transactions that stay open. Consumers with read_committed, such as Weir's, do not read beyond them. */
final class TransactionChecks {

    /** Weir's own transactions are never open for this long. */
    private static final long LONG_MS = 60_000;

    /**
     * The default of the brokers' limit ({@code transaction.max.timeout.ms}). An older transaction should have
     * timed out.
     */
    private static final long HANGING_MS = 15 * 60_000;

    /** The time until the second look, longer than transactions of a busy instance are open. */
    private static final long SECOND_LOOK_MS = 3_000;

    private TransactionChecks() {}

    static void check(ClusterView cluster, FindingCollector notes) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (String name : cluster.names()) {
            TopicDescription topic = cluster.descriptions().get(name);
            if (topic != null) {
                topic.partitions().forEach(one -> partitions.add(new TopicPartition(name, one.partition())));
            }
        }
        if (partitions.isEmpty()) {
            notes.skip("there are no topics, or this user is not permitted to describe them");
            return;
        }
        Set<String> refused = new TreeSet<>();
        Map<TopicPartition, List<ProducerState>> suspects = longRunning(partitions, cluster, refused);
        if (!suspects.isEmpty()) {
            pause();
            retainUnchanged(suspects, longRunning(suspects.keySet(), cluster, refused));
        }
        suspects.forEach(
                (partition, producers) -> producers.forEach(producer -> report(partition, producer, cluster, notes)));
        if (!refused.isEmpty()) {
            notes.skip(
                    "this user is not permitted to describe the producers of " + String.join(", ", refused),
                    refused.stream()
                            .map(name -> cluster.grantCommand("Read", "--topic " + name))
                            .toArray(String[]::new));
        }
        if (suspects.isEmpty()) {
            notes.ok("no transaction has been open for more than " + DurationsAndSizes.duration(LONG_MS));
        }
    }

    /**
     * Returns the producers whose transaction has last written long ago, by the time of its last record. Records can be
     * older than they are, for example those of changelogs while a backlog is processed, so a transaction is reported
     * only if it is still open at a second look.
     *
     * @param refused receives the topics whose producers this user may not describe
     */
    private static Map<TopicPartition, List<ProducerState>> longRunning(
            Collection<TopicPartition> partitions, ClusterView cluster, Set<String> refused) {
        DescribeProducersResult answers = cluster.admin().describeProducers(partitions);
        Map<TopicPartition, List<ProducerState>> found = new LinkedHashMap<>();
        for (TopicPartition partition : partitions) {
            try {
                List<ProducerState> producers =
                        cluster.await(answers.partitionResult(partition)).activeProducers().stream()
                                .filter(producer ->
                                        producer.currentTransactionStartOffset().isPresent()
                                                && ageMs(producer) >= LONG_MS)
                                .toList();
                if (!producers.isEmpty()) {
                    found.put(partition, producers);
                }
            } catch (TopicAuthorizationException e) {
                refused.add(partition.topic());
            }
        }
        return found;
    }

    private static void retainUnchanged(
            Map<TopicPartition, List<ProducerState>> suspects, Map<TopicPartition, List<ProducerState>> later) {
        suspects.replaceAll((partition, producers) -> producers.stream()
                .filter(producer -> later.getOrDefault(partition, List.of()).stream()
                        .anyMatch(other -> other.producerId() == producer.producerId()
                                && other.currentTransactionStartOffset()
                                        .equals(producer.currentTransactionStartOffset())))
                .toList());
        suspects.values().removeIf(List::isEmpty);
    }

    private static void pause() {
        try {
            Thread.sleep(SECOND_LOOK_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long ageMs(ProducerState producer) {
        return System.currentTimeMillis() - producer.lastTimestamp();
    }

    private static void report(
            TopicPartition partition, ProducerState producer, ClusterView cluster, FindingCollector notes) {
        long ageMs = ageMs(producer);
        long start = producer.currentTransactionStartOffset().getAsLong();
        String found = partition + ": a transaction has been open since offset " + start + ", and last wrote "
                + MachineChecks.time(ageMs) + " ago; later records are not read";
        if (ageMs < HANGING_MS) {
            notes.warn(
                    found + " until its producer ends it, or it times out",
                    cluster.tools().describeProducers(partition.topic(), partition.partition()));
        } else {
            notes.fail(found, cluster.tools().abortTransaction(partition.topic(), partition.partition(), start));
        }
    }
}
