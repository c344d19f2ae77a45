package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.view.QueueView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that queries of a working queue return the truth and change nothing. */
class QueueViewTest {

    private static final String[] TIERS = {"platinum", "gold", "free", null};
    private static final int STEPS = 2_000;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void views_and_checks_are_exact_and_do_not_affect_the_queue(long seed) {
        Random random = new Random(seed);
        QueueRules rules = rules(random, 1);
        QueueHarness queue = new QueueHarness(rules);
        QueueHarness unasked = new QueueHarness(rules);
        List<Release> released = new ArrayList<>();
        Map<Reason, Integer> reasons = new HashMap<>();
        long nowMs = 0;
        for (int step = 0; step < STEPS; step++) {
            nowMs += random.nextInt(4) == 0 ? random.nextInt(60) : 0;
            queue.runUntil(nowMs - 1);
            unasked.runUntil(nowMs - 1);
            if (random.nextInt(200) == 0) {
                rules = rules(random, rules.version() + 1);
                queue.rules.put("q", rules);
                unasked.rules.put("q", rules);
                queue.carryOut(queue.shaper.refresh(nowMs * MS));
                unasked.carryOut(unasked.shaper.refresh(nowMs * MS));
            }
            RequestKind kind = random.nextInt(6) == 0 ? RequestKind.CANCEL : RequestKind.CONSUME;
            int number = kind == RequestKind.CANCEL ? Math.max(0, step - random.nextInt(20)) : step;
            String id = "r" + number;
            String client = "c" + number % 5;
            String tier = TIERS[random.nextInt(TIERS.length)];
            Long deadlineMs = random.nextInt(4) == 0 ? (Long) (nowMs + random.nextInt(500)) : null;
            Admission admission = QueueHarness.admission(kind, id, client, tier, 1 + random.nextInt(4), deadlineMs);

            queue.shaper.queries().check(admission, (nowMs + random.nextInt(5_000)) * MS); // a clock that is ahead
            queue.shaper.queries().view("q", (nowMs + random.nextInt(5_000)) * MS);
            assertThat(queue.shaper.queries().view("q", nowMs * MS)).isEqualTo(bruteForce(queue, rules, nowMs));
            Decision foretold = queue.shaper.queries().check(admission, nowMs * MS);
            int before = queue.decisions.size();
            queue.send(admission, nowMs);
            unasked.send(admission, nowMs);
            assertThat(queue.decisions.subList(before, queue.decisions.size())).contains(foretold);
            reasons.merge(foretold.reason(), 1, Integer::sum);
            released.addAll(queue.releases);
            assertThat(queue.releases.toString()).isEqualTo(unasked.releases.toString());
            queue.releases.clear();
            unasked.releases.clear();
        }
        assertThat(queue.decisions).isEqualTo(unasked.decisions);
        assertThat(released).hasSizeGreaterThan(100);
        assertThat(reasons.keySet())
                .contains(Reason.SHAPED, Reason.CANCELLED, Reason.NOT_WAITING, Reason.QUEUE_FULL, Reason.TOO_LATE);
    }

    private static QueueRules rules(Random random, long version) {
        return QueueRules.builder("q", 50 + random.nextInt(100), 1_000)
                .version(version)
                .burst(1 + random.nextInt(4))
                .capacity(5 + random.nextInt(40))
                .maxWaitMs(random.nextInt(3) == 0 ? QueueRules.NO_MAX_WAIT : 50 + random.nextInt(600))
                .lookAheadMs(0)
                .tiers(Map.of(
                        "platinum", new TierShare(1, 2), "gold", new TierShare(0, 3), "silver", new TierShare(-1, 1)))
                .build();
    }

    /**
     * Computes the view from the store. The next release and the time to drain are copied, since other tests
     * check them.
     */
    private static QueueView bruteForce(QueueHarness queue, QueueRules rules, long nowMs) {
        Map<Place, Waiting> byPlace = new HashMap<>();
        queue.stored.entries.forEach((place, entry) -> {
            if (entry instanceof Waiting request) {
                byPlace.put(place, request);
            }
        });
        Collection<Waiting> waiting = byPlace.values();
        List<QueueView.TierView> tiers = new ArrayList<>();
        for (String tier : new String[] {"platinum", null, "free", "gold", "silver"}) {
            long size = byPlace.keySet().stream()
                    .filter(each -> each.flow().tier().equals(tier == null ? "" : tier))
                    .count();
            if (size > 0 || rules.tiers().containsKey(tier == null ? "" : tier)) {
                tiers.add(new QueueView.TierView(tier, rules.share(tier == null ? "" : tier), size));
            }
        }
        return new QueueView(
                rules,
                false,
                new QueueView.BacklogView(
                        waiting.size(),
                        waiting.stream().mapToLong(Waiting::cost).sum(),
                        tiers,
                        waiting.isEmpty()
                                ? null
                                : (Long) (nowMs
                                        - waiting.stream()
                                                .mapToLong(Waiting::enqueuedAtMs)
                                                .min()
                                                .getAsLong()),
                        queue.shaper.queries().view("q", nowMs * MS).drainMs()),
                new QueueView.OneBucket(
                        queue.outflow() == null ? 0L : (Long) queue.outflow().sequence(),
                        nextReleaseAtNanos(queue.shaper.queries().view("q", nowMs * MS))));
    }

    @Test
    void the_next_release_is_at_the_reported_time() {
        Random random = new Random(9);
        QueueHarness queue = new QueueHarness(QueueHarness.rules(7, 1_000, 3, 100, QueueRules.NO_MAX_WAIT));
        long nowMs = 0;
        for (int i = 0; i < 300; i++) {
            nowMs += random.nextInt(300);
            queue.runUntil(nowMs - 1);
            queue.offer("r" + i, "c" + random.nextInt(3), null, 1 + random.nextInt(3), null, nowMs);
            Long next = nextReleaseAtNanos(queue.shaper.queries().view("q", nowMs * MS));
            queue.releases.clear();
            queue.carryOut(queue.shaper.tick(queue.shaper.dueNanos(), 1));
            assertThat(queue.releases).hasSize(1);
            assertThat(queue.releases.get(0).releaseAtNanos()).isEqualTo(next);
            nowMs = Math.max(nowMs, -Math.floorDiv(-next, MS));
        }
        queue.runDry();
        assertThat(nextReleaseAtNanos(queue.shaper.queries().view("q", nowMs * MS)))
                .isNull();
    }

    @Test
    void the_time_to_drain_ends_with_the_last_release() {
        Random random = new Random(11);
        int drained = 0;
        for (int run = 0; run < 300; run++) {
            int burst = 1 + random.nextInt(6);
            QueueRules rules = QueueHarness.rules(1 + random.nextInt(30), 1_000, burst, 100, QueueRules.NO_MAX_WAIT);
            QueueHarness queue = new QueueHarness(rules);
            long nowMs = 0;
            for (int i = random.nextInt(30); i > 0; i--) {
                nowMs += random.nextInt(5) == 0 ? random.nextInt(2_000) : 0;
                queue.runUntil(nowMs);
                queue.offer("r" + i, "c" + random.nextInt(4), null, random.nextInt(burst + 1), null, nowMs);
            }
            queue.runUntil(nowMs);
            queue.releases.clear();
            QueueView view = queue.shaper.queries().view("q", nowMs * MS);
            queue.runDry();
            if (queue.releases.isEmpty()) {
                assertThat(view.drainMs()).isZero();
                continue;
            }
            long lastNanos = queue.releases.get(queue.releases.size() - 1).releaseAtNanos();
            // Each release is at a whole nanosecond, rounded up, so the bound is up to that much higher.
            assertThat(nowMs + view.drainMs()).isBetween(ceilMs(lastNanos), ceilMs(lastNanos + queue.releases.size()));
            drained++;
        }
        assertThat(drained).isGreaterThan(200);
    }

    @Test
    void a_request_above_the_burst_drains_when_it_is_released() {
        QueueHarness queue = new QueueHarness(QueueHarness.rules(10, 1_000, 2, 100, QueueRules.NO_MAX_WAIT));
        queue.offer("a", "c", null, 5, null, 0);
        assertThat(queue.shaper.queries().view("q", 0).drainMs())
                .isZero(); // it leaves at once; its time ends after 500 ms
        queue.runUntil(0);
        queue.offer("b", "c", null, 5, null, 0);
        assertThat(queue.shaper.queries().view("q", 100 * MS).drainMs()).isEqualTo(400);
        queue.offer("c", "c", null, 1, null, 0);
        assertThat(queue.shaper.queries().view("q", 100 * MS).drainMs()).isEqualTo(800); // at 1,000 + 100 - 200 ms
    }

    private static long ceilMs(long nanos) {
        return -Math.floorDiv(-nanos, MS);
    }

    @Test
    void an_unused_queue_is_empty_and_a_missing_one_has_no_view() {
        QueueRules rules =
                QueueHarness.rules(10, 1_000, 1, 100, 5_000, "free", new TierShare(-1, 1), "a", new TierShare(0, 1));
        QueueHarness queue = new QueueHarness(rules);
        assertThat(queue.shaper.queries().view("q", 0))
                .isEqualTo(new QueueView(
                        rules,
                        false,
                        new QueueView.BacklogView(
                                0,
                                0,
                                List.of(
                                        new QueueView.TierView("a", new TierShare(0, 1), 0),
                                        new QueueView.TierView("free", new TierShare(-1, 1), 0)),
                                null,
                                0),
                        new QueueView.OneBucket(0, null)));
        Admission admission = QueueHarness.admission(RequestKind.CONSUME, "r", "c", null, 1, null);
        assertThat(queue.shaper.queries().check(admission, 0).outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(queue.saved).isEmpty();
        queue.rules.clear();
        assertThat(queue.shaper.queries().view("q", 0)).isNull();
        assertThat(queue.shaper.queries().check(admission, 0).reason()).isEqualTo(Reason.NO_QUEUE);
    }

    @Test
    void changed_and_deleted_rules_are_reported_before_the_queue_applies_them() {
        QueueHarness queue = new QueueHarness(QueueHarness.rules(10, 1_000, 1, 100, 5_000));
        for (int i = 0; i < 3; i++) {
            queue.offer("r" + i, "c", null, 0);
        }
        queue.runUntil(0); // one leaves, the next is due at 100 ms
        QueueRules twiceAsFast = QueueHarness.rules(20, 1_000, 1, 2, 5_000);
        queue.rules.put("q", twiceAsFast);
        QueueView view = queue.shaper.queries().view("q", 0);
        assertThat(view.rules()).isEqualTo(twiceAsFast);
        assertThat(nextReleaseAtNanos(view)).isEqualTo(50 * MS);
        Admission admission = QueueHarness.admission(RequestKind.CONSUME, "r", "c", null, 1, null);
        assertThat(queue.shaper.queries().check(admission, 0).reason()).isEqualTo(Reason.QUEUE_FULL);
        assertThat(queue.shaper.queries().unusual(5, 0)).isEmpty();
        queue.rules.clear();
        view = queue.shaper.queries().view("q", 0);
        assertThat(view.isDeleted()).isTrue();
        assertThat(view.waiting()).isEqualTo(2);
        assertThat(queue.shaper.queries().unusual(5, 0)).containsExactly(view);
        assertThat(queue.shaper.queries().unusual(0, 0)).isEmpty();
        assertThat(nextReleaseAtNanos(view)).isEqualTo(100 * MS);
        assertThat(queue.shaper.queries().check(admission, 0).reason()).isEqualTo(Reason.NO_QUEUE);
        assertThat(queue.shaper.dueNanos()).isEqualTo(100 * MS);
    }

    private static QueueRules keyed(long version, String key) {
        return QueueRules.builder("q", 1, 1_000)
                .version(version)
                .capacity(10)
                .lookAheadMs(0)
                .key(List.of(key))
                .build();
    }

    private static QueueView view(QueueRules rules, boolean isDeleted, long waiting) {
        return new QueueView(
                rules,
                isDeleted,
                new QueueView.BacklogView(waiting, waiting, QueueView.tiers(rules, Map.of("", waiting)), null, 0),
                new QueueView.SeveralBuckets(1, 1, List.of()));
    }

    @Test
    void a_queue_that_drains_on_one_partition_has_the_rules_by_which_it_drains() {
        QueueView drained = QueueView.ofNoBuckets(keyed(3, "tenant"));
        QueueView draining = view(keyed(1, "destination"), true, 4);
        for (QueueView merged : List.of(drained.mergedWith(draining), draining.mergedWith(drained))) {
            assertThat(merged.isDeleted()).isTrue();
            assertThat(merged.rules()).isEqualTo(keyed(1, "destination"));
            assertThat(merged.waiting()).isEqualTo(4);
        }
    }

    @Test
    void a_queue_with_different_versions_on_its_partitions_has_the_newer_one() {
        QueueView older = view(keyed(1, "tenant"), false, 1);
        QueueView newer = view(keyed(2, "tenant"), false, 1);
        assertThat(older.mergedWith(newer).rules().version()).isEqualTo(2);
        assertThat(newer.mergedWith(older).rules().version()).isEqualTo(2);
    }

    private static Long nextReleaseAtNanos(QueueView view) {
        return ((QueueView.OneBucket) view.buckets()).nextReleaseAtNanos();
    }
}
