package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.processor.TextCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WriteBackCacheTest {

    private final TextCodec codec = new TextCodec();
    private final WriteBackCache<String> cache = new WriteBackCache<>(KeyHash.ofThisProcess());

    private static byte[] key(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(WriteBackEntry<String> entry) {
        return new String(entry.key(), StandardCharsets.UTF_8);
    }

    private WriteBackEntry<String> add(String key, String stored) {
        return cache.add(key(key), stored == null ? null : codec.encode(stored));
    }

    private String read(String key) {
        return cache.read(cache.find(key(key)), codec);
    }

    private String evict() {
        WriteBackEntry<String> coldest = cache.coldest();
        cache.remove(coldest);
        return text(coldest);
    }

    /** Returns the dirty entries as key=value. */
    private List<String> dirty() {
        List<String> dirty = new ArrayList<>();
        cache.forEachDirty(entry -> dirty.add(text(entry) + "=" + cache.read(entry, codec)));
        return dirty;
    }

    /** The example in the design comment of {@link WriteBackCache}. */
    @Test
    void an_entry_that_was_read_gets_a_second_chance() {
        add("a", "1");
        add("b", "1");
        add("c", "1");
        read("a");
        add("d", "1");
        assertThat(evict()).isEqualTo("b");
        add("e", "1");
        assertThat(evict()).isEqualTo("c");
        add("f", "1");
        assertThat(evict()).isEqualTo("d");
        add("g", "1");
        assertThat(evict()).isEqualTo("a");
        assertThat(List.of(evict(), evict(), evict())).containsExactly("e", "f", "g");
    }

    @Test
    void the_head_is_evicted_first_if_all_were_read() {
        for (String key : List.of("a", "b", "c")) {
            add(key, "1");
            read(key);
        }
        assertThat(List.of(evict(), evict(), evict())).containsExactly("a", "b", "c");
        assertThat(cache.size()).isZero();
        assertThat(cache.heapBytes()).isZero();
    }

    @Test
    void neither_a_peek_nor_a_change_is_a_read() {
        WriteBackEntry<String> a = add("a", "1");
        add("b", "1");
        cache.peek(key("a"));
        cache.change(a, "2", codec);
        assertThat(evict()).isEqualTo("a");
    }

    @Test
    void a_value_is_as_it_was_set_in_either_form_and_of_any_size() {
        WriteBackEntry<String> entry = add("a", null);
        assertThat(read("a")).isNull();
        for (String value : List.of("1", "12345678", "123456789", "", "#decoded", "#", "1".repeat(100), "12", "#1")) {
            cache.change(entry, value, codec);
            assertThat(read("a")).isEqualTo(value);
            assertThat(entry.isEncoded()).isEqualTo(!value.startsWith("#"));
        }
    }

    @Test
    void the_codec_selects_the_form_of_stored_values_too() {
        WriteBackEntry<String> encoded = add("a", "1");
        WriteBackEntry<String> decoded = add("b", "#1");
        assertThat(List.of(read("a"), read("b"))).containsExactly("1", "#1");
        assertThat(encoded.isEncoded()).isTrue();
        assertThat(decoded.isEncoded()).as("after the first read").isFalse();
        assertThat(read("b")).isSameAs(read("b"));
    }

    @Test
    void a_small_change_overwrites_the_encoded_value_in_place() {
        WriteBackEntry<String> entry = add("a", "123456789");
        long bytes = cache.heapBytes();
        cache.change(entry, "1234567890123456", codec);
        assertThat(cache.heapBytes()).as("rounded up to a multiple of 8").isEqualTo(bytes);
        cache.change(entry, "12345678901234567", codec);
        assertThat(cache.heapBytes()).isEqualTo(bytes + 8);
        cache.change(entry, "1", codec);
        assertThat(cache.heapBytes()).isEqualTo(bytes - 8);
    }

    @Test
    void heap_is_counted_by_the_codec_for_decoded_values() {
        WriteBackEntry<String> entry = add("a", null);
        long empty = cache.heapBytes();
        cache.change(entry, "#" + "1".repeat(999), codec);
        assertThat(cache.heapBytes()).isEqualTo(empty + 1_000);
        cache.change(entry, "1", codec);
        assertThat(cache.heapBytes()).isEqualTo(empty + 8);
        cache.remove(key("a"));
        assertThat(cache.heapBytes()).isZero();
    }

    @Test
    void an_entry_is_dirty_from_a_change_until_it_is_marked_clean() {
        WriteBackEntry<String> a = add("a", "1");
        WriteBackEntry<String> b = add("b", "1");
        assertThat(dirty()).isEmpty();
        cache.change(a, "2", codec);
        cache.change(b, "2", codec);
        cache.change(a, "3", codec);
        assertThat(dirty()).as("each key once").containsExactlyInAnyOrder("a=3", "b=2");
        cache.changeClean(b, "4", codec);
        assertThat(dirty()).containsExactly("a=3");
        cache.change(b, "5", codec);
        assertThat(dirty()).as("each key once").containsExactlyInAnyOrder("a=3", "b=5");
        cache.markAllClean();
        assertThat(dirty()).isEmpty();
        assertThat(cache.isDirty(key("a"))).isFalse();
        cache.change(a, "6", codec);
        assertThat(dirty()).containsExactly("a=6");
        assertThat(cache.isDirty(key("a"))).isTrue();
        cache.clear();
        assertThat(dirty()).isEmpty();
        assertThat(cache.peek(key("a"))).isNull();
    }

    /** Returns one hash for all keys, as an attacker could with chosen client names, and counts comparisons. */
    private static final class OneHash extends KeyHash {
        private long comparisons;

        OneHash() {
            super(0);
        }

        @Override
        int hash(byte[] key) {
            return 4711;
        }

        @Override
        boolean equal(byte[] one, byte[] other) {
            comparisons++;
            return super.equal(one, other);
        }

        @Override
        int compare(byte[] one, byte[] other) {
            comparisons++;
            return super.compare(one, other);
        }
    }

    @Test
    void a_lookup_takes_a_logarithmic_number_of_comparisons_if_all_keys_have_one_hash() {
        OneHash hashing = new OneHash();
        WriteBackCache<String> crowded = new WriteBackCache<>(hashing);
        int keys = 30_000;
        for (int i = 0; i < keys; i++) {
            crowded.add(key("client-" + i), codec.encode(String.valueOf(i)));
        }
        hashing.comparisons = 0;
        for (int i = 0; i < keys; i++) {
            assertThat(crowded.read(crowded.find(key("client-" + i)), codec)).isEqualTo(String.valueOf(i));
        }
        // A red-black tree of n keys has a height of at most 2 log2(n + 1); each step compares order and equality.
        assertThat(hashing.comparisons / keys).isLessThanOrEqualTo(2 * 2 * 15);
    }
}
