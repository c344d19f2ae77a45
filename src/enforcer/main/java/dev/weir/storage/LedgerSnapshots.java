package dev.weir.storage;

import dev.weir.decision.PolicyLedger;
import dev.weir.limit.SegmentStore;
import dev.weir.policy.Policy;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** Reads the ledgers of a task that goes on working, as {@link SnapshotStates} does states. */
public final class LedgerSnapshots {

    private static final int ATTEMPTS = 10;

    private final ReadOnlyKeyValueStore<Bytes, byte[]> ledgers;
    private final ReadOnlyKeyValueStore<Bytes, byte[]> segments;

    public LedgerSnapshots(
            ReadOnlyKeyValueStore<Bytes, byte[]> ledgers, ReadOnlyKeyValueStore<Bytes, byte[]> segments) {
        this.ledgers = ledgers;
        this.segments = segments;
    }

    /**
     * What there is to tell of a ledger as it is at a time under a policy, a fresh one if there is none yet; nothing if
     * it changed each time before it was read.
     */
    public <T> Optional<T> attempt(Policy policy, byte[] key, long nowMs, Function<PolicyLedger, T> what) {
        IntFunction<SegmentStore> shelves = shelf -> new SnapshotSegments(segments, key, shelf);
        for (int i = 0; i < ATTEMPTS; i++) {
            byte[] stored = ledgers.get(Bytes.wrap(key));
            T told;
            try {
                PolicyLedger ledger = stored == null
                        ? PolicyLedger.open(policy, nowMs, shelves)
                        : LeaseCodec.decodeLedger(stored, shelves)
                                .advancedTo(nowMs)
                                .migrateTo(policy, nowMs, shelves);
                told = what.apply(ledger);
            } catch (SnapshotSegments.GoneException e) {
                continue;
            }
            if (Arrays.equals(stored, ledgers.get(Bytes.wrap(key)))) {
                return Optional.of(told);
            }
        }
        return Optional.empty();
    }
}
