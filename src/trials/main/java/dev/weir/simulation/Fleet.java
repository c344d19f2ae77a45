package dev.weir.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** The instances, and which member of a group has which task. */
final class Fleet {

    /** Where an instance runs: what stays when its process dies. */
    private static final class Machine {
        final Map<SimulatedSlot, LocalState> disk = new TreeMap<>();
        final List<Transaction> left = new ArrayList<>();
        SimulatedInstance instance;
        long skewMs;
        long jitterMs;
    }

    private final Random random;
    private final Cluster cluster;
    private final Plan plan;
    private final Flaw flaw;
    private final List<Machine> machines = new ArrayList<>();
    private final Map<SimulatedSlot, Member> owners = new TreeMap<>();
    private final List<SimulatedSlot> slots = new ArrayList<>();

    Fleet(Random random, Cluster cluster, Plan plan, Flaw flaw) {
        this.random = random;
        this.cluster = cluster;
        this.plan = plan;
        this.flaw = flaw;
        for (int partition = 0; partition < plan.partitions(); partition++) {
            slots.add(new SimulatedSlot(SimulatedSlot.Role.DECIDE, partition));
        }
        for (int partition = 0; partition < plan.queuePartitions(); partition++) {
            slots.add(new SimulatedSlot(SimulatedSlot.Role.SHAPE, partition));
            slots.add(new SimulatedSlot(SimulatedSlot.Role.LEND, partition));
        }
        slots.add(new SimulatedSlot(SimulatedSlot.Role.CHECK, 0));
        for (int number = 0; number < plan.instances(); number++) {
            machines.add(new Machine());
            setClock(number);
            start(number);
        }
    }

    /** The clock of a machine jumps. */
    void setClock(int number) {
        machines.get(number).jitterMs = upTo(plan.skewMs());
    }

    private int upTo(int mostMs) {
        return mostMs == 0 ? 0 : random.nextInt(2 * mostMs) - mostMs;
    }

    /** Starts a process where there is none; what the one before had begun is aborted. */
    boolean start(int number) {
        Machine machine = machines.get(number);
        if (machine.instance != null) {
            return false;
        }
        machine.left.stream().filter(Transaction::isOpen).forEach(cluster::abort);
        machine.left.clear();
        machine.skewMs = upTo(plan.skewMs() == 0 ? 0 : Plan.MOST_SKEW_MS);
        machine.instance = new SimulatedInstance(
                number,
                cluster,
                () -> cluster.nowMs() + machine.skewMs + machine.jitterMs,
                machine.disk,
                plan.config(),
                flaw);
        return true;
    }

    /** A process ends; its transactions stay open. */
    boolean kill(int number) {
        Machine machine = machines.get(number);
        if (machine.instance == null) {
            return false;
        }
        for (Member member : machine.instance.members) {
            if (member.transaction() != null) {
                machine.left.add(member.transaction());
            }
            member.die();
        }
        machine.instance = null;
        return true;
    }

    /** Follows the changelogs of a task that another has. */
    boolean standBy(int number) {
        SimulatedInstance instance = machines.get(number).instance;
        SimulatedSlot slot = anySlot();
        if (instance == null || instance.members.stream().anyMatch(member -> member.tasks.containsKey(slot))) {
            return false;
        }
        LocalState state = machines.get(number).disk.computeIfAbsent(slot, s -> new LocalState(s, cluster, flaw));
        slot.role().stores.forEach(store -> state.follow(store, random.nextInt(20)));
        return true;
    }

    /** The instances that run. */
    List<SimulatedInstance> instances() {
        List<SimulatedInstance> running = new ArrayList<>();
        machines.forEach(machine -> {
            if (machine.instance != null) {
                running.add(machine.instance);
            }
        });
        return running;
    }

    /** The stream threads that run. */
    List<Member> members() {
        List<Member> members = new ArrayList<>();
        instances().forEach(instance -> members.addAll(instance.members));
        return members;
    }

    List<SimulatedSlot> slots() {
        return slots;
    }

    private SimulatedSlot anySlot() {
        return slots.get(random.nextInt(slots.size()));
    }

    /** A member is thrown out of its group, and does not know. */
    void expel(Member member) {
        member.isExpelled = true;
        assign(false);
    }

    /**
     * Gives tasks that nobody has to members.
     *
     * @param moves whether one that somebody has is moved, after a commit
     */
    void assign(boolean moves) {
        SimulatedSlot moved = moves ? anySlot() : null;
        for (SimulatedSlot slot : slots) {
            Member owner = owners.get(slot);
            boolean isOrphan = owner == null || owner.isExpelled || !members().contains(owner);
            if (isOrphan || (slot.equals(moved) && letGo(owner, slot))) {
                List<Member> candidates = members().stream()
                        .filter(member -> member.group.equals(slot.role().group) && !member.isExpelled)
                        .toList();
                owners.put(slot, candidates.isEmpty() ? null : candidates.get(random.nextInt(candidates.size())));
            }
        }
    }

    private static boolean letGo(Member owner, SimulatedSlot slot) {
        if (owner.isPrepared()) {
            return false;
        }
        if (owner.tasks.containsKey(slot) && owner.prepare() && owner.commit()) {
            owner.close(slot);
        }
        return true;
    }

    /** The owner of a task begins with it, if it has not; whether it now has. */
    boolean open(SimulatedSlot slot) {
        Member owner = owners.get(slot);
        if (owner == null
                || owner.isExpelled
                || owner.isPrepared()
                || !members().contains(owner)) {
            return false;
        }
        return owner.tasks.containsKey(slot) || owner.open(slot);
    }

    int size() {
        return machines.size();
    }
}
