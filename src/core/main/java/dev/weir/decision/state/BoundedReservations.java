package dev.weir.decision.state;

import dev.weir.decision.state.ReservationSummary.Lane;
import dev.weir.policy.RequestKey;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A bounded table of reservations. Its content depends only on the requests and their order, not on clocks or restarts.
 * Each operation takes O(1) reads and writes.
 */
// Reservations end in another order than they begin. Each has an entry in an expiry queue, of those that last between
// 2^n and 2^(n+1) ms: its lane. In a lane, an entry waits at most once as long again as the reservation lasts for those
// before it. A reservation that was renewed goes to the end of its lane when its turn comes; so a RENEW writes the
// reservation only.
//
//   lane 15   41: alice/r1 until 60,000   42: bob/r7 until 61,000          first = 41, end = 43
//   lane 21   7: carol/r2 until 3,600,000                                  first = 7, end = 8
//
// "Now" is, as in IdempotencyCache, the earliest time among the latest one or two thousand requests, less a margin for
// late ones: a clock that runs ahead must not end the reservations of others. Whether a reservation is over for its
// client does not depend on it: decisions compare its end with the time of the keys.
public final class BoundedReservations implements ReservationTable {

    private static final int EPOCH_SIZE = 1_000;
    private static final int SWEEPS_PER_REQUEST = 2;
    private static final int LANES = 32;
    private static final int POSITION_BITS = 56;

    private final Storage storage;
    private final int maxReservations;
    private final long maxLatenessMs;
    private final ExpiryEntry[] heads = new ExpiryEntry[2 * LANES]; // null if not read yet, or the lane is empty
    private ReservationSummary summary;

    /**
     * An entry of an expiry queue.
     *
     * @param key the reservation
     * @param number its number; another one under the same key does not belong to the entry
     * @param endMs when it ends, if it was not renewed since
     */
    public record ExpiryEntry(RequestKey key, long number, long endMs) {}

    /**
     * The tables.
     *
     * @param reservations the reservations
     * @param expiryQueues the entries of the expiry queues, by lane and position
     * @param summary the bounds of the expiry queues
     * @param summaries writes the summary
     */
    public record Storage(
            KeyValueTable<RequestKey, Reservation> reservations,
            KeyValueTable<Long, ExpiryEntry> expiryQueues,
            ReservationSummary summary,
            Consumer<ReservationSummary> summaries) {}

    /**
     * Creates a table that continues with the stored reservations.
     *
     * @param most the most reservations, at least 1, and as many hidden ones
     * @param lateMs how much older than its neighbours a request can be and still find its reservation
     */
    public BoundedReservations(Storage kept, int most, long lateMs) {
        this.storage = kept;
        this.maxReservations = most;
        this.maxLatenessMs = lateMs;
        this.summary = kept.summary;
    }

    /** Returns an empty table on the heap. */
    public static BoundedReservations inMemory(int most, long lateMs) {
        Storage heap = new Storage(new HeapTable<>(), new HeapTable<>(), ReservationSummary.EMPTY, summary -> {});
        return new BoundedReservations(heap, most, lateMs);
    }

    @Override
    public Reservation get(RequestKey key) {
        return storage.reservations.get(key);
    }

    @Override
    public long nextNumber() {
        return summary.nextNumber();
    }

    /** Returns how many reservations there are, without hidden ones, including those that are over but not deleted. */
    public long size() {
        return summary.size(0, LANES);
    }

    @Override
    public boolean isFull() {
        return size() >= maxReservations;
    }

    @Override
    public List<Reservation> sweep(long atMs) {
        long epoch = Math.max(1, Math.min(EPOCH_SIZE, maxReservations / 2));
        summary = summary.observing(atMs, epoch);
        long nowMs = summary.nowMs() - maxLatenessMs;
        List<Reservation> swept = new ArrayList<>(SWEEPS_PER_REQUEST);
        int left = SWEEPS_PER_REQUEST;
        for (int i = 0; i < heads.length && left > 0; i++) {
            int lane = (int) ((summary.observed() + i) % heads.length);
            while (left > 0 && head(lane) != null && heads[lane].endMs <= nowMs) {
                sweepHead(lane, nowMs, swept);
                left--;
            }
        }
        storage.summaries.accept(summary);
        return swept;
    }

    private ExpiryEntry head(int lane) {
        Lane bounds = summary.lane(lane);
        if (heads[lane] == null && bounds.size() > 0) {
            heads[lane] = storage.expiryQueues.get(position(lane, bounds.first()));
        }
        return heads[lane];
    }

    private void sweepHead(int lane, long nowMs, List<Reservation> swept) {
        ExpiryEntry entry = heads[lane];
        Lane bounds = summary.lane(lane);
        storage.expiryQueues.delete(position(lane, bounds.first()));
        summary = summary.with(lane, new Lane(bounds.first() + 1, bounds.end()));
        heads[lane] = null;
        Reservation reservation = storage.reservations.get(entry.key);
        if (reservation == null || reservation.number() != entry.number) {
            return;
        }
        if (reservation.endMs() > nowMs) {
            append(lane, entry.key, reservation);
            return;
        }
        storage.reservations.delete(entry.key);
        if (reservation.ending().isEmpty()) {
            swept.add(reservation);
        }
    }

    private void append(int lane, RequestKey key, Reservation reservation) {
        Lane bounds = summary.lane(lane);
        ExpiryEntry entry = new ExpiryEntry(key, reservation.number(), reservation.endMs());
        storage.expiryQueues.put(position(lane, bounds.end()), entry);
        summary = summary.with(lane, new Lane(bounds.first(), bounds.end() + 1));
    }

    @Override
    public void open(RequestKey key, Reservation reservation) {
        int firstLane = reservation.isHidden() ? LANES : 0;
        if (summary.size(firstLane, firstLane + LANES) < maxReservations) {
            int lane = Long.SIZE - 1 - Long.numberOfLeadingZeros(reservation.durationMs());
            storage.reservations.put(key, reservation);
            append(firstLane + Math.min(LANES - 1, lane), key, reservation);
            summary = summary.withNextNumber(reservation.number() + 1);
            storage.summaries.accept(summary);
        }
    }

    @Override
    public void change(RequestKey key, Reservation reservation) {
        storage.reservations.put(key, reservation);
    }

    private static long position(int lane, long number) {
        return ((long) lane << POSITION_BITS) + number;
    }
}
