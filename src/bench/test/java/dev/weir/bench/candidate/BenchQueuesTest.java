package dev.weir.bench.candidate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile;
import dev.weir.shape.rules.QueueRules;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BenchQueuesTest {

    @Test
    void steady_queues_have_the_expected_release_intervals() throws Exception {
        for (int count : new int[] {1, 100, PolicyFile.MAX_QUEUES}) {
            BenchQueues queues = new BenchQueues(count);
            Map<String, QueueRules> rules =
                    PolicyFile.read("steady", queues.steadyRules()).queueRules();
            assertThat(rules).hasSize(count);
            rules.forEach((id, queue) -> {
                assertThat(queue.limit()).isEqualTo(1);
                assertThat(queue.perMs() * 1_000_000).isEqualTo(queues.intervalNanos(id));
                assertThat(queue.perMs()).isBetween(queues.shortestMs(), queues.longestMs());
            });
        }
    }
}
