package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.store.ScheduleTable;
import dev.weir.shape.view.QueueView;
import dev.weir.time.DueTime;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests requests that wait for their time in RocksDB. */
class StoredScheduleTest {

    private static final long NANOS_PER_MS = 1_000_000;
    private static final long DAY_MS = 86_400_000;
    private static final int MANY = 1_000_000;
    private static final QueueRules RULES = QueueRules.builder("q", 1_000_000, 1_000)
            .capacity(2L * MANY)
            .lookAheadMs(0)
            .build();

    @TempDir
    private Path directory;

    private final List<KeyValueStore<Bytes, byte[]>> stores = new ArrayList<>();
    private final AtomicLong reads = new AtomicLong();
    private final List<Release> releases = new ArrayList<>();

    @AfterEach
    void closeStores() {
        stores.forEach(KeyValueStore::close);
    }

    private StoredQueues open() {
        MockProcessorContext<byte[], Object> context =
                new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        List<KeyValueStore<Bytes, byte[]>> counted = new ArrayList<>();
        for (String name : List.of("states", "slots", "tickets", "expiry-timers", "timers", "schedule")) {
            KeyValueStore<Bytes, byte[]> store = Stores.keyValueStoreBuilder(
                            Stores.persistentKeyValueStore(name), Serdes.Bytes(), Serdes.ByteArray())
                    .withLoggingDisabled()
                    .withCachingDisabled()
                    .build();
            store.init(context.getStateStoreContext(), store);
            stores.add(store);
            counted.add(counting(store));
        }
        StoredQueues.Parts parts = new StoredQueues.Parts(
                counted.get(0), counted.get(1), counted.get(2), counted.get(3), counted.get(4), counted.get(5));
        return new StoredQueues(parts, IdempotencyCache.inMemory(0, 0), true);
    }

    /** Returns the store, which counts what is read from it. */
    private KeyValueStore<Bytes, byte[]> counting(KeyValueStore<Bytes, byte[]> store) {
        return counting(KeyValueStore.class, store, "get");
    }

    @SuppressWarnings("unchecked")
    private <T> T counting(Class<? super T> type, T counted, String read) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (method.getName().equals(read)) {
                reads.incrementAndGet();
            }
            Object result = method.invoke(counted, arguments);
            return result instanceof KeyValueIterator<?, ?> iterator
                    ? counting(KeyValueIterator.class, (KeyValueIterator<Bytes, byte[]>) iterator, "next")
                    : result;
        });
    }

    private void carryOut(List<QueueEffect> effects, StoredQueues queues) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.StateStored stored) {
                queues.store(stored);
            } else if (effect instanceof QueueEffect.Released released) {
                releases.add(released.release());
            }
        }
    }

    private static Admission admission(int number, long notBeforeMs) {
        Request request = Request.builder("r" + number, "c" + number % 100)
                .notBeforeMs(notBeforeMs)
                .payload(new byte[200])
                .build();
        return Admission.of(request, "q", new PolicyVersion("p", 1), null);
    }

    @Test
    void keys_are_ordered_by_time_then_by_number_and_buckets_are_apart() {
        StoredQueues queues = open();
        ScheduleTable table = queues.of(BucketId.of("q", Map.of("to", "a"))).schedule();
        ScheduleTable other = queues.of(BucketId.of("q", Map.of("to", "b"))).schedule();
        List<ScheduleKey> keys = Stream.of(
                        new ScheduleKey(0, 0),
                        new ScheduleKey(1, 255),
                        new ScheduleKey(1, 256),
                        new ScheduleKey(256, 0),
                        new ScheduleKey(1L << 41, 1L << 40),
                        new ScheduleKey(Long.MAX_VALUE, Long.MAX_VALUE))
                .toList();
        for (int i = keys.size() - 1; i >= 0; i--) {
            table.put(keys.get(i), new QueueEntry.Waiting(admission(i, 5), i, 0, DueTime.NEVER, true, null));
        }
        queues.of(BucketId.of("q", Map.of("to", "a")))
                .scheduleTickets()
                .put(new QueueStore.Ticket("c", "r"), keys.get(1));
        for (ScheduleKey key : keys) {
            assertThat(table.firstFrom(key)).isEqualTo(key);
        }
        assertThat(table.firstFrom(new ScheduleKey(1, 257))).isEqualTo(keys.get(3));
        table.delete(keys.get(3));
        assertThat(table.firstFrom(new ScheduleKey(1, 257))).isEqualTo(keys.get(4));
        assertThat(table.get(keys.get(4)).number()).isEqualTo(4);
        assertThat(table.get(keys.get(3))).isNull();
        table.delete(keys.get(5));
        assertThat(table.firstFrom(keys.get(5))).as("a ticket is not a request").isNull();
        assertThat(other.firstFrom(ScheduleKey.LEAST)).isNull();
    }

    @Tag("full")
    @Test
    void a_million_requests_wait_off_the_heap_and_a_restart_reads_none_of_them() {
        StoredQueues queues = open();
        long heapBefore = usedHeap();
        Shaper shaper = new Shaper(id -> RULES, queues, 1_000);
        Random random = new Random(1);
        int due = 0;
        for (int i = 0; i < MANY; i++) {
            long notBeforeMs = 1 + random.nextLong(30 * DAY_MS);
            due += notBeforeMs <= DAY_MS ? 1 : 0;
            carryOut(shaper.admit(admission(i, notBeforeMs), i, 0, 0), queues);
        }
        long heap = usedHeap() - heapBefore;
        assertThat(shaper.queries().view("q", 0).scheduled().requests()).isEqualTo(MANY);
        assertThat(heap).as("bytes on the heap").isLessThan(16 << 20);

        reads.set(0);
        Shaper restarted = new Shaper(id -> RULES, queues, 1_000);
        assertThat(reads.get()).as("entries that a restart reads").isLessThanOrEqualTo(3);
        QueueView view = restarted.queries().view("q", 0);
        assertThat(view.waiting()).isEqualTo(MANY);

        while (restarted.dueNanos() <= DAY_MS * NANOS_PER_MS) {
            carryOut(restarted.tick(restarted.dueNanos(), 1_000), queues);
        }
        assertThat(releases).hasSize(due);
        assertThat(restarted.queries().view("q", DAY_MS * NANOS_PER_MS).waiting())
                .isEqualTo(MANY - due);
    }

    private static long usedHeap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
