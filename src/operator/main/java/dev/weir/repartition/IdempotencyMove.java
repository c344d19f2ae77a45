package dev.weir.repartition;

import dev.weir.decision.state.IdempotencyCache.Entry;
import dev.weir.decision.state.IdempotencyCache.EvictionEntry;
import dev.weir.storage.codec.IdempotentAnswerCodec;
import dev.weir.wire.KeyCodec;
import java.util.OptionalInt;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Moves idempotent answers. They have numbers, by which a partition evicts them in order, so each one gets the next
 * number of its new partition.
 *
 * <p>An answer is followed by its eviction entry. That entry stays where it is, because the numbers of a partition have
 * no gaps; without its answer, it has no effect when its turn comes. Eviction entries are deleted in order, together with
 * their answers, so whatever is older than the last deleted one is skipped.
 */
final class IdempotencyMove {

    private final IdempotentAnswerCodec codec = new IdempotentAnswerCodec();
    private final StoreScan store;
    private final ClientMove clients;
    private final MoveWriter writer;
    private final long[] lastDeleted;
    private final long[] nextNumber;
    private ConsumerRecord<byte[], byte[]> answer;
    private long moved;

    IdempotencyMove(StoreScan store, ClientMove clients, MoveWriter writer) {
        this.store = store;
        this.clients = clients;
        this.writer = writer;
        lastDeleted = new long[store.partitions()];
        nextNumber = new long[store.partitions()];
    }

    /** Copies the answers that move, and returns their number. */
    long copy() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            lastDeleted[partition] = -1;
            store.read(partition, this::readNumber);
        }
        for (int partition = 0; partition < store.partitions(); partition++) {
            answer = null;
            store.read(partition, this::copy);
        }
        return moved;
    }

    private void readNumber(ConsumerRecord<byte[], byte[]> record) {
        if (KeyCodec.isNumber(record.key())) {
            long number = KeyCodec.decodeNumber(record.key());
            int partition = record.partition();
            nextNumber[partition] = Math.max(nextNumber[partition], number + 1);
            if (record.value() == null) {
                lastDeleted[partition] = Math.max(lastDeleted[partition], number);
            }
        }
    }

    private void copy(ConsumerRecord<byte[], byte[]> record) {
        writer.commitIfLate();
        if (!KeyCodec.isNumber(record.key())) {
            answer = record.value() == null ? null : record;
        } else if (record.value() != null) {
            copy(KeyCodec.decodeNumber(record.key()), record);
        }
    }

    private void copy(long number, ConsumerRecord<byte[], byte[]> eviction) {
        EvictionEntry entry = IdempotentAnswerCodec.decodeEvictionEntry(eviction.value());
        OptionalInt target = clients.target(entry.key().client(), eviction.partition());
        if (target.isEmpty() || number <= lastDeleted[eviction.partition()] || answer == null) {
            return;
        }
        Entry stored = codec.decodeEntry(answer.value());
        if (stored.number() != number) {
            return; // there is a later answer
        }
        long next = nextNumber[target.getAsInt()]++;
        writer.copy(
                answer,
                target.getAsInt(),
                answer.key(),
                codec.encode(new Entry(next, stored.untilMs(), stored.content(), stored.answer())));
        writer.copy(eviction, target.getAsInt(), KeyCodec.encodeNumber(next), eviction.value());
        moved++;
    }

    /** Deletes the answers that were moved. */
    void deleteMoved() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            store.read(partition, record -> {
                writer.commitIfLate();
                if (!KeyCodec.isNumber(record.key())
                        && record.value() != null
                        && clients.target(KeyCodec.clientOfAnswer(record.key()), record.partition())
                                .isPresent()) {
                    writer.delete(record);
                }
            });
        }
    }
}
