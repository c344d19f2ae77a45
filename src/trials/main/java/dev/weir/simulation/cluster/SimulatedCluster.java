package dev.weir.simulation.cluster;

import dev.weir.event.Request;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.header.Headers;

/**
 * The brokers: topics, transactions and committed offsets. A transaction ends at the same moment in all partitions;
 * otherwise they behave as Kafka does under {@code exactly_once_v2}.
 */
public final class SimulatedCluster {

    private record Reading(String group, SimulatedPartition partition) {}

    private final Map<String, SimulatedPartition> partitions = new TreeMap<>();
    private final Map<Reading, Long> offsets = new HashMap<>();
    private final List<SimulatedTransaction> open = new ArrayList<>();
    private final List<Entry> newlyCommitted = new ArrayList<>();
    private final SchedulePlan plan;
    private final InjectedFlaw flaw;
    private final Map<Request.Source, SimulatedTask.Used> newlyUsed = new HashMap<>();
    private long nowMs;
    private long leaderAheadMs;

    public SimulatedCluster(SchedulePlan plan, InjectedFlaw flaw) {
        this.plan = plan;
        this.flaw = flaw;
    }

    /** @param aheadMs by how much the clock of the leaders is ahead of the true time */
    public void setTime(long trueMs, long aheadMs) {
        nowMs = trueMs;
        leaderAheadMs = aheadMs;
    }

    /** Returns the true time. */
    public long nowMs() {
        return nowMs;
    }

    /** Returns the append time of a leader. */
    public long appendMs() {
        return nowMs + leaderAheadMs;
    }

    /** Returns the number of partitions of a topic. */
    int partitions(String topic) {
        if (topic.equals(SimulatedTaskSlot.TOPICS.policies())) {
            return 1;
        }
        boolean isOfShaping = topic.equals(SimulatedTaskSlot.TOPICS.admissions())
                || topic.equals(SimulatedTaskSlot.TOPICS.leaseRequests());
        return isOfShaping ? plan.size().queuePartitions() : plan.size().partitions();
    }

    /** Returns the partition of a key. Records without a key, such as some dead letters, go to partition 0. */
    public SimulatedPartition outputPartition(String topic, byte[] key) {
        return partition(topic, key == null ? 0 : BuiltInPartitioner.partitionForKey(key, partitions(topic)));
    }

    public SimulatedPartition partition(String topic, int number) {
        return partitions.computeIfAbsent(topic + "/" + number, name -> new SimulatedPartition(topic, number));
    }

    SimulatedTransaction begin(String group) {
        SimulatedTransaction transaction = new SimulatedTransaction(group);
        open.add(transaction);
        return transaction;
    }

    public List<SimulatedTransaction> open() {
        return open;
    }

    /** @param transaction the transaction of the record, null for none */
    void append(
            SimulatedPartition partition,
            byte[] key,
            byte[] value,
            Headers headers,
            long timestampMs,
            SimulatedTransaction transaction) {
        Entry entry = partition.append(key, value, headers, timestampMs, transaction);
        if (transaction != null) {
            transaction.entries.add(entry);
        }
    }

    /** Returns the committed offset of a group, null while an open transaction changes it. */
    Long offset(String group, SimulatedPartition partition) {
        for (SimulatedTransaction transaction : open) {
            if (transaction.group.equals(group) && transaction.offsets.containsKey(partition)) {
                return null;
            }
        }
        return committedOffset(group, partition);
    }

    public long committedOffset(String group, SimulatedPartition partition) {
        return offsets.getOrDefault(new Reading(group, partition), 0L);
    }

    /** Adds the offsets of its thread to a transaction. */
    void prepare(SimulatedTransaction transaction, Map<SimulatedPartition, Long> read) {
        transaction.offsets.putAll(read);
        if (flaw == InjectedFlaw.OFFSETS_OUTSIDE_TRANSACTION) {
            read.forEach((partition, offset) -> offsets.put(new Reading(transaction.group, partition), offset));
        }
    }

    void commit(SimulatedTransaction transaction) {
        transaction.offsets.forEach(
                (partition, offset) -> offsets.put(new Reading(transaction.group, partition), offset));
        transaction.commit();
        end(transaction);
        newlyCommitted.addAll(transaction.entries);
        newlyUsed.putAll(transaction.used);
    }

    public void abort(SimulatedTransaction transaction) {
        if (flaw == InjectedFlaw.OUTPUT_SURVIVES_ABORT) {
            transaction.commit();
            newlyCommitted.addAll(transaction.entries);
            newlyUsed.putAll(transaction.used);
        } else {
            transaction.abort();
        }
        end(transaction);
    }

    private void end(SimulatedTransaction transaction) {
        open.remove(transaction);
        Set<SimulatedPartition> touched = new LinkedHashSet<>();
        transaction.entries.forEach(entry -> touched.add(entry.partition()));
        touched.forEach(SimulatedPartition::mark);
    }

    /**
     * Removes and returns the policies and time by which a request was decided, once that is committed; null before.
     */
    public SimulatedTask.Used takeUsed(Request.Source source) {
        return newlyUsed.remove(source);
    }

    /** Returns the records that were committed since the last call. */
    public List<Entry> takeEntries() {
        List<Entry> taken = List.copyOf(newlyCommitted);
        newlyCommitted.clear();
        return taken;
    }
}
