package dev.weir.storage;

import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.storage.codec.ReservationCodec;
import dev.weir.storage.codec.ReservationEntry;
import dev.weir.storage.codec.ReservationEntry.Expiries;
import java.util.ArrayList;
import java.util.List;

/**
 * Expiry queues in blocks of entries whose positions follow each other. Entries must be added and deleted in the order
 * of their positions, starting with that of a block. A block stays until its last position is deleted.
 */
public record StoredExpiryQueues(WriteBackStore<byte[], ReservationEntry> store)
        implements KeyValueTable<Long, ExpiryEntry> {

    /** How many entries a block has. */
    public static final int BLOCK_SIZE = 16;

    /** Returns the lane of a block. */
    public static int laneOf(long block) {
        return (int) (block * BLOCK_SIZE >>> BoundedReservations.POSITION_BITS);
    }

    /** Returns the number in its lane of the first entry of a block. */
    public static long firstOf(long block) {
        return block * BLOCK_SIZE - ((long) laneOf(block) << BoundedReservations.POSITION_BITS);
    }

    /** Returns the block of a position. */
    static long blockAt(long position) {
        return position / BLOCK_SIZE;
    }

    /** Returns which entry of its block a position is, from 0. */
    static int indexOf(long position) {
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
        store.put(key(position), new Expiries(entries));
    }

    @Override
    public void delete(Long position) {
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
