package dev.weir.requests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig.MisplacedAction;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.junit.jupiter.api.Test;

class RequestPlacementTest {

    @Test
    void clients_stay_where_they_are_when_partitions_are_added_and_misplaced_requests_are_routed() {
        RequestPartitions partitions = new RequestPartitions(4, 4);
        RequestPlacement placement = new RequestPlacement(partitions, MisplacedAction.DEAD_LETTER);
        assertThat(placement.action()).isEqualTo(MisplacedAction.DEAD_LETTER);
        assertThat(partitions.update(4)).isFalse();
        assertThat(partitions.update(6)).isTrue();
        assertThat(placement.action()).isEqualTo(MisplacedAction.ROUTE);
        for (int i = 0; i < 100; i++) {
            byte[] client = ("client" + i).getBytes(StandardCharsets.UTF_8);
            assertThat(placement.partitionOf(client)).isEqualTo(BuiltInPartitioner.partitionForKey(client, 4));
        }
    }

    @Test
    void a_record_of_an_added_partition_proves_the_addition_before_the_next_look() {
        RequestPartitions partitions = new RequestPartitions(4, 4);
        RequestPlacement placement = new RequestPlacement(partitions, MisplacedAction.DEAD_LETTER);
        partitions.read(3);
        assertThat(placement.action()).isEqualTo(MisplacedAction.DEAD_LETTER);
        partitions.read(4);
        assertThat(placement.action()).isEqualTo(MisplacedAction.ROUTE);
        assertThat(partitions.update(6)).as("a change that is logged").isTrue();
    }

    /** The reason for which added partitions are read by the tasks of the same numbers, modulo the number of tasks. */
    @Test
    void if_partitions_are_multiplied_an_added_one_has_the_clients_of_the_task_that_reads_it() {
        for (int i = 0; i < 100; i++) {
            byte[] client = ("client" + i).getBytes(StandardCharsets.UTF_8);
            assertThat(BuiltInPartitioner.partitionForKey(client, 12) % 4)
                    .isEqualTo(BuiltInPartitioner.partitionForKey(client, 4));
        }
    }
}
