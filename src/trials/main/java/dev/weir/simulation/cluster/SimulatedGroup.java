package dev.weir.simulation.cluster;

import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** The instances, and the assignment of tasks to members of the groups. */
public final class SimulatedGroup {

    /** The machine of an instance, which outlives the process. */
    private static final class Machine {
        final Map<SimulatedTaskSlot, LocalState> disk = new TreeMap<>();
        final List<SimulatedTransaction> left = new ArrayList<>();
        SimulatedInstance instance;
        long skewMs;
        long jitterMs;
    }

    private final Random random;
    private final SimulatedCluster cluster;
    private final SchedulePlan plan;
    private final InjectedFlaw flaw;
    private final List<Machine> machines = new ArrayList<>();
    private final Map<SimulatedTaskSlot, GroupMember> owners = new TreeMap<>();
    private final List<SimulatedTaskSlot> slots = new ArrayList<>();

    public SimulatedGroup(Random random, SimulatedCluster cluster, SchedulePlan plan, InjectedFlaw flaw) {
        this.random = random;
        this.cluster = cluster;
        this.plan = plan;
        this.flaw = flaw;
        for (int partition = 0; partition < plan.size().partitions(); partition++) {
            slots.add(new SimulatedTaskSlot(SimulatedTaskSlot.Role.DECIDE, partition));
        }
        for (int partition = 0; partition < plan.size().queuePartitions(); partition++) {
            slots.add(new SimulatedTaskSlot(SimulatedTaskSlot.Role.SHAPE, partition));
            slots.add(new SimulatedTaskSlot(SimulatedTaskSlot.Role.LEND, partition));
        }
        slots.add(new SimulatedTaskSlot(SimulatedTaskSlot.Role.CHECK, 0));
        for (int number = 0; number < plan.size().instances(); number++) {
            machines.add(new Machine());
            setClock(number);
            start(number);
        }
    }

    /** Lets the clock of a machine jump. */
    public void setClock(int number) {
        machines.get(number).jitterMs = upTo(plan.skewMs());
    }

    private int upTo(int mostMs) {
        return mostMs == 0 ? 0 : random.nextInt(2 * mostMs) - mostMs;
    }

    /** Starts a process if there is none. Open transactions of the previous one are aborted. */
    public boolean start(int number) {
        Machine machine = machines.get(number);
        if (machine.instance != null) {
            return false;
        }
        machine.left.stream().filter(SimulatedTransaction::isOpen).forEach(cluster::abort);
        machine.left.clear();
        machine.skewMs = upTo(plan.skewMs() == 0 ? 0 : SchedulePlan.MOST_SKEW_MS);
        machine.instance = new SimulatedInstance(
                number,
                cluster,
                () -> cluster.nowMs() + machine.skewMs + machine.jitterMs,
                machine.disk,
                plan.config(),
                flaw);
        return true;
    }

    /** Kills a process. Its transactions stay open. */
    public boolean kill(int number) {
        Machine machine = machines.get(number);
        if (machine.instance == null) {
            return false;
        }
        for (GroupMember member : machine.instance.members) {
            if (member.transaction() != null) {
                machine.left.add(member.transaction());
            }
            member.die();
        }
        machine.instance = null;
        return true;
    }

    /** Reads changelogs of a task of another instance. */
    public boolean standBy(int number) {
        SimulatedInstance instance = machines.get(number).instance;
        SimulatedTaskSlot slot = anySlot();
        if (instance == null || instance.members.stream().anyMatch(member -> member.tasks.containsKey(slot))) {
            return false;
        }
        LocalState state = machines.get(number).disk.computeIfAbsent(slot, s -> new LocalState(s, cluster, flaw));
        slot.role().stores.forEach(store -> state.follow(store, random.nextInt(20)));
        return true;
    }

    /** Returns the running instances. */
    public List<SimulatedInstance> instances() {
        List<SimulatedInstance> running = new ArrayList<>();
        machines.forEach(machine -> {
            if (machine.instance != null) {
                running.add(machine.instance);
            }
        });
        return running;
    }

    /** Returns the running stream threads. */
    public List<GroupMember> members() {
        List<GroupMember> members = new ArrayList<>();
        instances().forEach(instance -> members.addAll(instance.members));
        return members;
    }

    public List<SimulatedTaskSlot> slots() {
        return slots;
    }

    private SimulatedTaskSlot anySlot() {
        return slots.get(random.nextInt(slots.size()));
    }

    /** Expels a member from its group. The member does not notice it. */
    public void expel(GroupMember member) {
        member.isExpelled = true;
        assign(false);
    }

    /**
     * Assigns tasks without an owner to members.
     *
     * @param moves whether a task that has an owner is moved too, after a commit
     */
    public void assign(boolean moves) {
        SimulatedTaskSlot moved = moves ? anySlot() : null;
        for (SimulatedTaskSlot slot : slots) {
            GroupMember owner = owners.get(slot);
            boolean isOrphan = owner == null || owner.isExpelled || !members().contains(owner);
            if (isOrphan || (slot.equals(moved) && letGo(owner, slot))) {
                List<GroupMember> candidates = members().stream()
                        .filter(member -> member.group.equals(slot.role().group) && !member.isExpelled)
                        .toList();
                owners.put(slot, candidates.isEmpty() ? null : candidates.get(random.nextInt(candidates.size())));
            }
        }
    }

    private static boolean letGo(GroupMember owner, SimulatedTaskSlot slot) {
        if (owner.isPrepared()) {
            return false;
        }
        if (owner.tasks.containsKey(slot) && owner.prepare() && owner.commit()) {
            owner.close(slot);
        }
        return true;
    }

    /** Opens a task at its owner, unless it is open. Returns whether it is open now. */
    public boolean open(SimulatedTaskSlot slot) {
        GroupMember owner = owners.get(slot);
        if (owner == null
                || owner.isExpelled
                || owner.isPrepared()
                || !members().contains(owner)) {
            return false;
        }
        return owner.tasks.containsKey(slot) || owner.open(slot);
    }

    public int size() {
        return machines.size();
    }
}
