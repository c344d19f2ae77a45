package dev.weir.storage;

import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.decision.state.ReservationSummary;
import dev.weir.storage.codec.ReservationCodec;
import dev.weir.storage.codec.ReservationEntry;
import dev.weir.storage.codec.ReservationEntry.Expiries;
import dev.weir.wire.KeyCodec;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * Expiry queues in blocks of entries whose positions follow each other. Entries must be added and deleted in the order
 * of their positions, starting with that of a block. A block stays until its last position is deleted.
 */
public final class StoredExpiryQueues implements KeyValueTable<Long, ExpiryEntry> {

    /** How many entries a block has. */
    public static final int BLOCK_SIZE = 16;

    private final WriteBackStore<byte[], ReservationEntry> store;
    private final ReservedKeys keys;

    /** @param keys gets the keys of the entries that are added, and loses those of the entries that are deleted */
    StoredExpiryQueues(WriteBackStore<byte[], ReservationEntry> store, ReservedKeys keys) {
        this.store = store;
        this.keys = keys;
    }

    /** Adds the keys of all stored entries. */
    void addKeys(ReservationSummary summary) {
        summary.lanes().forEach((lane, bounds) -> {
            if (bounds.first() < bounds.end()) {
                addKeys(lane, bounds);
            }
        });
    }

    private void addKeys(int lane, ReservationSummary.Lane bounds) {
        ReservationCodec codec = new ReservationCodec();
        Bytes from = Bytes.wrap(ReservationCodec.expiriesKey(blockOf(lane, bounds.first())));
        Bytes to = Bytes.wrap(ReservationCodec.expiriesKey(blockOf(lane, bounds.end() - 1)));
        try (KeyValueIterator<Bytes, byte[]> blocks = store.range(from, to)) {
            while (blocks.hasNext()) {
                KeyValue<Bytes, byte[]> block = blocks.next();
                long number = firstOf(KeyCodec.decodeNumber(block.key.get()));
                Expiries expiries = (Expiries) codec.decode(block.key.get(), block.value);
                for (ExpiryEntry entry : expiries.entries()) {
                    if (number >= bounds.first() && number < bounds.end()) {
                        keys.add(entry.key());
                    }
                    number++;
                }
            }
        }
    }

    /** Returns the lane of a block. */
    public static int laneOf(long block) {
        return (int) (block * BLOCK_SIZE >>> BoundedReservations.POSITION_BITS);
    }

    /** Returns the number in its lane of the first entry of a block. */
    public static long firstOf(long block) {
        return block * BLOCK_SIZE - ((long) laneOf(block) << BoundedReservations.POSITION_BITS);
    }

    /** Returns the block of a position. */
    public static long blockAt(long position) {
        return position / BLOCK_SIZE;
    }

    /** Returns which entry of its block a position is, from 0. */
    public static int indexOf(long position) {
        return (int) (position % BLOCK_SIZE);
    }

    /** Returns the block of an entry of a lane. */
    public static long blockOf(int lane, long number) {
        return (((long) lane << BoundedReservations.POSITION_BITS) + number) / BLOCK_SIZE;
    }

    @Override
    public ExpiryEntry get(Long position) {
        return block(position).get(indexOf(position));
    }

    @Override
    public void put(Long position, ExpiryEntry entry) {
        List<ExpiryEntry> entries = new ArrayList<>(BLOCK_SIZE);
        if (indexOf(position) > 0) {
            entries.addAll(block(position));
        }
        entries.add(entry);
        if (entries.size() < BLOCK_SIZE) {
            store.put(key(position), new Expiries(entries));
        } else {
            store.putCold(key(position), new Expiries(entries)); // not read before its turn comes
        }
        keys.add(entry.key());
    }

    @Override
    public void delete(Long position) {
        keys.remove(get(position).key());
        if (indexOf(position) == BLOCK_SIZE - 1) {
            store.delete(key(position));
        }
    }

    private List<ExpiryEntry> block(long position) {
        return ((Expiries) store.read(key(position))).entries();
    }

    private static byte[] key(long position) {
        return ReservationCodec.expiriesKey(blockAt(position));
    }
}
