package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a deleted queue is removed once it is drained and its past releases no longer matter. */
class DrainedQueueTest {

    private static final String FIELD = "destination";

    private static QueueRules keyed(QueueTotal total) {
        return QueueRules.builder("q", 10, 1_000)
                .capacity(100)
                .lookAheadMs(0)
                .key(List.of(FIELD))
                .total(total)
                .build();
    }

    private static QueueRules unkeyed(String id) {
        return QueueRules.builder(id, 10, 1_000)
                .burst(5)
                .capacity(100)
                .lookAheadMs(0)
                .build();
    }

    private static void offer(QueueHarness queues, String queue, String id, String destination, long nowMs) {
        Request request = Request.builder(id, "c")
                .attributes(Map.of(FIELD, destination))
                .source(0, 0)
                .build();
        Admission admission = Admission.of(request, queue, new PolicyVersion("p", 1), null);
        queues.send(QueueRules.withKey(admission, queues.rules.get(queue)), nowMs);
    }

    private static List<String> viewed(QueueHarness queues, int most, long nowMs) {
        return queues.shaper.queries().views(most, nowMs * MS).stream()
                .map(view -> view.rules().id())
                .toList();
    }

    @Test
    void a_deleted_queue_is_removed_when_its_burst_is_free_again() {
        QueueHarness queue = new QueueHarness(unkeyed("q"));
        for (int i = 0; i < 8; i++) {
            offer(queue, "q", "r" + i, "a", 0);
        }
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(0));
        queue.runUntil(299);
        assertThat(viewed(queue, 10, 299)).containsExactly("q");
        queue.runUntil(799);
        assertThat(queue.releases).hasSize(8); // the last at 300 ms
        assertThat(viewed(queue, 10, 799)).as("nothing waits").isEmpty();
        assertThat(queue.savedQueues).as("its time ends at 800 ms").containsOnlyKeys("q");
        queue.runUntil(800);
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.saved).isEmpty();
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(queue.shaper.queries().view("q", 800 * MS)).isNull();
    }

    @Test
    void a_queue_created_again_before_it_was_removed_gets_no_second_burst() {
        QueueHarness queue = new QueueHarness(unkeyed("q"));
        for (int i = 0; i < 5; i++) {
            offer(queue, "q", "r" + i, "a", 0);
        }
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(0));
        queue.runUntil(100);
        queue.releases.clear();
        queue.rules.put("q", unkeyed("q"));
        queue.restart();
        for (int i = 0; i < 5; i++) {
            offer(queue, "q", "s" + i, "a", 100);
        }
        queue.runUntil(1_000);
        assertThat(queue.releases).extracting(Release::sequence).containsExactly(6L, 7L, 8L, 9L, 10L);
        assertThat(queue.takeReleases()).containsExactly("s0@100", "s1@200", "s2@300", "s3@400", "s4@500");
        queue.runDry();
        assertThat(queue.savedQueues).as("it is in force").containsOnlyKeys("q");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 1_000})
    void a_deleted_queue_with_keys_is_removed_with_the_last_of_them(int hotKeys) {
        QueueHarness queue = new QueueHarness(keyed(null));
        queue.hotKeys = hotKeys;
        queue.restart();
        for (int i = 0; i < 100; i++) {
            offer(queue, "q", "r" + i, "d" + i % 20, 0);
        }
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(0));
        queue.runUntil(200);
        queue.restart();
        queue.carryOut(queue.shaper.refresh(200 * MS));
        queue.runUntil(499);
        assertThat(queue.releases).hasSize(100);
        assertThat(queue.savedQueues).containsOnlyKeys("q");
        queue.runUntil(500);
        assertThat(queue.saved).isEmpty();
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.timers.entries).isEmpty();
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_deleted_queue_with_a_total_ends_its_demand() {
        QueueHarness queue = new QueueHarness(keyed(new QueueTotal(20, 1_000, 100)));
        for (int i = 0; i < 20; i++) {
            offer(queue, "q", "r" + i, "d" + i, 0);
        }
        queue.runUntil(100);
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(100 * MS));
        queue.runDry();
        assertThat(queue.releases).hasSize(20);
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.ledgers).isEmpty();
        assertThat(queue.shaper.needsTime()).isFalse();
    }

    @Test
    void a_deleted_queue_with_a_total_drains_after_a_restart() {
        QueueHarness queue = new QueueHarness(keyed(new QueueTotal(20, 1_000, 100)));
        for (int i = 0; i < 20; i++) {
            offer(queue, "q", "r" + i, "d" + i, 0);
        }
        queue.runUntil(100);
        queue.rules.clear();
        queue.restart();
        queue.carryOut(queue.shaper.refresh(1_000 * MS));
        queue.carryOut(queue.shaper.tick(1_000 * MS, 1_000)); // the ledger is due before a partition reports to it
        queue.runDry();
        assertThat(queue.releases).hasSize(20);
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.ledgers).isEmpty();
    }

    @Test
    void a_deleted_queue_whose_last_request_is_cancelled_is_removed() {
        QueueHarness queue = new QueueHarness(unkeyed("q"));
        queue.offer("r", "c", null, 0);
        queue.rules.clear();
        assertThat(queue.cancel("r", "c", 0).requestId()).isEqualTo("r");
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.saved).isEmpty();
        assertThat(queue.cancel("r", "c", 0).reason()).isEqualTo(Reason.NOT_WAITING);
    }

    @Test
    void an_idle_queue_that_was_deleted_is_removed_although_nothing_is_due() {
        QueueHarness queues = new QueueHarness(unkeyed("q"));
        queues.rules.put(
                "keyed",
                QueueRules.builder("keyed", 10, 1_000)
                        .capacity(100)
                        .lookAheadMs(0)
                        .key(List.of(FIELD))
                        .build());
        offer(queues, "q", "r", "a", 0);
        offer(queues, "keyed", "r", "a", 0);
        queues.runDry();
        assertThat(viewed(queues, 10, 5_000)).containsExactly("keyed", "q");
        queues.rules.clear();
        assertThat(viewed(queues, 10, 5_000)).as("before a refresh").isEmpty();
        queues.restart();
        queues.carryOut(queues.shaper.refresh(5_000 * MS));
        assertThat(queues.savedQueues).isEmpty();
        assertThat(queues.saved).isEmpty();
    }

    @Test
    void deleted_queues_do_not_displace_others_from_the_first_views() {
        QueueHarness queues = new QueueHarness(unkeyed("q"));
        for (int i = 0; i < 10; i++) {
            queues.rules.put("a" + i, unkeyed("a" + i));
            offer(queues, "a" + i, "r", "a", 0);
        }
        offer(queues, "q", "r", "a", 0);
        queues.runUntil(0);
        queues.rules.keySet().removeIf(id -> id.startsWith("a"));
        assertThat(viewed(queues, 1, 0)).containsExactly("q");
        queues.carryOut(queues.shaper.refresh(0));
        assertThat(viewed(queues, 1, 0)).containsExactly("q");
        queues.runUntil(100);
        assertThat(queues.savedQueues).containsOnlyKeys("q");
    }
}
