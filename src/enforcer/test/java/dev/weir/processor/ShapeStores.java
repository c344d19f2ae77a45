package dev.weir.processor;

import dev.weir.storage.StoredQueues;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** The stores of the {@link Shape} processor of a partition, which survive it, as they do a crash. */
final class ShapeStores implements AutoCloseable {

    static final StoredQueues.StoreNames NAMES = new StoredQueues.StoreNames(
            "states", "entries", "tickets", "expiry-timers", "timers", "schedule", "answers");
    static final Shape.Outlets OUTLETS =
            new Shape.Outlets("decisions", "replies", "releases", "messages", "reservations", "dead-letters");

    private final Map<String, KeyValueStore<Bytes, byte[]>> stores = new LinkedHashMap<>(); // by name
    private final Path directory;
    private final int partition;
    private final Function<String, KeyValueBytesStoreSupplier> kind;

    private ShapeStores(Path directory, int partition, Function<String, KeyValueBytesStoreSupplier> kind) {
        this.directory = directory;
        this.partition = partition;
        this.kind = kind;
        MockProcessorContext<byte[], Object> opening = bareContext();
        for (String name : List.of(
                NAMES.states(),
                NAMES.entries(),
                NAMES.tickets(),
                NAMES.expiryTimers(),
                NAMES.timers(),
                NAMES.schedule(),
                NAMES.answers())) {
            stores.put(name, open(name, opening));
        }
    }

    /** Opens stores that RocksDB keeps in a directory. */
    static ShapeStores onDisk(Path directory, int partition) {
        return new ShapeStores(directory, partition, Stores::persistentKeyValueStore);
    }

    /** @param directory is passed to the processor, but not used */
    static ShapeStores inMemory(Path directory, int partition) {
        return new ShapeStores(directory, partition, Stores::inMemoryKeyValueStore);
    }

    private KeyValueStore<Bytes, byte[]> open(String name, MockProcessorContext<byte[], Object> context) {
        KeyValueStore<Bytes, byte[]> store = Stores.keyValueStoreBuilder(
                        kind.apply(name), Serdes.Bytes(), Serdes.ByteArray())
                .withLoggingDisabled()
                .withCachingDisabled()
                .build();
        store.init(context.getStateStoreContext(), store);
        return store;
    }

    private MockProcessorContext<byte[], Object> bareContext() {
        Properties settings = new Properties();
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        return new MockProcessorContext<>(settings, new TaskId(0, partition), directory.toFile());
    }

    /** Returns the context of a new processor on the stores. */
    MockProcessorContext<byte[], Object> context() {
        MockProcessorContext<byte[], Object> context = bareContext();
        stores.values().forEach(context::addStateStore);
        return context;
    }

    KeyValueStore<Bytes, byte[]> get(String name) {
        return stores.get(name);
    }

    /** Lets the processors of later contexts use another store in place of the one with its name. */
    void replace(KeyValueStore<Bytes, byte[]> store) {
        stores.put(store.name(), store);
    }

    /** Opens a store again that was closed, also for the processor of a context. */
    void reopen(String name, MockProcessorContext<byte[], Object> context) {
        replace(open(name, context)); // which adds it to the context
    }

    @Override
    public void close() {
        stores.values().forEach(KeyValueStore::close);
    }
}
