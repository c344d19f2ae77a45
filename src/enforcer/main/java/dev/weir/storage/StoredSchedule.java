package dev.weir.storage;

import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.store.ScheduleTable;
import dev.weir.storage.codec.QueueCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The requests of a bucket that wait for their time, in a store.
 *
 * @param bucket the key of the bucket's state
 */
record StoredSchedule(KeyValueStore<Bytes, byte[]> store, byte[] bucket, QueueCodec codec) implements ScheduleTable {

    @Override
    public QueueEntry.Waiting get(ScheduleKey key) {
        byte[] value = store.get(bytes(key));
        return value == null ? null : (QueueEntry.Waiting) codec.decodeEntry(value);
    }

    @Override
    public void put(ScheduleKey key, QueueEntry.Waiting value) {
        store.put(bytes(key), codec.encode(value));
    }

    @Override
    public void delete(ScheduleKey key) {
        store.put(bytes(key), null);
    }

    @Override
    public ScheduleKey firstFrom(ScheduleKey from) {
        try (KeyValueIterator<Bytes, byte[]> all = rangeFrom(from)) {
            return all.hasNext() ? QueueKeys.readSchedule(bucket, all.next().key.get()) : null;
        }
    }

    /** Returns how many requests there are. Reads all of them. */
    long count() {
        long count = 0;
        try (KeyValueIterator<Bytes, byte[]> all = rangeFrom(ScheduleKey.LEAST)) {
            for (; all.hasNext(); all.next()) {
                count++;
            }
        }
        return count;
    }

    private KeyValueIterator<Bytes, byte[]> rangeFrom(ScheduleKey from) {
        return store.range(bytes(from), Bytes.wrap(QueueKeys.endOfSchedule(bucket)));
    }

    private Bytes bytes(ScheduleKey key) {
        return Bytes.wrap(QueueKeys.schedule(bucket, key));
    }
}
