package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HashCountsTest {

    private final HashCounts counts = new HashCounts();

    /** Returns hashes that differ in their upper 48 bits; many begin at the same entries, the first and the last too. */
    private static long hash(int number, int seed) {
        long start = number % 3 == 0 ? number * 0x9E3779B97F4A7C15L : number % 2 == 0 ? -1L << 60 : 0;
        return start & -1L << 40 | (long) number << 20 | seed & 0xFFFF;
    }

    @Test
    void contains_what_was_added_more_often_than_removed() {
        for (int seed = 0; seed < 20; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            HashCounts tried = new HashCounts();
            Map<Integer, Integer> model = new HashMap<>();
            List<Integer> added = new ArrayList<>();
            int range = 1 << random.nextInt(3, 13);
            for (int i = 0; i < 20_000; i++) {
                boolean grows = i / 5_000 % 2 == 0;
                if (random.nextInt(10) < (grows ? 7 : 3)) {
                    int number = random.nextInt(range);
                    tried.add(hash(number, i));
                    model.merge(number, 1, Integer::sum);
                    added.add(number);
                } else if (!added.isEmpty()) {
                    int number = added.set(random.nextInt(added.size()), added.get(added.size() - 1));
                    added.remove(added.size() - 1);
                    tried.remove(hash(number, i));
                    model.computeIfPresent(number, (some, count) -> count == 1 ? null : count - 1);
                }
                int asked = random.nextInt(range);
                assertThat(tried.mayContain(hash(asked, i))).isEqualTo(model.containsKey(asked));
            }
            for (int number = 0; number < range; number++) {
                assertThat(tried.mayContain(hash(number, 7))).isEqualTo(model.containsKey(number));
            }
        }
    }

    @Test
    void grows_to_a_million_hashes_and_shrinks() {
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 1_000_000; i++) {
                counts.add(i * 0x9E3779B97F4A7C15L);
            }
            for (int i = 0; i < 1_000_000; i++) {
                assertThat(counts.mayContain(i * 0x9E3779B97F4A7C15L)).isTrue();
                counts.remove(i * 0x9E3779B97F4A7C15L);
                assertThat(counts.mayContain(i * 0x9E3779B97F4A7C15L)).isFalse();
            }
        }
    }

    @Test
    void a_hash_that_was_added_too_often_to_count_stays() {
        for (int i = 0; i < 70_000; i++) {
            counts.add(5L << 16);
        }
        for (int i = 0; i < 70_000; i++) {
            counts.remove(5L << 16);
        }
        assertThat(counts.mayContain(5L << 16)).isTrue();
        assertThat(counts.mayContain(6L << 16)).isFalse();
    }
}
