package dev.weir.simulation.cluster;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.simulation.schedule.InjectedFlaw;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * A stream thread of one application, whose tasks share a transaction. It does not notice that it is expelled from its
 * group until its next commit.
 */
public final class GroupMember implements SimulatedTask.Writes {

    private static final int NEVER = Integer.MAX_VALUE;

    public final SimulatedInstance instance;
    final String group;
    public final Map<SimulatedTaskSlot, SimulatedTask> tasks = new TreeMap<>();
    public boolean isExpelled;

    private final SimulatedCluster cluster;
    private final WeirConfig config;
    private final InjectedFlaw flaw;
    private SimulatedTransaction transaction;
    private boolean isPrepared;
    private boolean isFlushing;
    private int writesToLive = NEVER;

    GroupMember(
            SimulatedInstance instance, String group, SimulatedCluster cluster, WeirConfig config, InjectedFlaw flaw) {
        this.instance = instance;
        this.group = group;
        this.cluster = cluster;
        this.config = config;
        this.flaw = flaw;
    }

    /** Lets the process be killed after this many further writes. */
    public void killAfter(int writes) {
        writesToLive = writes;
    }

    public void liveOn() {
        writesToLive = NEVER;
    }

    /** Returns whether it is within a commit, during which it does nothing else. */
    public boolean isPrepared() {
        return isPrepared;
    }

    public SimulatedTransaction transaction() {
        return transaction;
    }

    @Override
    public void output(SimulatedTask.Output to, byte[] key, byte[] value, Headers headers, long timestampMs) {
        beforeWrite();
        String topic = to.topic();
        SimulatedPartition partition =
                to.partition() == null ? cluster.outputPartition(topic, key) : cluster.partition(topic, to.partition());
        long appendedMs = topic.equals(SimulatedTaskSlot.TOPICS.policies()) ? timestampMs : cluster.appendMs();
        cluster.append(partition, key, value, headers, appendedMs, transaction);
    }

    @Override
    public void changelog(SimulatedTaskSlot slot, String store, byte[] key, byte[] value) {
        beforeWrite();
        if (flaw != InjectedFlaw.CHANGELOG_LOST) {
            cluster.append(slot.changelog(cluster, store), key, value, new RecordHeaders(), 0, transaction);
        }
    }

    @Override
    public void decidedBy(Request.Source source, SimulatedTask.Used used) {
        begin();
        transaction.used.put(source, used);
    }

    private void beforeWrite() {
        if (writesToLive-- == 0) {
            throw new ProcessKilledException(this);
        }
        begin();
    }

    private void begin() {
        if (transaction == null) {
            transaction = cluster.begin(group);
        }
    }

    /** Takes over a task. Returns false while transactions of the previous owner are open. */
    boolean open(SimulatedTaskSlot slot) {
        Map<SimulatedPartition, Long> from = offsets(slot);
        LocalState state = instance.disk.computeIfAbsent(slot, s -> new LocalState(s, cluster, flaw));
        if (from == null || !state.isSettled()) {
            return false;
        }
        state.restore();
        SimulatedTask task = new SimulatedTask(
                slot, cluster.partitions(SimulatedTaskSlot.TOPICS.requests()), instance, this, config, flaw);
        tasks.put(slot, task);
        task.open(state, from);
        return true;
    }

    /** Returns the committed offsets of the inputs of a task, null while an open transaction contains them. */
    private Map<SimulatedPartition, Long> offsets(SimulatedTaskSlot slot) {
        Map<SimulatedPartition, Long> offsets = new LinkedHashMap<>();
        for (SimulatedPartition input : slot.inputs(cluster)) {
            Long offset = flaw == InjectedFlaw.IMPATIENT_TAKEOVER
                    ? (Long) cluster.committedOffset(group, input)
                    : cluster.offset(group, input);
            if (offset == null) {
                return null;
            }
            offsets.put(input, offset);
        }
        return offsets;
    }

    public boolean step(SimulatedTaskSlot slot) {
        SimulatedTask task = tasks.get(slot);
        boolean stepped = task.step();
        if (stepped) {
            begin();
        }
        return stepped;
    }

    public int punctuate() {
        int fired = 0;
        for (SimulatedTask task : List.copyOf(tasks.values())) {
            fired += task.punctuate();
        }
        return fired;
    }

    /**
     * Flushes cached state, and adds the offsets to the transaction. Returns false if the thread was expelled or the
     * transaction timed out; then everything uncommitted is undone.
     */
    public boolean prepare() {
        boolean isFenced = isExpelled && flaw != InjectedFlaw.ZOMBIES_COMMIT;
        if (isFenced || (transaction != null && !transaction.isOpen())) {
            loseAll();
            return false;
        }
        if (transaction == null) {
            return true;
        }
        if (flaw != InjectedFlaw.FLUSHED_AFTER_COMMIT) {
            flush();
        }
        Map<SimulatedPartition, Long> offsets = new LinkedHashMap<>();
        tasks.values().forEach(task -> offsets.putAll(task.positions()));
        cluster.prepare(transaction, offsets);
        isPrepared = true;
        return true;
    }

    /** Ends the commit. Returns false if the transaction timed out; then everything uncommitted is undone. */
    public boolean commit() {
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
        if (flaw == InjectedFlaw.FLUSHED_AFTER_COMMIT) {
            flush();
        }
        return true;
    }

    private void flush() {
        isFlushing = true;
        tasks.values().forEach(SimulatedTask::flush);
        isFlushing = false;
    }

    /** Returns whether it is flushing cached state. */
    public boolean isFlushing() {
        return isFlushing;
    }

    /** Closes a task cleanly. Its work must be committed. */
    void close(SimulatedTaskSlot slot) {
        SimulatedTask task = tasks.remove(slot);
        task.close();
        task.state().checkpoint();
    }

    /**
     * Handles the loss of all tasks: aborts the transaction, closes the tasks, deletes their local
     * state, and rejoins the group.
     */
    public void loseAll() {
        abort();
        tasks.values().forEach(SimulatedTask::close);
        tasks.keySet().forEach(instance.disk::remove);
        tasks.clear();
        isExpelled = false;
    }

    /**
     * Handles a failure of the tasks: undoes uncommitted work and restarts the same processors from committed state.
     * Returns false if the tasks are lost instead.
     */
    public boolean revive() {
        abort();
        if (!tasks.keySet().stream().allMatch(slot -> offsets(slot) != null && isSettled(slot))) {
            loseAll();
            return false;
        }
        tasks.forEach((slot, task) -> {
            task.close();
            LocalState state = task.state();
            if (flaw != InjectedFlaw.STATE_SURVIVES_ABORT) {
                state = new LocalState(slot, cluster, flaw);
                instance.disk.put(slot, state);
                state.restore();
            }
            task.open(state, offsets(slot));
        });
        return true;
    }

    private boolean isSettled(SimulatedTaskSlot slot) {
        return instance.disk.get(slot).isSettled();
    }

    private void abort() {
        isPrepared = false;
        if (transaction != null && transaction.isOpen()) {
            cluster.abort(transaction);
        }
        transaction = null;
    }

    /**
     * Ends like a killed process: the transaction stays open until the coordinator times it out, and the local
     * state of the tasks is deleted.
     */
    void die() {
        tasks.keySet().forEach(instance.disk::remove);
        tasks.clear();
    }

    @Override
    public String toString() {
        return group + " of " + instance;
    }
}
