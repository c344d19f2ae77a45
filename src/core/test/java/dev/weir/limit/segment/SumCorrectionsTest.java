package dev.weir.limit.segment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class SumCorrectionsTest {

    @Test
    void the_tree_has_the_sums_of_its_corrections() {
        Random random = new Random(1);
        Map<Long, LogSegment> store = new HashMap<>();
        SegmentReader reader = new SegmentReader() {
            @Override
            public LogSegment get(long number) {
                throw new AssertionError("no node " + number);
            }

            @Override
            public LogSegment node(long number) {
                return store.getOrDefault(number, LogSegment.empty(0));
            }
        };
        TreeMap<Long, Long> expected = new TreeMap<>();
        SumCorrections corrections = SumCorrections.NONE;
        for (int i = 0; i < Effort.times(3_000); i++) {
            long range = 1L << 1 + random.nextInt(20);
            long number = random.nextLong(range);
            long change = random.nextInt(20) - 10;
            corrections = corrections.with(reader, number, LogSegment.empty(0), change);
            expected.merge(number, change, Long::sum);
            if (random.nextInt(5) == 0) {
                long gone = expected.ceilingKey(random.nextLong(expected.lastKey() + 1));
                corrections = corrections.without(reader, gone);
                expected.remove(gone);
                expected.putIfAbsent(number, 0L);
            }
            if (random.nextInt(5) == 0) {
                store.putAll(corrections.replaced());
                corrections = SumCorrections.stored(corrections.end());
            }
            long from = random.nextLong(range);
            long to = from + random.nextLong(range);
            assertThat(corrections.sum(reader, from, to))
                    .as("from %d to %d", from, to)
                    .isEqualTo(expected.subMap(from, to).values().stream()
                            .mapToLong(Long::longValue)
                            .sum());
        }
    }
}
