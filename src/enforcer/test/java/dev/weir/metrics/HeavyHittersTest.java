package dev.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HeavyHittersTest {

    @Test
    void counts_are_exact_while_the_names_fit() {
        HeavyHitters<String> hitters = new HeavyHitters<>(3);
        for (String name : List.of("b", "a", "c", "a", "b", "a")) {
            hitters.add(name);
        }
        assertThat(hitters.top(2))
                .containsExactly(new HeavyHitters.Hitter<>("a", 3), new HeavyHitters.Hitter<>("b", 2));
        hitters.add("c");
        assertThat(hitters.top(9)).extracting(HeavyHitters.Hitter::name).containsExactly("a", "b", "c");
    }

    @Test
    void further_counts_are_never_too_low_and_exceed_by_at_most_one_share() {
        Random random = new Random(3);
        int capacity = 100;
        int added = 200_000;
        HeavyHitters<String> hitters = new HeavyHitters<>(capacity);
        Map<String, Long> exact = new HashMap<>();
        for (int i = 0; i < added; i++) {
            String name = "n" + (int) Math.pow(10_000, random.nextDouble());
            hitters.add(name);
            exact.merge(name, 1L, Long::sum);
        }
        assertThat(hitters.top(capacity + 1)).hasSize(capacity).allSatisfy(hitter -> assertThat(hitter.count())
                .isBetween(exact.get(hitter.name()), exact.get(hitter.name()) + added / capacity));
        String first = exact.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .orElseThrow()
                .getKey();
        assertThat(hitters.top(1).get(0).name()).isEqualTo(first);
    }
}
