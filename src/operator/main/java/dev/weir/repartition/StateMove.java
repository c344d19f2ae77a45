package dev.weir.repartition;

import dev.weir.wire.KeyCodec;
import java.nio.ByteBuffer;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Moves the records of a store whose keys begin with the client. */
final class StateMove {

    private final StoreScan store;
    private final ClientMove clients;
    private final MoveWriter writer;
    private long moved;

    StateMove(StoreScan store, ClientMove clients, MoveWriter writer) {
        this.store = store;
        this.clients = clients;
        this.writer = writer;
    }

    /** Copies the records that move, in their order, also those that delete. Returns their number. */
    long copy() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            store.read(partition, record -> {
                writer.commitIfLate();
                clients.target(client(record), record.partition()).ifPresent(target -> {
                    writer.copy(record, target, record.key(), record.value());
                    moved++;
                });
            });
        }
        return moved;
    }

    /** Deletes the records that were moved. */
    void deleteMoved() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            store.read(partition, record -> {
                writer.commitIfLate();
                if (record.value() != null
                        && clients.target(client(record), record.partition()).isPresent()) {
                    writer.delete(record);
                }
            });
        }
    }

    private static String client(ConsumerRecord<byte[], byte[]> record) {
        return KeyCodec.readText(ByteBuffer.wrap(record.key()));
    }
}
