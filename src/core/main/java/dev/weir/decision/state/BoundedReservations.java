package dev.weir.decision.state;

import dev.weir.policy.RequestKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * A bounded table of reservations. Its content depends only on the requests and their order, not on clocks or restarts.
 * Each operation takes O(1) reads and writes; a table without reservations takes none. What it does not store in its
 * tables is in its {@link #summary}, which must be stored together with them.
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
// late ones: a clock that runs ahead must not end the reservations of others. A full table has no such margin.
// Whether a reservation is over for its client does not depend on it: decisions compare its end with the time of the
// keys.
//
// When the turn of an entry comes, its reservation must be read, unless it is known to be ended: then only its key is
// needed. So most reservations are written when they are opened, ended and deleted, and read when they are ended.
//
// A request that needs a place in a full table goes by its own time, so that its retry time is known. Then the entries
// of renewed reservations go to the end of their lanes at once. So the first entry of each lane ends when it says, and
// the earliest of them is the first to free a place.
public final class BoundedReservations implements ReservationTable {

    private static final int EPOCH_SIZE = 1_000;
    private static final int SWEEPS_PER_REQUEST = 2;
    private static final int LANES = 32;

    /** The most entries that are examined to find when a full table has a place. */
    private static final int MAX_EXAMINED = 128;

    /** A position in {@link Storage#expiryQueues} is a lane, shifted by so many bits, and a number within it. */
    public static final int POSITION_BITS = 56;

    private final Storage storage;
    private final int maxReservations;
    private final long maxLatenessMs;
    private final long epoch;
    private final long[] first = new long[2 * LANES];
    private final long[] end = new long[2 * LANES];
    private final KnownEnds ended = new KnownEnds();
    private final ExpiryEntry[] heads = new ExpiryEntry[2 * LANES]; // null if not read yet, or the lane is empty
    private long size;
    private long hiddenSize;
    private long nextNumber;
    private long observed;
    private long earliestMs; // of the current epoch
    private long earliestBeforeMs;
    private long dueMs; // the earliest end of the heads, if known
    private boolean isDueKnown;

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
     * @param reservations the reservations. Each one that is read has an entry in an expiry queue, or there is none
     * @param expiryQueues the entries of the expiry queues, by lane and position. Positions of a lane follow each other
     *     without gaps; entries are added at the end and deleted in order
     * @param summary the bounds of the expiry queues
     */
    public record Storage(
            KeyValueTable<RequestKey, ReservationRecord> reservations,
            KeyValueTable<Long, ExpiryEntry> expiryQueues,
            ReservationSummary summary) {}

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
        this.epoch = Math.max(1, Math.min(EPOCH_SIZE, most / 2));
        nextNumber = kept.summary.nextNumber();
        observed = kept.summary.observed();
        earliestMs = kept.summary.earliestMs();
        earliestBeforeMs = kept.summary.earliestBeforeMs();
        kept.summary.lanes().forEach((lane, bounds) -> {
            first[lane] = bounds.first();
            end[lane] = bounds.end();
            resize(lane, bounds.end() - bounds.first());
        });
    }

    /** Returns an empty table on the heap. */
    public static BoundedReservations inMemory(int most, long lateMs) {
        return new BoundedReservations(
                new Storage(new HeapTable<>(), new HeapTable<>(), ReservationSummary.EMPTY), most, lateMs);
    }

    @Override
    public ReservationRecord get(RequestKey key) {
        return storage.reservations.get(key);
    }

    @Override
    public long nextNumber() {
        return nextNumber;
    }

    /** Returns how many reservations there are, without hidden ones, including those that are over but not deleted. */
    public long size() {
        return size;
    }

    /** Returns whether there are as many reservations as there may be, not counting hidden ones. */
    public boolean isFull() {
        return size >= maxReservations;
    }

    @Override
    public boolean isEmpty() {
        return size == 0;
    }

    @Override
    public NextPlace nextPlace() {
        if (!isFull()) {
            return NextPlace.FREE;
        }
        return new NextPlace(true, firstEndMs());
    }

    /** Returns when a full table first has a place; empty if too many reservations were renewed to find it. */
    private OptionalLong firstEndMs() {
        OptionalLong earliestMs = OptionalLong.empty();
        int left = MAX_EXAMINED;
        for (int lane = 0; lane < LANES; lane++) {
            ExpiryEntry entry = head(lane);
            long endMs = entry == null ? 0 : endMs(entry); // of the first, if all others go behind it
            boolean isFirst = entry != null;
            for (long number = first[lane] + 1; entry != null && isRenewed(entry) && number < end[lane]; number++) {
                entry = storage.expiryQueues.get(position(lane, number));
                endMs = entry == null || isRenewed(entry) ? endMs : entry.endMs; // a changing snapshot can lack one
                if (left-- == 0) {
                    return OptionalLong.empty();
                }
            }
            if (isFirst && (earliestMs.isEmpty() || endMs < earliestMs.getAsLong())) {
                earliestMs = OptionalLong.of(endMs);
            }
        }
        return earliestMs;
    }

    private boolean isRenewed(ExpiryEntry entry) {
        return endMs(entry) > entry.endMs;
    }

    private long endMs(ExpiryEntry entry) {
        ReservationRecord reservation = storage.reservations.get(entry.key);
        return reservation == null || reservation.number() != entry.number ? entry.endMs : reservation.endMs();
    }

    @Override
    public List<ReservationRecord> makePlace(long atMs) {
        if (!isFull()) {
            return List.of();
        }
        int left = MAX_EXAMINED;
        for (int lane = 0; lane < LANES; lane++) {
            long lastNumber = end[lane];
            while (left > 0 && first[lane] < lastNumber && isRenewed(head(lane))) {
                sweepHead(lane, heads[lane].endMs, List.of());
                left--;
            }
        }
        List<ReservationRecord> swept = new ArrayList<>(1);
        for (int lane = 0; lane < LANES && isFull(); lane++) {
            while (isFull() && head(lane) != null && heads[lane].endMs <= atMs && left >= 0) {
                sweepHead(lane, atMs, swept);
                left--;
            }
        }
        return swept;
    }

    /** Returns what a table that continues with the stored reservations needs besides them. */
    public ReservationSummary summary() {
        Map<Integer, ReservationSummary.Lane> lanes = new TreeMap<>();
        for (int lane = 0; lane < end.length; lane++) {
            if (end[lane] > 0) {
                lanes.put(lane, new ReservationSummary.Lane(first[lane], end[lane]));
            }
        }
        return new ReservationSummary(nextNumber, observed, earliestMs, earliestBeforeMs, lanes);
    }

    @Override
    public List<ReservationRecord> sweep(long atMs) {
        if (size + hiddenSize == 0) {
            return List.of();
        }
        observe(atMs);
        long nowMs = Math.min(earliestMs, earliestBeforeMs) - (isFull() ? 0 : maxLatenessMs);
        if (nowMs < dueMs()) {
            return List.of();
        }
        List<ReservationRecord> swept = new ArrayList<>(SWEEPS_PER_REQUEST);
        int left = SWEEPS_PER_REQUEST;
        for (int i = 0; i < heads.length && left > 0; i++) {
            int lane = (int) ((observed + i) % heads.length);
            while (left > 0 && head(lane) != null && heads[lane].endMs <= nowMs) {
                sweepHead(lane, nowMs, swept);
                left--;
            }
        }
        return swept;
    }

    private void observe(long atMs) {
        if (observed % epoch == 0) {
            earliestBeforeMs = earliestMs;
            earliestMs = Long.MAX_VALUE;
        }
        earliestMs = Math.min(earliestMs, atMs);
        observed++;
    }

    private long dueMs() {
        if (!isDueKnown) {
            dueMs = Long.MAX_VALUE;
            for (int lane = 0; lane < heads.length; lane++) {
                dueMs = head(lane) == null ? dueMs : Math.min(dueMs, heads[lane].endMs);
            }
            isDueKnown = true;
        }
        return dueMs;
    }

    private ExpiryEntry head(int lane) {
        if (heads[lane] == null && first[lane] < end[lane]) {
            heads[lane] = storage.expiryQueues.get(position(lane, first[lane]));
        }
        return heads[lane];
    }

    private void sweepHead(int lane, long nowMs, List<ReservationRecord> swept) {
        ExpiryEntry entry = heads[lane];
        OptionalLong endedMs = ended.get(entry.number);
        if (endedMs.isPresent()) {
            deleteHead(lane);
            sweepUntil(lane, entry, endedMs.getAsLong(), nowMs);
            return;
        }
        ReservationRecord reservation = storage.reservations.get(entry.key);
        deleteHead(lane);
        if (reservation != null
                && reservation.number() == entry.number
                && sweepUntil(lane, entry, reservation.endMs(), nowMs)
                && reservation.ending().isEmpty()) {
            swept.add(reservation);
        }
    }

    private void deleteHead(int lane) {
        storage.expiryQueues.delete(position(lane, first[lane]));
        first[lane]++;
        resize(lane, -1);
        heads[lane] = null;
        isDueKnown = false;
    }

    /** Deletes the reservation of an entry if its end has passed; otherwise moves the entry. Returns whether it has. */
    private boolean sweepUntil(int lane, ExpiryEntry entry, long endMs, long nowMs) {
        if (endMs > nowMs) {
            append(lane, entry.key, entry.number, endMs);
            return false;
        }
        storage.reservations.delete(entry.key);
        ended.remove(entry.number);
        if (size + hiddenSize == 0) {
            ended.shrink();
        }
        return true;
    }

    private void append(int lane, RequestKey key, long number, long endMs) {
        ExpiryEntry entry = new ExpiryEntry(key, number, endMs);
        storage.expiryQueues.put(position(lane, end[lane]), entry);
        isDueKnown &= first[lane] < end[lane]; // the head stays
        end[lane]++;
        resize(lane, 1);
    }

    private void resize(int lane, long change) {
        if (lane < LANES) {
            size += change;
        } else {
            hiddenSize += change;
        }
    }

    @Override
    public void open(RequestKey key, ReservationRecord reservation) {
        if ((reservation.isHidden() ? hiddenSize : size) < maxReservations) {
            int lane = Math.min(LANES - 1, Long.SIZE - 1 - Long.numberOfLeadingZeros(reservation.durationMs()));
            ReservationRecord replaced = storage.reservations.get(key);
            if (replaced != null) {
                ended.remove(replaced.number()); // its entry must not delete the new one
            }
            storage.reservations.put(key, reservation);
            append(reservation.isHidden() ? LANES + lane : lane, key, reservation.number(), reservation.endMs());
            nextNumber = reservation.number() + 1;
        }
    }

    @Override
    public void change(RequestKey key, ReservationRecord reservation) {
        storage.reservations.put(key, reservation);
        if (reservation.ending().isPresent()) {
            ended.put(reservation.number(), reservation.endMs(), size + hiddenSize);
        }
    }

    private static long position(int lane, long number) {
        return ((long) lane << POSITION_BITS) + number;
    }
}
