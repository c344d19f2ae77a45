package dev.weir.storage;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.ReservationSummary;
import dev.weir.policy.RequestKey;
import dev.weir.storage.codec.ReservationCodec;
import dev.weir.storage.codec.ReservationEntry;
import dev.weir.storage.codec.ReservationEntry.Bounds;
import dev.weir.storage.codec.ReservationEntry.Reserved;
import java.util.function.LongConsumer;

/**
 * {@link BoundedReservations} in a store with a write-back cache. Between two commits, they write to the cache only.
 * With each commit, the store gets the reservations that were changed, blocks of expiry entries, and the bounds of the
 * expiry queues. Each reservation is written when it is opened, when it is ended, and when it is deleted.
 *
 * <p>{@link ReservedKeys} spare the reads of absent reservations: each request can repeat one that has reserved.
 */
public final class StoredReservations {

    private StoredReservations() {}

    /**
     * Opens the reservations in a store. At each flush of the store, they write the bounds of their expiry queues.
     *
     * @param size receives the number of reservations, now and at each flush
     */
    public static BoundedReservations open(
            WriteBackStore<byte[], ReservationEntry> store, WeirConfig.State config, LongConsumer size) {
        store.open(new ReservationCodec());
        ReservationSummary stored = store.read(ReservationCodec.boundsKey()) instanceof Bounds bounds
                ? bounds.summary()
                : ReservationSummary.EMPTY;
        ReservedKeys keys = new ReservedKeys();
        StoredExpiryQueues queues = new StoredExpiryQueues(store, keys);
        queues.addKeys(stored);
        BoundedReservations reservations = new BoundedReservations(
                new BoundedReservations.Storage(new Reservations(store, keys), queues, stored),
                config.most().reservations(),
                config.retention().toMillis());
        size.accept(reservations.size());
        store.beforeFlush(new Runnable() {
            private ReservationSummary written = stored;

            @Override
            public void run() {
                ReservationSummary current = reservations.summary();
                if (!current.equals(written)) {
                    store.put(ReservationCodec.boundsKey(), new Bounds(current));
                    written = current;
                    size.accept(reservations.size());
                }
            }
        });
        return reservations;
    }

    /** Reservations that were ended are hardly read again, and leave the cache when they are written. */
    private record Reservations(WriteBackStore<byte[], ReservationEntry> store, ReservedKeys keys)
            implements KeyValueTable<RequestKey, ReservationRecord> {

        @Override
        public ReservationRecord get(RequestKey key) {
            byte[] bytes = ReservationCodec.key(key);
            return keys.mayContain(bytes) && store.read(bytes) instanceof Reserved reserved
                    ? reserved.reservation()
                    : null;
        }

        @Override
        public void put(RequestKey key, ReservationRecord value) {
            if (value.ending().isPresent()) {
                store.putCold(ReservationCodec.key(key), new Reserved(value));
            } else {
                store.put(ReservationCodec.key(key), new Reserved(value));
            }
        }

        @Override
        public void delete(RequestKey key) {
            store.delete(ReservationCodec.key(key));
        }
    }
}
