package dev.weir.simulation.cluster;

import dev.weir.config.WeirConfig;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.processor.policy.UpdatePolicies;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.storage.CacheBudget;
import dev.weir.topology.Stores;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.api.Record;

/** A process: its copy of the policies, a stream thread for each of the two applications, a disk and a clock. */
public final class SimulatedInstance {

    public final int number;
    public final PolicyRegistry policies = new PolicyRegistry();
    public final QueueRegistry queues = new QueueRegistry();
    final CacheBudget hotMemory;
    final List<GroupMember> members;

    /** The disk, which outlives the process. */
    final Map<SimulatedTaskSlot, LocalState> disk;

    private final SimulatedCluster cluster;
    private final Clock clock;
    private final UpdatePolicies updates = new UpdatePolicies(policies, Stores.POLICIES);
    private final InjectedFlaw flaw;
    private long policiesRead;
    private int heard;

    /** The clock of a machine. */
    interface Clock {
        long nowMs();
    }

    SimulatedInstance(
            int number,
            SimulatedCluster cluster,
            Clock clock,
            Map<SimulatedTaskSlot, LocalState> disk,
            WeirConfig config,
            InjectedFlaw flaw) {
        this.number = number;
        this.cluster = cluster;
        this.clock = clock;
        this.disk = disk;
        this.flaw = flaw;
        hotMemory = new CacheBudget(config.state().hotMemoryBytes());
        SimulatedContext<Void, Void> context =
                new SimulatedContext<>(0, clock::nowMs, new SimulatedTimers(flaw), (record, node) -> {});
        context.add(HeapStore.<String>unlogged(Stores.POLICIES));
        updates.init(context);
        members = List.of(
                new GroupMember(this, SimulatedTaskSlot.DECIDING, cluster, config, flaw),
                new GroupMember(this, SimulatedTaskSlot.SHAPING, cluster, config, flaw));
        while (readPolicy()) {} // reads all policies before the first decision
    }

    static Map<SimulatedTaskSlot, LocalState> emptyDisk() {
        return new TreeMap<>();
    }

    /** Reads the next policy change. Returns false if there is none. */
    public boolean readPolicy() {
        SimulatedPartition.Entry entry =
                cluster.partition(SimulatedTaskSlot.TOPICS.policies(), 0).next(policiesRead);
        if (entry == null) {
            return false;
        }
        policiesRead = entry.offset() + 1;
        if (flaw == InjectedFlaw.CHANGES_MISSED && heard++ % 5 == 4) {
            return true;
        }
        String key = new String(entry.key(), StandardCharsets.UTF_8);
        updates.process(new Record<>(key, entry.value(), entry.timestampMs()));
        return true;
    }

    public long nowMs() {
        return clock.nowMs();
    }

    @Override
    public String toString() {
        return "instance " + number;
    }
}
