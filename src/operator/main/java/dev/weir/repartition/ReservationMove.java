package dev.weir.repartition;

import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.decision.state.ReservationSummary;
import dev.weir.decision.state.ReservationSummary.Lane;
import dev.weir.storage.StoredExpiryQueues;
import dev.weir.storage.codec.ReservationCodec;
import dev.weir.storage.codec.ReservationEntry;
import dev.weir.storage.codec.ReservationEntry.Bounds;
import dev.weir.storage.codec.ReservationEntry.Expiries;
import dev.weir.wire.KeyCodec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Moves reservations. They keep their numbers, which the states of policies know, so all partitions continue with a
 * number that none has used. Each one gets an entry in an expiry queue of its new partition. Its old entry stays, as in
 * {@link IdempotencyMove}: without the reservation, it has no effect.
 *
 * <p>The bounds of the expiry queues are written last. Entries that an interrupted run has added beyond them do not
 * exist for the next one.
 */
final class ReservationMove {

    private final ReservationCodec codec = new ReservationCodec();
    private final StoreScan store;
    private final ClientMove clients;
    private final MoveWriter writer;
    private final List<Queues> partitions = new ArrayList<>();

    /** The expiry queues of a partition. */
    private static final class Queues {
        private final Map<Long, Long> blocks = new HashMap<>(); // the offset of the last record of each
        private final Map<Integer, Expiries> tails = new HashMap<>(); // the last block of each lane
        private final Map<Integer, Lane> lanes = new TreeMap<>();
        private ReservationSummary stored = ReservationSummary.EMPTY;
    }

    ReservationMove(StoreScan store, ClientMove clients, MoveWriter writer) {
        this.store = store;
        this.clients = clients;
        this.writer = writer;
    }

    /** Copies the reservations that move. */
    void copy() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            partitions.add(readQueues(partition));
        }
        List<ConsumerRecord<byte[], byte[]>> any = new ArrayList<>(1);
        for (int partition = 0; partition < store.partitions(); partition++) {
            Queues from = partitions.get(partition);
            store.read(partition, record -> {
                if (any.isEmpty()) {
                    any.add(record);
                }
                writer.commitIfLate();
                if (ReservationCodec.isReservation(record.key())) {
                    target(record).ifPresent(to -> writer.copy(record, to, record.key(), record.value()));
                } else if (KeyCodec.isNumber(record.key())
                        && from.blocks.getOrDefault(KeyCodec.decodeNumber(record.key()), -1L) == record.offset()) {
                    copyEntries(from, record);
                }
            });
        }
        writer.commit();
        any.forEach(this::writeBounds);
    }

    private Queues readQueues(int partition) {
        Queues queues = new Queues();
        store.read(partition, record -> {
            writer.commitIfLate();
            if (KeyCodec.isNumber(record.key())) {
                long block = KeyCodec.decodeNumber(record.key());
                if (record.value() == null) {
                    queues.blocks.remove(block);
                } else {
                    queues.blocks.put(block, record.offset());
                }
            } else if (!ReservationCodec.isReservation(record.key()) && record.value() != null) {
                queues.stored = ((Bounds) decode(record)).summary();
            }
        });
        queues.lanes.putAll(queues.stored.lanes());
        readTails(partition, queues);
        return queues;
    }

    private void readTails(int partition, Queues queues) {
        store.read(partition, record -> {
            writer.commitIfLate();
            if (KeyCodec.isNumber(record.key()) && record.value() != null) {
                long block = KeyCodec.decodeNumber(record.key());
                int lane = StoredExpiryQueues.laneOf(block);
                Lane bounds = queues.lanes.get(lane);
                if (bounds != null && StoredExpiryQueues.blockOf(lane, bounds.end()) == block) {
                    queues.tails.put(lane, (Expiries) decode(record));
                }
            }
        });
    }

    private ReservationEntry decode(ConsumerRecord<byte[], byte[]> record) {
        return codec.decode(record.key(), record.value());
    }

    private OptionalInt target(ConsumerRecord<byte[], byte[]> reservation) {
        return clients.target(KeyCodec.clientOfAnswer(reservation.key()), reservation.partition());
    }

    private void copyEntries(Queues from, ConsumerRecord<byte[], byte[]> record) {
        long block = KeyCodec.decodeNumber(record.key());
        int lane = StoredExpiryQueues.laneOf(block);
        Lane bounds = from.stored.lanes().getOrDefault(lane, new Lane(0, 0));
        List<ExpiryEntry> entries = ((Expiries) decode(record)).entries();
        for (int i = 0; i < entries.size(); i++) {
            long number = StoredExpiryQueues.firstOf(block) + i;
            OptionalInt to = clients.target(entries.get(i).key().client(), record.partition());
            if (to.isPresent() && number >= bounds.first() && number < bounds.end()) {
                append(record, to.getAsInt(), lane, entries.get(i));
            }
        }
    }

    private void append(ConsumerRecord<byte[], byte[]> like, int partition, int lane, ExpiryEntry entry) {
        Queues to = partitions.get(partition);
        Lane bounds = to.lanes.getOrDefault(lane, new Lane(0, 0));
        int index = (int) (bounds.end() % StoredExpiryQueues.BLOCK_SIZE);
        List<ExpiryEntry> entries = new ArrayList<>(
                index == 0 ? List.of() : to.tails.get(lane).entries().subList(0, index));
        entries.add(entry);
        Expiries tail = new Expiries(entries);
        to.tails.put(lane, tail);
        to.lanes.put(lane, new Lane(bounds.first(), bounds.end() + 1));
        byte[] key = ReservationCodec.expiriesKey(StoredExpiryQueues.blockOf(lane, bounds.end()));
        writer.copy(like, partition, key, codec.encode(tail));
    }

    private void writeBounds(ConsumerRecord<byte[], byte[]> like) {
        long nextNumber = 1;
        long earliestMs = Long.MAX_VALUE;
        for (Queues one : partitions) {
            nextNumber = Math.max(nextNumber, one.stored.nextNumber());
            earliestMs = Math.min(earliestMs, Math.min(one.stored.earliestMs(), one.stored.earliestBeforeMs()));
        }
        for (int partition = 0; partition < partitions.size(); partition++) {
            Queues one = partitions.get(partition);
            boolean isNew = one.stored.observed() == 0;
            ReservationSummary next = new ReservationSummary(
                    nextNumber,
                    isNew ? 1 : one.stored.observed(),
                    isNew ? earliestMs : one.stored.earliestMs(),
                    one.stored.earliestBeforeMs(),
                    one.lanes);
            writer.copy(like, partition, ReservationCodec.boundsKey(), codec.encode(new Bounds(next)));
        }
        writer.commit();
    }

    /** Deletes the reservations that were moved. */
    void deleteMoved() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            store.read(partition, record -> {
                writer.commitIfLate();
                if (ReservationCodec.isReservation(record.key())
                        && record.value() != null
                        && target(record).isPresent()) {
                    writer.delete(record);
                }
            });
        }
    }
}
