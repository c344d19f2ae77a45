package dev.weir.simulation;

import dev.weir.event.Request;
import dev.weir.simulation.SimulatedPartition.Entry;
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
 * The brokers: topics, transactions, and how far each group has read. A transaction ends at one moment in all
 * partitions; all else is as Kafka has it under {@code exactly_once_v2}.
 */
final class SimulatedCluster {

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

    SimulatedCluster(SchedulePlan plan, InjectedFlaw flaw) {
        this.plan = plan;
        this.flaw = flaw;
    }

    /** @param aheadMs the clock of the leaders against the true time */
    void setTime(long trueMs, long aheadMs) {
        nowMs = trueMs;
        leaderAheadMs = aheadMs;
    }

    /** The true time. */
    long nowMs() {
        return nowMs;
    }

    /** The time that a leader stamps on what it appends. */
    long appendMs() {
        return nowMs + leaderAheadMs;
    }

    /** How many partitions a topic has. */
    int partitions(String topic) {
        if (topic.equals(SimulatedTaskSlot.TOPICS.policies())) {
            return 1;
        }
        boolean isOfShaping = topic.equals(SimulatedTaskSlot.TOPICS.admissions())
                || topic.equals(SimulatedTaskSlot.TOPICS.leaseRequests());
        return isOfShaping ? plan.queuePartitions() : plan.partitions();
    }

    /** Where a record of this key goes; null, as a dead letter may have, goes anywhere. */
    SimulatedPartition outputPartition(String topic, byte[] key) {
        return partition(topic, key == null ? 0 : BuiltInPartitioner.partitionForKey(key, partitions(topic)));
    }

    SimulatedPartition partition(String topic, int number) {
        return partitions.computeIfAbsent(topic + "/" + number, name -> new SimulatedPartition(topic, number));
    }

    SimulatedTransaction begin(String group) {
        SimulatedTransaction transaction = new SimulatedTransaction(group);
        open.add(transaction);
        return transaction;
    }

    List<SimulatedTransaction> open() {
        return open;
    }

    /** @param transaction null if the record is of none */
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

    /** How far a group has read; null while a transaction holds that back. */
    Long offset(String group, SimulatedPartition partition) {
        for (SimulatedTransaction transaction : open) {
            if (transaction.group.equals(group) && transaction.offsets.containsKey(partition)) {
                return null;
            }
        }
        return committedOffset(group, partition);
    }

    long committedOffset(String group, SimulatedPartition partition) {
        return offsets.getOrDefault(new Reading(group, partition), 0L);
    }

    /** Adds to a transaction how far its thread has read. */
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

    void abort(SimulatedTransaction transaction) {
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
        touched.forEach(partition -> partition.mark(transaction));
    }

    /** By what a request was decided, as its transaction was committed; null if it was not. */
    SimulatedTask.Used takeUsed(Request.Source source) {
        return newlyUsed.remove(source);
    }

    /** What was committed since one asked. */
    List<Entry> takeEntries() {
        List<Entry> taken = List.copyOf(newlyCommitted);
        newlyCommitted.clear();
        return taken;
    }
}
