package dev.weir.simulation;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * A stream thread of one application: its tasks share a transaction. As a member of the group it may be expelled without
 * knowing, and goes on until it is to commit.
 */
final class Member implements Task.Writes {

    private static final int NEVER = Integer.MAX_VALUE;

    final SimulatedInstance instance;
    final String group;
    final Map<SimulatedSlot, Task> tasks = new TreeMap<>();
    boolean isExpelled;

    private final Cluster cluster;
    private final WeirConfig config;
    private final Flaw flaw;
    private Transaction transaction;
    private boolean isPrepared;
    private boolean isFlushing;
    private int writesToLive = NEVER;

    Member(SimulatedInstance instance, String group, Cluster cluster, WeirConfig config, Flaw flaw) {
        this.instance = instance;
        this.group = group;
        this.cluster = cluster;
        this.config = config;
        this.flaw = flaw;
    }

    /** It is killed at one of its next writes. */
    void killAfter(int writes) {
        writesToLive = writes;
    }

    void liveOn() {
        writesToLive = NEVER;
    }

    /** Whether it is within a commit, and does nothing else. */
    boolean isPrepared() {
        return isPrepared;
    }

    Transaction transaction() {
        return transaction;
    }

    @Override
    public void output(Task.Output to, byte[] key, byte[] value, Headers headers, long timestampMs) {
        beforeWrite();
        String topic = to.topic();
        Partition partition =
                to.partition() == null ? cluster.outputPartition(topic, key) : cluster.partition(topic, to.partition());
        long appendedMs = topic.equals(SimulatedSlot.TOPICS.policies()) ? timestampMs : cluster.appendMs();
        cluster.append(partition, key, value, headers, appendedMs, transaction);
    }

    @Override
    public void changelog(SimulatedSlot slot, String store, byte[] key, byte[] value) {
        beforeWrite();
        if (flaw != Flaw.CHANGELOG_LOST) {
            cluster.append(slot.changelog(cluster, store), key, value, new RecordHeaders(), 0, transaction);
        }
    }

    @Override
    public void decidedBy(Request.Source source, Task.Used used) {
        begin();
        transaction.used.put(source, used);
    }

    private void beforeWrite() {
        if (writesToLive-- == 0) {
            throw new Killed(this);
        }
        begin();
    }

    private void begin() {
        if (transaction == null) {
            transaction = cluster.begin(group);
        }
    }

    /** Takes over a task whose owner before is through with it; false if that is not yet known. */
    boolean open(SimulatedSlot slot) {
        Map<Partition, Long> from = offsets(slot);
        LocalState state = instance.disk.computeIfAbsent(slot, s -> new LocalState(s, cluster, flaw));
        if (from == null || !state.isSettled()) {
            return false;
        }
        state.restore();
        Task task = new Task(slot, cluster.partitions(SimulatedSlot.TOPICS.requests()), instance, this, config, flaw);
        tasks.put(slot, task);
        task.open(state, from);
        return true;
    }

    /** How far the inputs of a task are read; null while a transaction holds that back. */
    private Map<Partition, Long> offsets(SimulatedSlot slot) {
        Map<Partition, Long> offsets = new LinkedHashMap<>();
        for (Partition input : slot.inputs(cluster)) {
            Long offset = flaw == Flaw.IMPATIENT_TAKEOVER
                    ? (Long) cluster.committedOffset(group, input)
                    : cluster.offset(group, input);
            if (offset == null) {
                return null;
            }
            offsets.put(input, offset);
        }
        return offsets;
    }

    boolean step(SimulatedSlot slot) {
        Task task = tasks.get(slot);
        boolean stepped = task.step();
        if (stepped) {
            begin();
        }
        return stepped;
    }

    int punctuate() {
        int fired = 0;
        for (Task task : List.copyOf(tasks.values())) {
            fired += task.punctuate();
        }
        return fired;
    }

    /** Writes what is only on the heap, and adds the offsets to the transaction; false if it was expelled, or the transaction timed out: all is undone. */
    boolean prepare() {
        boolean isFenced = isExpelled && flaw != Flaw.ZOMBIES_COMMIT;
        if (isFenced || (transaction != null && !transaction.isOpen())) {
            loseAll();
            return false;
        }
        if (transaction == null) {
            return true;
        }
        if (flaw != Flaw.FLUSHED_AFTER_COMMIT) {
            flush();
        }
        Map<Partition, Long> offsets = new LinkedHashMap<>();
        tasks.values().forEach(task -> offsets.putAll(task.positions()));
        cluster.prepare(transaction, offsets);
        isPrepared = true;
        return true;
    }

    /** Ends the commit; false if the transaction timed out meanwhile: all is undone. */
    boolean commit() {
        isPrepared = false;
        if (transaction == null) {
            return true;
        }
        if (!transaction.isOpen()) {
            loseAll();
            return false;
        }
        cluster.commit(transaction);
        transaction = null;
        if (flaw == Flaw.FLUSHED_AFTER_COMMIT) {
            flush();
        }
        return true;
    }

    private void flush() {
        isFlushing = true;
        tasks.values().forEach(Task::flush);
        isFlushing = false;
    }

    /** Whether it is writing what was only on the heap. */
    boolean isFlushing() {
        return isFlushing;
    }

    /** Hands a task over in order; its work must be committed. */
    void close(SimulatedSlot slot) {
        Task task = tasks.remove(slot);
        task.close();
        task.state().checkpoint();
    }

    /** It has lost its tasks: aborts, closes them, and what they did not commit is wiped; then it joins anew. */
    void loseAll() {
        abort();
        tasks.values().forEach(Task::close);
        tasks.keySet().forEach(instance.disk::remove);
        tasks.clear();
        isExpelled = false;
    }

    /** Its tasks fail: what they did not commit is undone, and the same processors go on from what is committed. */
    boolean revive() {
        abort();
        if (!tasks.keySet().stream().allMatch(slot -> offsets(slot) != null && isSettled(slot))) {
            loseAll();
            return false;
        }
        tasks.forEach((slot, task) -> {
            task.close();
            LocalState state = task.state();
            if (flaw != Flaw.STATE_SURVIVES_ABORT) {
                state = new LocalState(slot, cluster, flaw);
                instance.disk.put(slot, state);
                state.restore();
            }
            task.open(state, offsets(slot));
        });
        return true;
    }

    private boolean isSettled(SimulatedSlot slot) {
        return instance.disk.get(slot).isSettled();
    }

    private void abort() {
        isPrepared = false;
        if (transaction != null && transaction.isOpen()) {
            cluster.abort(transaction);
        }
        transaction = null;
    }

    /** Dies: the transaction stays open until the coordinator times it out, and what was not committed is wiped. */
    void die() {
        tasks.keySet().forEach(instance.disk::remove);
        tasks.clear();
    }

    @Override
    public String toString() {
        return group + " of " + instance;
    }
}
