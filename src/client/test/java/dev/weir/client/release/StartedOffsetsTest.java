package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class StartedOffsetsTest {

    private static final int OFFSETS = 40;

    @Test
    void markers_do_not_divide_a_range_and_undone_releases_do() {
        StartedOffsets started = new StartedOffsets();
        TreeSet<Long> undone = new TreeSet<>(List.of(5L, 6L));
        started.add(9, undone, 10);
        started.add(7, undone, 10); // 8 is a marker
        assertThat(started.metadata(5)).contains("weir1:AgM");
        assertThat(offsets(StartedOffsets.read(5, "weir1:AgM"))).containsExactly(7L, 8L, 9L);
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "mine", "weir1:*", "weir1:gA", "weir1:Ag", "weir1:gICAgICAgICAgAE"})
    void other_metadata_counts_as_none(String metadata) {
        assertThat(offsets(StartedOffsets.read(5, metadata))).isEmpty();
    }

    @Test
    void metadata_that_a_broker_would_reject_is_not_written() {
        StartedOffsets started = new StartedOffsets();
        TreeSet<Long> undone = new TreeSet<>();
        LongStream.range(0, 5_000).forEach(i -> undone.add(2 * i));
        for (long i = 0; i < 5_000; i++) {
            started.add(2 * i + 1, undone, 10_000);
            started.metadata(0).ifPresent(text -> assertThat(text).hasSizeLessThanOrEqualTo(4_000));
        }
        assertThat(started.metadata(0)).isEmpty();
        started.removeBelow(9_000);
        assertThat(started.metadata(9_000)).isPresent();
    }

    /** Owners that fail at random, one after the other, with releases that are done in any order. */
    @Test
    void no_started_offset_is_received_again_and_no_other_is_lost() {
        Random random = new Random(20_261_127);
        for (int run = 0; run < 300; run++) {
            Set<Long> startedEver = new TreeSet<>();
            Set<Long> markers = new TreeSet<>();
            LongStream.range(0, OFFSETS).filter(i -> random.nextInt(4) == 0).forEach(markers::add);
            long committed = 0;
            String metadata = "";
            for (int owner = 0; owner < 6; owner++) {
                StartedOffsets started = StartedOffsets.read(committed, metadata);
                TreeSet<Long> undone = new TreeSet<>();
                long next = committed;
                for (int step = random.nextInt(30); step > 0; step--) {
                    if (random.nextBoolean() && next < OFFSETS) {
                        boolean isSkipped = started.contains(next);
                        if (!markers.contains(next)) {
                            assertThat(isSkipped)
                                    .as("run %d, offset %d", run, next)
                                    .isEqualTo(startedEver.contains(next));
                            if (!isSkipped) {
                                undone.add(next);
                            }
                        }
                        next++;
                    } else if (!undone.isEmpty()) {
                        long one = List.copyOf(undone).get(random.nextInt(undone.size()));
                        undone.remove(one);
                        started.add(one, undone, next);
                        startedEver.add(one);
                    }
                    committed = undone.isEmpty() ? next : undone.first();
                    started.removeBelow(committed);
                    metadata = started.metadata(committed).orElseThrow();
                }
            }
        }
    }

    private static List<Long> offsets(StartedOffsets started) {
        return LongStream.range(0, 100).filter(started::contains).boxed().toList();
    }
}
