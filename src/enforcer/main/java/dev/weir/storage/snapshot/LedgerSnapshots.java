package dev.weir.storage.snapshot;

import dev.weir.decision.state.PolicyLedger;
import dev.weir.policy.Policy;
import dev.weir.storage.codec.LeaseCodec;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** Reads the ledgers of a running task consistently, as {@link SnapshotStates} does with states. */
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
     * Applies a function to a consistent snapshot of a ledger, advanced to {@code nowMs} and migrated to
     * {@code policy}. If the ledger does not exist, the function receives a new one.
     *
     * @return empty if the ledger changed during each of {@value #ATTEMPTS} attempts
     */
    public <T> Optional<T> attempt(Policy policy, byte[] key, long nowMs, Function<PolicyLedger, T> what) {
        for (int i = 0; i < ATTEMPTS; i++) {
            byte[] stored = ledgers.get(Bytes.wrap(key));
            T result;
            try {
                PolicyLedger ledger = stored == null
                        ? PolicyLedger.open(policy, nowMs)
                        : LeaseCodec.decodeLedger(stored, logId -> new SnapshotSegments(segments, key, logId))
                                .advancedTo(nowMs)
                                .migrateTo(policy, nowMs);
                result = what.apply(ledger);
            } catch (SnapshotSegments.GoneException e) {
                continue;
            }
            if (Arrays.equals(stored, ledgers.get(Bytes.wrap(key)))) {
                return Optional.of(result);
            }
        }
        return Optional.empty();
    }
}
