package dev.weir.decision.state;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class KnownEndsTest {

    private final KnownEnds ends = new KnownEnds();

    @Test
    void all_ends_are_known_of_consecutive_numbers() {
        for (long number = 1; number <= 100_000; number++) {
            ends.put(number, -number, 100_000);
        }
        for (long number = 1; number <= 100_000; number++) {
            assertThat(ends.get(number)).hasValue(-number);
            ends.remove(number);
            assertThat(ends.get(number)).isEmpty();
        }
        ends.shrink();
        ends.put(7, 8, 1);
        assertThat(ends.get(7)).hasValue(8);
    }

    @Test
    void an_end_that_is_known_is_the_one_that_was_put_last() {
        SplittableRandom random = new SplittableRandom(1);
        Map<Long, Long> all = new HashMap<>();
        int known = 0;
        for (int i = 0; i < 100_000; i++) {
            long number = 1 + random.nextLong(1 << random.nextInt(1, 30));
            OptionalLong endMs = ends.get(number);
            if (endMs.isPresent()) {
                assertThat(endMs).hasValue(all.get(number));
                known++;
            }
            if (random.nextInt(4) == 0) {
                ends.remove(number);
                all.remove(number);
            } else {
                ends.put(number, i, 1_000);
                all.put(number, (long) i);
            }
        }
        assertThat(known).isPositive();
    }
}
