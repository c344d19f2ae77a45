package dev.weir.simulation.cluster;

import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.schedule.InjectedFlaw;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Bytes;

/** The local state of a task on an instance: the stores, and their positions in the changelogs. */
public final class LocalState {

    private final SimulatedTaskSlot slot;
    private final SimulatedCluster cluster;
    private final InjectedFlaw flaw;
    private final Map<String, NavigableMap<Bytes, byte[]>> stores = new LinkedHashMap<>();
    private final Map<String, Long> positions = new LinkedHashMap<>();

    public LocalState(SimulatedTaskSlot slot, SimulatedCluster cluster, InjectedFlaw flaw) {
        this.slot = slot;
        this.cluster = cluster;
        this.flaw = flaw;
        for (String store : slot.role().stores) {
            stores.put(store, new TreeMap<>());
            positions.put(store, 0L);
        }
    }

    public NavigableMap<Bytes, byte[]> store(String name) {
        return stores.get(name);
    }

    /** Returns whether all changelog records are committed or aborted. A restore waits for that. */
    public boolean isSettled() {
        return flaw == InjectedFlaw.IMPATIENT_TAKEOVER
                || slot.role().stores.stream()
                        .map(store -> slot.changelog(cluster, store))
                        .allMatch(changelog -> changelog.lastStable() == changelog.end());
    }

    /** Reads the changelogs to their ends. */
    public void restore() {
        slot.role().stores.forEach(store -> follow(store, Long.MAX_VALUE));
    }

    /** Reads up to {@code records} records of one changelog, as a standby does. */
    public void follow(String store, long records) {
        SimulatedPartition changelog = slot.changelog(cluster, store);
        long position = positions.get(store);
        long until = Math.min(changelog.lastStable(), records > changelog.end() ? changelog.end() : position + records);
        for (; position < until; position++) {
            changelog
                    .at(position)
                    .filter(entry -> entry.isCommitted() || flaw == InjectedFlaw.ABORTED_STATE_RESTORED)
                    .ifPresent(entry -> apply(stores.get(store), entry));
        }
        positions.put(store, position);
    }

    private static void apply(NavigableMap<Bytes, byte[]> store, Entry entry) {
        if (entry.value() == null) {
            store.remove(Bytes.wrap(entry.key()));
        } else {
            store.put(Bytes.wrap(entry.key()), entry.value());
        }
    }

    /** Marks the stores as up to date with the changelogs. */
    void checkpoint() {
        positions.replaceAll((store, position) -> slot.changelog(cluster, store).end());
    }
}
