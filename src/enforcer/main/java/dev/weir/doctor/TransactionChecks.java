package dev.weir.doctor;

import dev.weir.policy.DurationsAndSizes;
import java.util.ArrayList;
import java.util.List;
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
        DescribeProducersResult answers = cluster.admin().describeProducers(partitions);
        Set<String> refused = new TreeSet<>();
        long open = 0;
        for (TopicPartition partition : partitions) {
            try {
                open += cluster.await(answers.partitionResult(partition)).activeProducers().stream()
                        .filter(producer -> reportIfLongRunning(partition, producer, cluster, notes))
                        .count();
            } catch (TopicAuthorizationException e) {
                refused.add(partition.topic());
            }
        }
        if (!refused.isEmpty()) {
            notes.skip(
                    "this user is not permitted to describe the producers of " + String.join(", ", refused),
                    refused.stream()
                            .map(name -> cluster.grantCommand("Read", "--topic " + name))
                            .toArray(String[]::new));
        }
        if (open == 0) {
            notes.ok("no transaction has been open for more than " + DurationsAndSizes.duration(LONG_MS));
        }
    }

    private static boolean reportIfLongRunning(
            TopicPartition partition, ProducerState producer, ClusterView cluster, FindingCollector notes) {
        long ageMs = System.currentTimeMillis() - producer.lastTimestamp();
        if (producer.currentTransactionStartOffset().isEmpty() || ageMs < LONG_MS) {
            return false;
        }
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
        return true;
    }
}
