package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.store.HeapSchedule;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.timer.TimerKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class ShaperTest {

    private final Map<String, QueueRules> rules = new HashMap<>();
    private final Map<String, HeapQueueStore<Place, QueueEntry>> slots = new HashMap<>();
    private final List<Release> releases = new ArrayList<>();
    private int saves;
    private final Shaper shaper = new Shaper(
            rules::get,
            new Shaper.Tables() {
                @Override
                public QueueStore of(BucketId bucket) {
                    return new QueueStore(
                            slots.computeIfAbsent(bucket.queue(), q -> new HeapQueueStore<>()),
                            new HeapQueueStore<>(),
                            new HeapQueueStore<>(),
                            new HeapSchedule(),
                            new HeapQueueStore<>());
                }

                @Override
                public BucketState load(BucketId bucket) {
                    return null;
                }

                @Override
                public KeyValueTable<TimerKey, BucketId> timers() {
                    return new HeapQueueStore<>();
                }

                @Override
                public IdempotencyCache idempotencyCache() {
                    return IdempotencyCache.inMemory(1, 0);
                }

                @Override
                public void readStates(Consumer<QueueEffect.StateStored> states) {}

                @Override
                public void readWaiting(BucketId bucket, BiConsumer<Place, QueueEntry> requests) {}
            },
            1_000);

    private void carryOut(List<QueueEffect> effects) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.Released released) {
                releases.add(released.release());
            } else if (effect instanceof QueueEffect.BucketStored) {
                saves++;
            }
        }
    }

    private void define(String queue, long limit, long perMs, long burst) {
        rules.put(
                queue,
                QueueRules.builder(queue, limit, perMs)
                        .burst(burst)
                        .capacity(1_000_000)
                        .lookAheadMs(0)
                        .build());
    }

    private void admit(String queue, int id) {
        Request request = Request.builder("r" + id, "c").source(0, id).build();
        carryOut(shaper.admit(Admission.of(request, queue, new PolicyVersion("p", 1), null), id, 0, 0));
    }

    @Test
    void a_tick_touches_only_the_queues_that_are_due() {
        int queues = 1_000;
        for (int q = 0; q < queues; q++) {
            define("q" + q, 1, 1_000 + q, 1); // each has another pace
            admit("q" + q, 2 * q);
            admit("q" + q, 2 * q + 1);
        }
        carryOut(shaper.tick(0, 10_000));
        assertThat(releases).hasSize(queues);
        slots.values().forEach(table -> table.calls = 0);
        releases.clear();
        saves = 0;
        carryOut(shaper.tick(1_004 * MS, 10_000));
        assertThat(releases).extracting(Release::queue).containsExactly("q0", "q1", "q2", "q3", "q4");
        assertThat(slots.values().stream().filter(table -> table.calls > 0)).hasSize(5);
        assertThat(saves).isEqualTo(5);
        assertThat(shaper.dueNanos()).isEqualTo(1_005 * MS);
    }

    @Test
    void a_busy_queue_does_not_block_the_others() {
        define("busy", 1_000_000, 1, 1_000_000);
        define("calm", 1, 1_000, 1);
        for (int i = 0; i < 5_000; i++) {
            admit("busy", i);
        }
        admit("calm", 5_000);
        carryOut(shaper.tick(MS, 1_000));
        assertThat(releases).extracting(Release::queue).contains("calm");
        assertThat(releases).hasSizeLessThanOrEqualTo(1_000);
    }

    @Test
    void state_is_saved_once_for_all_releases_of_a_tick() {
        define("q", 1_000, 1, 1_000);
        for (int i = 0; i < 400; i++) {
            admit("q", i);
        }
        saves = 0;
        carryOut(shaper.tick(0, 1_000));
        assertThat(releases).hasSize(400);
        assertThat(saves).isEqualTo(1);
    }

    @Test
    void a_repeat_whose_first_answer_was_deleted_counts_as_admitted() {
        QueueHarness weir = new QueueHarness(QueueHarness.rules(1, 1_000, 1, 10, 60_000));
        Admission first = admission("r", false);
        weir.send(first, 0);
        for (int i = 0; i < 100; i++) { // the capacity of the cache
            weir.send(admission("other" + i, false), 0);
        }
        Decision again = weir.send(admission("r", true), 5);
        assertThat(again.repeated()).isTrue();
        assertThat(again.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(again.reason()).isEqualTo(Reason.SHAPED);
        assertThat(again.queueing()).isEqualTo(new Decision.Queueing("q", null, null));
        assertThat(again.httpStatus()).isEqualTo(202);
        assertThat(again.source()).isEqualTo(new Request.Source(0, 1));
        weir.runDry();
        assertThat(weir.takeReleases()).hasSize(10).containsOnlyOnce("r@0");
    }

    @Test
    void a_repeat_whose_queue_is_missing_counts_as_admitted() {
        for (QueueRules rules : new QueueRules[] {null, QueueHarness.rules(1, 1_000, 1, 10, 60_000)}) {
            Decision reported = QueueDecisions.provisional(admission("r", true), rules, 5);
            assertThat(reported.repeated()).isTrue();
            assertThat(reported.outcome()).isEqualTo(Outcome.QUEUED);
        }
        assertThat(QueueDecisions.provisional(admission("r", false), null, 5).reason())
                .isEqualTo(Reason.NO_QUEUE);
    }

    @Test
    void the_end_of_a_wait_is_not_stored_as_first_answer() {
        QueueHarness weir = new QueueHarness(QueueHarness.rules(1, 1_000, 1, 10, 60_000));
        weir.send(admission("a", false), 0);
        Decision queued = weir.send(admission("b", false), 0);
        weir.cancel("b", "c", 10);
        assertThat(weir.send(admission("b", true), 20)).isEqualTo(queued.asRepeated(new Request.Source(0, 1)));
    }

    @Test
    void a_missing_queue_gives_the_same_answer_once_it_exists() {
        QueueHarness weir = new QueueHarness(QueueHarness.rules(1, 1_000, 1, 10, 60_000));
        QueueRules q = weir.rules.remove("q");
        assertThat(weir.send(admission("a", false), 0).reason()).isEqualTo(Reason.NO_QUEUE);
        weir.rules.put("q", q);
        assertThat(weir.send(admission("a", true), 10).reason()).isEqualTo(Reason.NO_QUEUE);
        weir.runDry();
        assertThat(weir.takeReleases()).isEmpty();
    }

    private static Admission admission(String id, boolean repeated) {
        Request request = Request.builder(id, "c").source(0, repeated ? 1 : 0).build();
        return new Admission(
                request,
                new IdempotentAnswer.SentToQueue("q", new PolicyVersion("p", 1), null),
                Map.of(),
                new Admission.Identity(repeated, 1_000, 0, null),
                List.of(),
                DecisionContext.UNKNOWN);
    }
}
