package dev.weir.simulation;

import dev.weir.simulation.SimulatedPartition.Entry;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Bytes;

/** What an instance has of a task on its disk: the stores, and how far they have followed their changelogs. */
final class LocalState {

    private final SimulatedTaskSlot slot;
    private final SimulatedCluster cluster;
    private final InjectedFlaw flaw;
    private final Map<String, NavigableMap<Bytes, byte[]>> stores = new LinkedHashMap<>();
    private final Map<String, Long> positions = new LinkedHashMap<>();

    LocalState(SimulatedTaskSlot slot, SimulatedCluster cluster, InjectedFlaw flaw) {
        this.slot = slot;
        this.cluster = cluster;
        this.flaw = flaw;
        for (String store : slot.role().stores) {
            stores.put(store, new TreeMap<>());
            positions.put(store, 0L);
        }
    }

    NavigableMap<Bytes, byte[]> store(String name) {
        return stores.get(name);
    }

    /** Whether all that was written until now is committed or aborted: a restore waits for that. */
    boolean isSettled() {
        return flaw == InjectedFlaw.IMPATIENT_TAKEOVER
                || slot.role().stores.stream()
                        .map(store -> slot.changelog(cluster, store))
                        .allMatch(changelog -> changelog.lastStable() == changelog.end());
    }

    /** Follows the changelogs to their ends. */
    void restore() {
        slot.role().stores.forEach(store -> follow(store, Long.MAX_VALUE));
    }

    /** Follows one changelog for so many records, as a standby does. */
    void follow(String store, long records) {
        SimulatedPartition changelog = slot.changelog(cluster, store);
        long position = positions.get(store);
        long until = Math.min(changelog.lastStable(), records > changelog.end() ? changelog.end() : position + records);
        for (; position < until; position++) {
            Entry entry = changelog.at(position);
            if (entry.isCommitted() || (flaw == InjectedFlaw.ABORTED_STATE_RESTORED && !entry.isMarker())) {
                apply(stores.get(store), entry);
            }
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

    /** Takes note that the stores hold all that is committed. */
    void checkpoint() {
        positions.replaceAll((store, position) -> slot.changelog(cluster, store).end());
    }
}
