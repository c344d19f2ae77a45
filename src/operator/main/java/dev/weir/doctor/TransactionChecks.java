package dev.weir.doctor;

import dev.weir.policy.DurationsAndSizes;
import dev.weir.transaction.OpenTransaction;
import dev.weir.transaction.TransactionInspector;
import dev.weir.transaction.TransactionVerdict;
import dev.weir.transaction.TransactionVerdict.MayRun;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;

/** Checks for transactions that stay open. Consumers with read_committed, such as Weir's, do not read beyond them. */
final class TransactionChecks {

    /** A running transaction of Weir is never open for this long. */
    private static final long LONG_MS = 60_000;

    /** The time between the two looks, longer than transactions of a busy instance are open. */
    private static final long SECOND_LOOK_MS = 3_000;

    private TransactionChecks() {}

    /** A transaction that was open at both looks, and what is known about it. */
    record Judged(OpenTransaction open, TransactionVerdict verdict) {

        /** Returns whether the transaction may run, and has written not long ago by the time of its last record. */
        boolean isUsual() {
            return (verdict instanceof Running || verdict instanceof MayRun) && ageMs() < LONG_MS;
        }

        /** Returns whether the transaction would have ended since its last record if it had been running. */
        boolean isOlderThan(Duration longest) {
            return ageMs() > longest.toMillis();
        }

        long ageMs() {
            return System.currentTimeMillis() - open.lastTimestamp();
        }
    }

    static void check(ClusterView cluster, FindingCollector findings) {
        if (partitions(cluster).isEmpty()) {
            findings.skip("there are no topics, or this user is not permitted to describe them");
            return;
        }
        Set<String> refused = new TreeSet<>();
        List<Judged> found =
                find(cluster, refused).stream().filter(one -> !one.isUsual()).toList();
        found.forEach(one -> report(one, cluster, findings));
        if (!refused.isEmpty()) {
            findings.skip(
                    "this user is not permitted to describe the producers of " + String.join(", ", refused),
                    refused.stream()
                            .map(name -> cluster.grantCommand("Read", "--topic " + name))
                            .toArray(String[]::new));
        }
        if (found.isEmpty()) {
            findings.ok("no transaction has been open for more than " + DurationsAndSizes.duration(LONG_MS));
        }
    }

    /**
     * Returns the transactions that are open at two looks.
     *
     * @param refused receives the topics whose producers this user may not describe
     */
    static List<Judged> find(ClusterView cluster, Set<String> refused) {
        List<TopicPartition> partitions = partitions(cluster);
        TransactionInspector inspector = new TransactionInspector(cluster.admin(), cluster.config());
        List<OpenTransaction> first = inspector.open(partitions, refused);
        if (first.isEmpty()) {
            return List.of();
        }
        pause();
        List<OpenTransaction> remaining =
                inspector
                        .open(
                                first.stream()
                                        .map(OpenTransaction::partition)
                                        .distinct()
                                        .toList(),
                                refused)
                        .stream()
                        .filter(open -> first.stream().anyMatch(open::isSame))
                        .toList();
        Map<OpenTransaction, TransactionVerdict> verdicts = inspector.judge(remaining);
        return remaining.stream()
                .map(open -> new Judged(open, verdicts.get(open)))
                .toList();
    }

    private static List<TopicPartition> partitions(ClusterView cluster) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (String name : cluster.names()) {
            TopicDescription topic = cluster.descriptions().get(name);
            if (topic != null) {
                topic.partitions().forEach(one -> partitions.add(new TopicPartition(name, one.partition())));
            }
        }
        return partitions;
    }

    private static void pause() {
        try {
            Thread.sleep(SECOND_LOOK_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void report(Judged one, ClusterView cluster, FindingCollector findings) {
        OpenTransaction open = one.open;
        TopicPartition partition = open.partition();
        String found = partition + ": a transaction has been open since offset " + open.startOffset()
                + ", and last wrote " + DurationsAndSizes.rounded(Math.max(0, one.ageMs()))
                + " ago; later records are not read; "
                + TransactionInspector.describe(one.verdict);
        if (one.verdict instanceof Running) {
            findings.warn(found, cluster.tools().describeProducers(partition.topic(), partition.partition()));
        } else if (one.verdict instanceof MayRun) {
            findings.warn(
                    found,
                    "run doctor as a user with DESCRIBE on all transactional ids, or wait: "
                            + HangingTransactionFix.COMMAND
                            + " aborts it only after the longest time that a transaction can run");
        } else if (one.verdict instanceof Undecided) {
            findings.fail(
                    found,
                    HangingTransactionFix.COMMAND + ", which asks; an abort loses the records if they were committed");
        } else {
            findings.fail(found, HangingTransactionFix.COMMAND);
        }
    }
}
