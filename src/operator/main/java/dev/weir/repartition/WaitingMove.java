package dev.weir.repartition;

import dev.weir.storage.codec.WaiterCodec;
import dev.weir.wire.KeyCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Moves requests that wait for a lease. A request is deleted and written to its new partition in one transaction, so it
 * is decided once. A partition has few of them, and they fit on the heap.
 */
final class WaitingMove {

    private final WaiterCodec codec = new WaiterCodec();
    private final StoreScan store;
    private final ClientMove clients;
    private final MoveWriter writer;
    private final List<Map<Long, ConsumerRecord<byte[], byte[]>>> waiting = new ArrayList<>();
    private final long[] nextNumber;

    WaitingMove(StoreScan store, ClientMove clients, MoveWriter writer) {
        this.store = store;
        this.clients = clients;
        this.writer = writer;
        nextNumber = new long[store.partitions()];
    }

    /** Moves the requests that move, and returns their number. */
    long move() {
        for (int partition = 0; partition < store.partitions(); partition++) {
            Map<Long, ConsumerRecord<byte[], byte[]>> live = new TreeMap<>();
            store.read(partition, 0, record -> read(record, live));
            waiting.add(live);
        }
        long moved = 0;
        for (Map<Long, ConsumerRecord<byte[], byte[]>> live : waiting) {
            writer.begin();
            for (ConsumerRecord<byte[], byte[]> record : live.values()) {
                String client = codec.decode(record.value()).request().client();
                OptionalInt target = clients.target(client, record.partition());
                if (target.isPresent()) {
                    byte[] key = KeyCodec.encodeNumber(nextNumber[target.getAsInt()]++);
                    writer.copy(record, target.getAsInt(), key, record.value());
                    writer.delete(record);
                    moved++;
                }
            }
            writer.commit();
        }
        return moved;
    }

    private void read(ConsumerRecord<byte[], byte[]> record, Map<Long, ConsumerRecord<byte[], byte[]>> live) {
        long number = KeyCodec.decodeNumber(record.key());
        nextNumber[record.partition()] = Math.max(nextNumber[record.partition()], number + 1);
        if (record.value() == null) {
            live.remove(number);
        } else {
            live.put(number, record);
        }
    }
}
