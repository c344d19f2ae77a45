package dev.weir.limit.segment;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FullSegmentsTest {

    private static LogSegment segment(long cost) {
        return LogSegment.empty(0).withEntry(1, cost);
    }

    /** Compares the segments and what is stored with a map, under random changes. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void the_writes_make_the_store_equal_to_the_segments(long seed) {
        Random random = new Random(seed);
        TreeMap<Long, LogSegment> expected = new TreeMap<>();
        TreeMap<Long, LogSegment> store = new TreeMap<>();
        FullSegments segments = FullSegments.NONE;
        for (int i = 1; i < 5_000; i++) {
            int kind = random.nextInt(10);
            if (kind < 5) {
                expected.put(segments.end(), segment(i));
                segments = segments.with(segment(i));
            } else if (kind < 7 && !expected.isEmpty()) {
                expected.pollLastEntry();
                segments = segments.withoutLast();
            } else if (kind < 9) {
                long from = segments.first() + random.nextLong(Math.min(3, segments.end() - segments.first() + 1));
                expected.headMap(from).clear();
                segments = segments.from(from);
            } else {
                Map<Long, LogSegment> before = new TreeMap<>(store);
                segments.writes().forEach(write -> carryOut(write, store));
                assertThat(segments.isStored() && !before.equals(store)).isFalse();
                segments = FullSegments.stored(reader(store), segments.first(), segments.end());
                assertThat(store).isEqualTo(expected);
            }
            assertThat(segments.end() - segments.first()).isEqualTo(expected.size());
            for (long number = segments.first(); number < segments.end(); number++) {
                assertThat(segments.get(number)).isEqualTo(expected.get(number));
            }
        }
    }

    private static SegmentReader reader(Map<Long, LogSegment> store) {
        return new SegmentReader() {
            @Override
            public LogSegment get(long number) {
                return store.get(number);
            }

            @Override
            public LogSegment node(long number) {
                return store.getOrDefault(number, LogSegment.empty(0));
            }
        };
    }

    private static void carryOut(SegmentWrite write, Map<Long, LogSegment> store) {
        if (write instanceof SegmentWrite.Put put) {
            store.put(put.number(), put.segment());
        } else if (write instanceof SegmentWrite.Delete delete) {
            assertThat(store.remove(delete.number())).as("%s", delete).isNotNull();
        }
    }
}
