package dev.weir.shape.total;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Measures how the partitions of a queue share the slots of its total. Each job takes a second. */
class TotalInFlightFairnessTest {

    private static final int PARTITIONS = 4;
    private static final int KEYS = 250; // on each partition
    private static final int JOB_MS = 1_000;
    private static final int STEP_MS = 10;
    private static final int WARM_UP_MS = 3_000;
    private static final int MEASURED_MS = 60_000;

    private record Job(Release release, long endsMs) {}

    private final Deque<Job> jobs = new ArrayDeque<>();
    private final long[] slotMs = new long[PARTITIONS]; // in use, by partition
    private PartitionsHarness queue;
    private int seen;

    private void open(long slots) {
        queue = new PartitionsHarness(
                1,
                PARTITIONS,
                20,
                QueueRules.builder("q", InFlightRules.of(slots))
                        .capacity(100_000)
                        .key(List.of("k"))
                        .total(QueueTotal.ofInFlight(slots, 100_000))
                        .build());
    }

    private void offer(int partition, int requests) {
        List<String> keys = IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "k" + i)
                .filter(key -> Math.floorMod(key.hashCode(), PARTITIONS) == partition)
                .limit(KEYS)
                .toList();
        for (int i = 0; i < requests; i++) {
            queue.offer(keys.get(i % KEYS), null, 1);
        }
    }

    private void run(long ms, boolean isMeasured) {
        for (long untilMs = queue.nowMs + ms; queue.nowMs < untilMs; ) {
            queue.run(STEP_MS);
            for (; seen < queue.releases.size(); seen++) {
                jobs.add(new Job(queue.releases.get(seen), queue.nowMs + JOB_MS));
            }
            while (!jobs.isEmpty() && jobs.peek().endsMs <= queue.nowMs) {
                queue.complete(jobs.remove().release);
            }
            if (isMeasured) {
                jobs.forEach(job -> slotMs[partitionOf(job.release)] += STEP_MS);
            }
        }
    }

    private static int partitionOf(Release release) {
        return Math.floorMod(release.key().get("k").hashCode(), PARTITIONS);
    }

    private double shareOf(int partition, long slots) {
        return slotMs[partition] / (double) (slots * MEASURED_MS);
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "1, 3", "20, 0", "20, 3"}) // the ledger is on partition 0
    void a_partition_with_all_the_work_gets_nearly_all_slots(long slots, int partition) {
        open(slots);
        for (int other = 0; other < PARTITIONS; other++) {
            offer(other, 5); // they had some work before
        }
        run(WARM_UP_MS + 5 * PARTITIONS * JOB_MS, false);
        offer(partition, (int) slots * (MEASURED_MS + 2 * WARM_UP_MS) / JOB_MS);
        run(WARM_UP_MS, false);
        run(MEASURED_MS, true);
        assertThat(shareOf(partition, slots)).isGreaterThan(0.97);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 3, 4, 20, 200})
    void partitions_with_work_share_the_slots_evenly(long slots) {
        open(slots);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            offer(partition, (int) slots * MEASURED_MS / JOB_MS / 2 + 10);
        }
        run(WARM_UP_MS, false);
        run(MEASURED_MS, true);
        double used = 0;
        for (int partition = 0; partition < PARTITIONS; partition++) {
            used += shareOf(partition, slots);
        }
        for (int partition = 0; partition < PARTITIONS; partition++) {
            assertThat(shareOf(partition, slots) / used)
                    .as("partition %d", partition)
                    .isBetween(0.23, 0.27);
        }
        assertThat(used).as("in all").isBetween(0.93, 1.0);
    }

    @Test
    void a_partition_that_had_all_slots_yields_its_share() {
        open(20);
        offer(1, 3_000);
        run(WARM_UP_MS, false);
        offer(2, 3_000);
        run(2 * WARM_UP_MS, false);
        run(MEASURED_MS, true);
        assertThat(shareOf(1, 20) / shareOf(2, 20)).isBetween(0.9, 1.1);
    }
}
