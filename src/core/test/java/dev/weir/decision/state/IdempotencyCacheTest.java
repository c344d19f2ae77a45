package dev.weir.decision.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.IdempotencyCache.Entry;
import dev.weir.decision.state.IdempotencyCache.EvictionEntry;
import dev.weir.decision.state.IdempotencyCache.Storage;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.PolicyVersion;
import dev.weir.event.RequestKind;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.policy.RequestRules;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IdempotencyCacheTest {

    private static final ContentHash CONTENT = new ContentHash(1, 2, 3, 4);
    private static final long FAR_AHEAD = RequestRules.MAX_TIMESTAMP_MS;

    /** A table whose entries the test can inspect. */
    private record MapTable<K, V>(Map<K, V> entries) implements KeyValueTable<K, V> {
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

    private final Map<RequestKey, Entry> answers = new HashMap<>();
    private final TreeMap<Long, EvictionEntry> notes = new TreeMap<>();
    private IdempotencyCache memory;

    /** Opens a cache on the stored entries, as after a restart. */
    private void open(int most, long lateMs) {
        long oldest = notes.isEmpty() ? 0 : notes.firstKey();
        long next = notes.isEmpty() ? 0 : notes.lastKey() + 1;
        memory = new IdempotencyCache(
                new Storage(new MapTable<>(answers), new MapTable<>(notes), oldest, next), most, lateMs);
    }

    private static RequestKey key(String id) {
        return new RequestKey("c", RequestKind.CONSUME, id);
    }

    private static IdempotentAnswer answer(long version) {
        return new IdempotentAnswer.SentToQueue("q", new PolicyVersion("p", version), null);
    }

    private void put(String id, long atMs, long untilMs) {
        memory.put(key(id), CONTENT, answer(atMs), atMs, untilMs);
    }

    private List<String> remembered() {
        return answers.keySet().stream().map(RequestKey::requestId).sorted().toList();
    }

    @Test
    void the_oldest_are_evicted_when_there_are_too_many() {
        open(3, 0);
        for (String id : List.of("a", "b", "c", "d", "e")) {
            put(id, 0, 1_000);
        }
        assertThat(remembered()).containsExactly("c", "d", "e");
        assertThat(notes.keySet()).containsExactly(2L, 3L, 4L);
    }

    @Test
    void at_least_one_answer_is_kept() {
        open(1, 0);
        for (int i = 0; i < 10; i++) {
            put("r" + i, i, 1_000);
            open(1, 0);
        }
        assertThat(remembered()).containsExactly("r9");
        assertThat(notes).hasSize(1);
    }

    @Test
    void a_lower_maximum_is_reached_gradually() {
        open(100, 0);
        for (int i = 0; i < 100; i++) {
            put("r" + i, i, 1_000);
        }
        open(10, 0);
        for (int i = 0; i < 90; i++) {
            put("s" + i, 100, 1_000);
            assertThat(notes).hasSize(99 - i);
        }
        put("s90", 100, 1_000);
        assertThat(notes).hasSize(10);
        assertThat(answers).hasSize(10);
    }

    @Test
    void an_answer_that_replaces_an_expired_one_outlives_its_note() {
        open(3, 0);
        put("a", 0, 10);
        put("a", 20, 30);
        put("b", 20, 30);
        assertThat(memory.get(key("a")).answer()).isEqualTo(answer(20));
        put("c", 20, 30); // evicts the first entry of a
        assertThat(memory.get(key("a")).answer()).isEqualTo(answer(20));
        put("d", 20, 30); // evicts the second entry of a
        assertThat(memory.get(key("a"))).isNull();
    }

    @Test
    void two_expired_answers_are_deleted_per_answer_once_the_latest_thousand_are_newer() {
        open(1_000_000, 500);
        for (int i = 0; i < 5_000; i++) {
            put("old" + i, 0, 100);
        }
        for (int i = 0; i < 1_000; i++) {
            put("new" + i, 601, 10_000);
        }
        assertThat(remembered()).contains("old0");
        for (int i = 0; i < 2_500; i++) {
            put("newer" + i, 601, 10_000);
        }
        assertThat(remembered()).noneMatch(id -> id.startsWith("old")).hasSize(3_500);
        assertThat(notes).hasSize(3_500);
    }

    @Test
    void one_clock_that_is_ahead_expires_nothing() {
        open(1_000_000, 0);
        for (int i = 0; i < 10_000; i++) {
            put("r" + i, 0, 1);
            put("ahead" + i, FAR_AHEAD, FAR_AHEAD + 1);
        }
        assertThat(answers).hasSize(20_000);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void the_stored_answers_depend_only_on_the_answers_given(long seed) {
        Random random = new Random(seed);
        int most = seed % 2 == 0 ? 1 + random.nextInt(30) : 2_500;
        long lateMs = random.nextInt(50);
        Model model = new Model(most, lateMs);
        open(most, lateMs);
        long nowMs = 0;
        for (int i = 0; i < 6_000; i++) {
            nowMs += random.nextInt(3);
            long atMs = Math.max(0, nowMs - (random.nextInt(20) == 0 ? random.nextInt(100) : 0));
            atMs = random.nextInt(500) == 0 ? FAR_AHEAD : atMs;
            long untilMs = atMs + 1 + random.nextInt(random.nextInt(10) == 0 ? 3_000 : 30);
            RequestKey key = key("r" + random.nextInt(5_000));
            memory.put(key, CONTENT, answer(i), atMs, untilMs);
            model.put(key, answer(i), atMs, untilMs);
            if (random.nextInt(100) == 0) {
                open(most, lateMs);
            }
            if (i % 100 == 0) {
                assertThat(remembered()).isEqualTo(model.remembered());
                assertThat(notes).hasSize(model.noted()).hasSizeLessThanOrEqualTo(most);
                assertThat(answers.values())
                        .allMatch(entry -> entry.equals(
                                answers.get(notes.get(entry.number()).key())));
            }
        }
    }

    /** A direct implementation of the rule, over all answers so far. */
    private static final class Model {
        private final Map<RequestKey, IdempotentAnswer> answers = new HashMap<>();
        private final Map<RequestKey, Integer> latest = new HashMap<>();
        private final List<EvictionEntry> all = new ArrayList<>();
        private final int most;
        private final long lateMs;
        private int gone;

        Model(int most, long lateMs) {
            this.most = most;
            this.lateMs = lateMs;
        }

        void put(RequestKey key, IdempotentAnswer answer, long atMs, long untilMs) {
            all.add(new EvictionEntry(key, atMs, untilMs));
            int last = all.size() - 1;
            int epoch = Math.max(1, Math.min(1_000, most / 2));
            long nowMs = all.subList(Math.max(0, (last / epoch - 1) * epoch), last + 1).stream()
                    .mapToLong(EvictionEntry::atMs)
                    .min()
                    .getAsLong();
            for (int drops = 0; drops < 2 && gone < last; drops++) {
                EvictionEntry oldest = all.get(gone);
                if (last - gone < most && oldest.untilMs() > nowMs - lateMs) {
                    break;
                }
                if (latest.get(oldest.key()) == gone) {
                    answers.remove(oldest.key());
                }
                gone++;
            }
            answers.put(key, answer);
            latest.put(key, last);
        }

        List<String> remembered() {
            return answers.keySet().stream().map(RequestKey::requestId).sorted().toList();
        }

        int noted() {
            return all.size() - gone;
        }
    }
}
