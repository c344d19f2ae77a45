package dev.weir.app;

import dev.weir.shape.QueueState;
import dev.weir.shape.QueueStore;
import dev.weir.shape.Shaper;
import dev.weir.shape.Table;
import java.util.HashMap;
import java.util.Map;

/** Queues on the heap, for the backtest: they end with it. */
final class MemoryQueues implements Shaper.Stores {

    private record MemoryTable<K, V>(Map<K, V> entries) implements Table<K, V> {

        MemoryTable() {
            this(new HashMap<>());
        }

        @Override
        public V get(K key) {
            return entries.get(key);
        }

        @Override
        public void put(K key, V value) {
            entries.put(key, value);
        }

        @Override
        public void delete(K key) {
            entries.remove(key);
        }
    }

    @Override
    public QueueStore of(String queue) {
        return new QueueStore(new MemoryTable<>(), new MemoryTable<>(), new MemoryTable<>());
    }

    @Override
    public void save(QueueState state) {}
}
