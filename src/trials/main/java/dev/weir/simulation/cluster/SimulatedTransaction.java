package dev.weir.simulation.cluster;

import dev.weir.event.Request;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The records that one stream thread has read and written since its last commit. */
public final class SimulatedTransaction {

    private enum State {
        OPEN,
        COMMITTED,
        ABORTED
    }

    public final String group;
    final List<Entry> entries = new ArrayList<>();

    /**
     * The next offset of each partition read. The group coordinator does not return it until the transaction has ended.
     */
    final Map<SimulatedPartition, Long> offsets = new LinkedHashMap<>();

    /** The policies and time by which each request was decided. */
    final Map<Request.Source, SimulatedTask.Used> used = new HashMap<>();

    private State state = State.OPEN;

    SimulatedTransaction(String group) {
        this.group = group;
    }

    public boolean writes(String topic) {
        return entries.stream().anyMatch(entry -> entry.partition().topic.equals(topic));
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean isCommitted() {
        return state == State.COMMITTED;
    }

    void commit() {
        state = State.COMMITTED;
    }

    void abort() {
        state = State.ABORTED;
    }
}
