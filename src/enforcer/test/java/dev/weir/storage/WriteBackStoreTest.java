package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.processor.TextCodec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.Test;

class WriteBackStoreTest {

    private static final int TRIED = 20_000;

    private final RecordedStore below = new RecordedStore();
    private final WriteBackStore<String, String> store = open(below, new CacheBudget(1 << 20));

    private static WriteBackStore<String, String> open(RecordedStore below, CacheBudget memory) {
        WriteBackStore<String, String> opened = new WriteBackStore<>(below, memory);
        opened.open(new TextCodec());
        return opened;
    }

    private static Bytes bytes(String text) {
        return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    private String stored(String key) {
        return text(below.content.get(bytes(key)));
    }

    /** Increments the value of a key. */
    private static void increment(WriteBackStore<String, String> in, String key) {
        String before = in.read(key);
        in.put(key, String.valueOf(before == null ? 1 : Integer.parseInt(before) + 1));
    }

    @Test
    void each_dirty_value_is_written_once_at_a_flush_in_the_order_of_keys() {
        for (String key : List.of("b", "c", "a", "b", "b")) {
            increment(store, key);
        }
        store.read("d");
        assertThat(below.take()).containsExactly("get b", "get c", "get a", "get d");
        assertThat(store.read("b")).isEqualTo("3");
        store.flushCache();
        assertThat(below.take()).containsExactly("put a b c");
        assertThat(stored("b")).isEqualTo("3");
        store.flushCache();
        assertThat(below.take()).as("nothing is dirty").isEmpty();
        increment(store, "c");
        store.flushCache();
        assertThat(below.take()).as("c was in the cache").containsExactly("put c");
        assertThat(stored("c")).isEqualTo("2");
    }

    @Test
    void a_value_is_written_without_being_read_before() {
        store.put("a", "1");
        assertThat(store.read("a")).isEqualTo("1");
        store.flushCache();
        assertThat(below.take()).containsExactly("put a");
    }

    @Test
    void a_missing_key_is_looked_up_once() {
        assertThat(store.read("a")).isNull();
        assertThat(store.read("a")).isNull();
        assertThat(below.take()).containsExactly("get a");
    }

    @Test
    void reads_by_bytes_and_iteration_see_the_values_of_the_last_flush() {
        store.put("a", "1");
        store.put("b", "1");
        store.flushCache();
        store.put("a", "2");
        store.put("c", "1");
        assertThat(text(store.get(bytes("a")))).isEqualTo("1");
        assertThat(all()).isEqualTo(Map.of("a", "1", "b", "1"));
        store.flushCache();
        assertThat(text(store.get(bytes("a")))).isEqualTo("2");
        assertThat(all()).isEqualTo(Map.of("a", "2", "b", "1", "c", "1"));
    }

    private Map<String, String> all() {
        Map<String, String> all = new TreeMap<>();
        try (KeyValueIterator<Bytes, byte[]> entries = store.all()) {
            while (entries.hasNext()) {
                KeyValue<Bytes, byte[]> entry = entries.next();
                all.put(text(entry.key.get()), text(entry.value));
            }
        }
        return all;
    }

    @Test
    void without_memory_each_change_is_written_at_once() {
        WriteBackStore<String, String> cold = open(below, new CacheBudget(0));
        increment(cold, "a");
        increment(cold, "a");
        assertThat(below.take()).containsExactly("get a", "put a", "get a", "put a");
        cold.flushCache();
        assertThat(below.take()).isEmpty();
    }

    @Test
    void keys_that_are_read_once_evict_each_other_and_are_written_in_batches() {
        increment(store, "often");
        for (int i = 0; i < 50_000; i++) {
            increment(store, "once" + i);
            if (i % 100 == 0) {
                increment(store, "often");
            }
        }
        List<String> calls = below.take();
        assertThat(calls).filteredOn(call -> call.equals("get often")).hasSize(1);
        assertThat(calls).as("one read per key, and a few writes").hasSizeLessThan(50_000 + 1_000);
        store.flushCache();
        assertThat(below.content).hasSize(50_001);
        assertThat(stored("often")).isEqualTo("501");
    }

    /** Reads return the same values as a map's, independently of evictions and of the form of cached values. */
    @Test
    void reads_are_those_of_a_map_under_any_memory() {
        for (int memory : List.of(0, 500, 2_000, 1 << 20)) {
            Random random = new Random(7);
            RecordedStore ofTask = new RecordedStore();
            WriteBackStore<String, String> tried = open(ofTask, new CacheBudget(memory));
            Map<String, String> map = new TreeMap<>();
            for (int i = 0; i < 5_000; i++) {
                String key = "k" + random.nextInt(40);
                String value = (random.nextBoolean() ? "#" : "") + "x".repeat(random.nextInt(50));
                boolean isDirty = tried.isDirty(bytes(key));
                switch (random.nextInt(10)) {
                    case 0, 1, 2 -> {
                        tried.put(key, value);
                        map.put(key, value);
                    }
                    case 3 -> {
                        tried.putThrough(key, value);
                        map.put(key, value);
                    }
                    case 4 -> {
                        tried.deleteUnlessDirty(bytes(key));
                        map.computeIfPresent(key, (some, before) -> isDirty ? before : null);
                    }
                    case 5 -> {
                        tried.replaceUnlessDirty(bytes(key), value);
                        map.compute(key, (some, before) -> isDirty ? before : value);
                    }
                    case 6 -> tried.flushCache();
                    case 7 -> {
                        tried.putCold(key, value);
                        map.put(key, value);
                    }
                    case 8 -> {
                        tried.delete(key);
                        map.remove(key);
                    }
                    default -> assertThat(tried.read(key)).isEqualTo(map.get(key));
                }
            }
            tried.flushCache();
            Map<String, String> stored = new TreeMap<>();
            ofTask.content.forEach((key, value) -> stored.put(text(key.get()), text(value)));
            assertThat(stored).isEqualTo(map);
        }
    }

    @Test
    void caches_share_the_memory_and_one_that_closes_returns_its_part() {
        CacheBudget memory = new CacheBudget(1 << 20);
        WriteBackStore<String, String> one = open(below, memory);
        WriteBackStore<String, String> other = open(new RecordedStore(), memory);
        int alone = fits(one);
        assertThat(memory.usedBytes()).isBetween(memory.bytes() * 9 / 10, memory.bytes());
        increment(other, "a");
        one.shrinkClean();
        int shared = fits(one);
        assertThat(shared).isBetween(alone / 2 - 10, alone / 2 + 10);
        assertThat(memory.usedBytes()).isBetween(memory.bytes() * 4 / 10, memory.bytes() * 6 / 10);
        other.close();
        assertThat(fits(one)).isEqualTo(alone);
        long all = memory.usedBytes();
        one.deleteUnlessDirty(bytes("c" + (TRIED - 1)));
        assertThat(memory.usedBytes()).isLessThan(all);
        one.clearCache();
        assertThat(memory.usedBytes()).isZero();
    }

    /** Returns how many of the most recently read keys are in the cache. */
    private int fits(WriteBackStore<String, String> tried) {
        for (int i = 0; i < TRIED; i++) {
            tried.read("c" + i);
        }
        below.take();
        int found = 0;
        for (int i = TRIED - 1; i >= 0; i--) {
            tried.read("c" + i);
            if (!below.take().isEmpty()) {
                return found;
            }
            found++;
        }
        return found;
    }

    @Test
    void values_that_were_not_flushed_are_dropped_when_the_task_closes_is_revived_or_becomes_a_standby() {
        List<Runnable> ends = List.of(store::close, () -> store.init(null, store), store::clearCache);
        for (Runnable end : ends) {
            store.put("a", "1");
            store.beforeFlush(() -> store.put("b", "1"));
            end.run();
            store.flushCache();
            assertThat(stored("a")).isNull();
            assertThat(stored("b"))
                    .as("the action before a flush is discarded too")
                    .isNull();
            assertThat(store.read("a")).isNull();
        }
    }

    @Test
    void a_reopened_store_reads_what_was_restored_below() {
        store.put("a", "1");
        store.flushCache();
        store.close();
        below.content.put(bytes("a"), "2".getBytes(StandardCharsets.UTF_8));
        store.init(null, store);
        store.open(new TextCodec());
        assertThat(store.read("a")).isEqualTo("2");
        increment(store, "a");
        store.flushCache();
        assertThat(stored("a")).isEqualTo("3");
    }

    @Test
    void values_stay_dirty_if_the_write_fails() {
        increment(store, "a");
        increment(store, "b");
        below.fails = true;
        assertThatThrownBy(store::flushCache).hasMessage("full");
        below.fails = false;
        store.flushCache();
        assertThat(List.of(stored("a"), stored("b"))).containsExactly("1", "1");
    }

    @Test
    void a_value_that_is_put_through_is_written_at_once_and_not_again() {
        increment(store, "a");
        store.putThrough("a", "5");
        assertThat(below.take()).containsExactly("get a", "put a");
        store.flushCache();
        assertThat(below.take()).isEmpty();
        increment(store, "a");
        store.flushCache();
        assertThat(stored("a")).isEqualTo("6");
    }

    @Test
    void values_that_change_before_a_flush_are_part_of_it() {
        store.beforeFlush(() -> increment(store, "a"));
        store.flushCache();
        assertThat(stored("a")).isEqualTo("1");
        store.flushCache();
        assertThat(stored("a")).isEqualTo("2");
    }

    @Test
    void a_clean_value_is_deleted_or_replaced_in_the_store_and_a_dirty_one_is_not() {
        for (String key : List.of("a", "b", "c", "d")) {
            store.put(key, "1");
        }
        store.flushCache();
        below.take();
        store.put("b", "2");
        store.put("d", "2");
        store.deleteUnlessDirty(bytes("a"));
        store.deleteUnlessDirty(bytes("b"));
        store.replaceUnlessDirty(bytes("c"), "3");
        store.replaceUnlessDirty(bytes("d"), "3");
        assertThat(below.take()).containsExactly("put -a", "put c");
        assertThat(store.read("a")).isNull();
        assertThat(List.of(store.read("b"), store.read("c"), store.read("d"))).containsExactly("2", "3", "2");
        store.flushCache();
        assertThat(all()).isEqualTo(Map.of("b", "2", "c", "3", "d", "2"));
    }

    @Test
    void a_put_after_a_delete_does_not_change_the_deleted_entry() {
        String key = "a";
        store.put(key, "1");
        store.flushCache();
        store.read(key);
        store.deleteUnlessDirty(bytes(key));
        store.put(key, "2");
        store.flushCache();
        assertThat(stored("a")).isEqualTo("2");
    }

    @Test
    void a_cold_value_and_a_deleted_one_leave_the_cache_when_they_are_written() {
        CacheBudget memory = new CacheBudget(1 << 20);
        WriteBackStore<String, String> small = open(below, memory);
        small.put("a", "1");
        small.flushCache();
        long bytes = memory.usedBytes();
        small.putCold("b", "1");
        small.put("c", "1");
        small.delete("c");
        assertThat(small.read("b")).isEqualTo("1");
        below.take();
        small.flushCache();
        assertThat(below.take()).containsExactly("put b -c");
        assertThat(memory.usedBytes()).isEqualTo(bytes);
        assertThat(small.read("b")).isEqualTo("1");
        assertThat(below.take()).containsExactly("get b");
        small.putCold("b", "2");
        small.put("b", "3");
        small.flushCache();
        below.take();
        assertThat(small.read("b")).isEqualTo("3");
        assertThat(below.take()).as("it was put again").isEmpty();
    }

    @Test
    void a_deleted_value_is_gone_at_once_and_is_deleted_at_a_flush() {
        store.put("a", "1");
        store.put("b", "1");
        store.flushCache();
        store.delete("a");
        assertThat(store.read("a")).isNull();
        assertThat(stored("a")).isEqualTo("1");
        store.put("c", "1");
        store.delete("c");
        store.delete("b");
        store.put("b", "2");
        below.take();
        store.flushCache();
        assertThat(below.take()).containsExactly("put -a b -c");
        assertThat(stored("b")).isEqualTo("2");
        store.delete("b");
        store.flushCache();
        assertThat(below.content).isEmpty();
        assertThat(store.read("b")).isNull();
    }
}
