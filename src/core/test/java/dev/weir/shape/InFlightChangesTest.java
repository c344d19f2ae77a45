package dev.weir.shape;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that queues with slots keep their laws while operators pause, drain, purge and resume them and their keys, and
 * while their rules change: slots, caps, rates, priorities, and whether workers acknowledge at all.
 */
@Tag("slow")
class InFlightChangesTest {

    private static final int STEPS = 1_200;
    private static final List<Action> ACTIONS =
            List.of(Action.PAUSE, Action.DRAIN, Action.PURGE, Action.RESUME, Action.RESUME, Action.RESUME);

    @ParameterizedTest(name = "keyed: {0}, keys on the heap: {1}")
    @CsvSource({"false, 1000", "true, 1000", "true, 2"})
    void commands_and_changes_of_rules_break_no_law(boolean isKeyed, int hotKeys) {
        Map<Reason, Integer> seen = new EnumMap<>(Reason.class);
        int expiredRetries = 0;
        for (long seed = 1; seed <= Effort.times(10); seed++) {
            ModelledQueue run = run(seed, isKeyed, hotKeys);
            run.seen.forEach((reason, count) -> seen.merge(reason, count, Integer::sum));
            expiredRetries += run.expiredRetries;
        }
        assertThat(expiredRetries).as("retries that expired").isPositive();
        assertThat(seen)
                .containsKeys(
                        Reason.SHAPED,
                        Reason.QUEUE_FULL,
                        Reason.EVICTED,
                        Reason.PURGED,
                        Reason.QUEUE_DRAINING,
                        Reason.WAITED_TOO_LONG,
                        Reason.COMPLETED,
                        Reason.EXTENDED,
                        Reason.STALE_ATTEMPT,
                        Reason.ATTEMPTS_EXHAUSTED,
                        Reason.FAILED,
                        Reason.IN_FLIGHT,
                        Reason.CANCELLED);
    }

    /** Otherwise a late answer could end the attempt of another request. */
    @Test
    void no_receipt_is_used_again_when_slots_are_removed_and_added() {
        QueueRules slots = QueueRules.builder("q", 10, 1_000)
                .lookAheadMs(0)
                .inFlight(new InFlightRules(5, 60_000, 60_000, 1, 0))
                .build();
        QueueRules none = slots.toBuilder().inFlight(null).build();
        QueueHarness queue = new QueueHarness(none);
        Set<String> receipts = new HashSet<>();
        for (int round = 0; round < 3; round++) {
            long nowMs = round * 10_000L;
            change(queue, none, nowMs);
            queue.offer("first" + round, "c", null, nowMs); // leaves at once, so that the other one waits
            queue.offer("other" + round, "c", null, nowMs);
            queue.runUntil(nowMs);
            change(queue, slots, nowMs);
            queue.runUntil(nowMs + 1_000);
            Release other = queue.releases.get(queue.releases.size() - 1);
            assertThat(other.requestId()).isEqualTo("other" + round);
            assertThat(receipts.add(other.attempt().receipt())).isTrue();
            assertThat(queue.done(other, nowMs + 1_000).reason()).isEqualTo(Reason.COMPLETED);
        }
    }

    /** Until then, flows were charged the time of slots, in milliseconds. */
    @ParameterizedTest
    @ValueSource(ints = {1, 1_000})
    void clients_share_anew_when_slots_are_removed_on_the_heap_or_off_it(int hotKeys) {
        QueueRules slots = QueueRules.builder("q", new InFlightRules(1, 60_000, 60_000, 1, 0))
                .key(List.of("to"))
                .lookAheadMs(0)
                .build();
        QueueHarness queue = new QueueHarness(slots);
        queue.hotKeys = hotKeys;
        queue.restart();
        for (int i = 0; i < 10; i++) {
            send(queue, slots, "slow" + i, "slow", "a", 0);
            send(queue, slots, "fast" + i, "fast", "a", 0);
        }
        queue.runUntil(0);
        Release first = queue.releases.get(0);
        queue.runUntil(50_000);
        queue.done(first, 50_000);
        queue.runUntil(50_000);
        queue.done(queue.releases.get(1), 51_000);
        queue.runUntil(51_000);
        send(queue, slots, "other", "other", "b", 51_000);
        queue.runUntil(51_000);
        queue.extend(queue.releases.get(2), 52_000); // its key is due last, and unloaded if there is room for one only
        send(queue, slots, "another", "other", "b", 52_000);
        queue.runUntil(52_000);
        assertThat(queue.releases).extracting(Release::client).containsExactly("slow", "fast", "fast", "other");
        assertThat(queue.saved.get(new BucketId("q", List.of("to", "a"))).timers())
                .hasSize(hotKeys == 1 ? 1 : 0);
        queue.releases.clear();
        QueueRules none = QueueRules.builder("q", 10, 1_000)
                .key(List.of("to"))
                .lookAheadMs(0)
                .version(2)
                .build();
        change(queue, none, 52_001);
        queue.runUntil(53_000);
        assertThat(queue.releases)
                .filteredOn(release -> release.key().containsValue("a"))
                .hasSizeGreaterThan(7)
                .extracting(Release::client)
                .startsWith("slow", "fast", "slow", "fast", "slow", "fast");
    }

    private static void send(QueueHarness queue, QueueRules rules, String id, String client, String to, long nowMs) {
        Admission admission = QueueHarness.admission(RequestKind.CONSUME, id, client, null, 1, null, Map.of("to", to));
        queue.sendNext(QueueRules.withKey(admission, rules), nowMs);
    }

    private static void change(QueueHarness queue, QueueRules rules, long nowMs) {
        queue.rules.put("q", rules);
        queue.carryOut(queue.shaper.refresh(nowMs * QueueHarness.MS));
    }

    private static ModelledQueue run(long seed, boolean isKeyed, int hotKeys) {
        Random random = new Random(seed);
        QueueRules first = ModelledQueue.randomRules(random)
                .key(isKeyed ? List.of(ModelledQueue.FIELD) : List.of())
                .tiers(randomTiers(random))
                .maxWaitMs(random.nextBoolean() ? QueueRules.NO_MAX_WAIT : 30 + random.nextInt(300))
                .build();
        ModelledQueue run = new ModelledQueue("seed " + seed, first, random.nextBoolean() ? 1 : 3, hotKeys);
        for (int step = 0; step < STEPS; step++) {
            run.begin(step);
            act(run, random, step);
            run.settle();
            if (random.nextInt(3) == 0) {
                run.advance(random.nextInt(30));
            }
        }
        run.finish();
        return run;
    }

    private static void act(ModelledQueue run, Random random, int step) {
        int choice = random.nextInt(100);
        if (choice < 4) {
            run.queue.restart();
        } else if (choice < 8) {
            run.cancel(random);
        } else if (choice < 16) {
            String target = random.nextInt(3) == 0 ? "" : run.anyKey(random);
            run.command(ACTIONS.get(random.nextInt(ACTIONS.size())), target);
        } else if (choice < 21) {
            run.change(changed(run.rules(), random));
        } else if (choice < 55) {
            run.answer(random);
        } else {
            run.offer(random, step);
        }
    }

    /** Returns rules with other slots, rate and tiers; one of eight has no slots. */
    private static QueueRules changed(QueueRules before, Random random) {
        QueueRules other = ModelledQueue.randomRules(random).build();
        QueueRules.Builder rules = before.toBuilder()
                .version(before.version() + 1)
                .limit(other.limit())
                .perMs(other.perMs())
                .burst(other.burst())
                .inFlight(other.inFlight())
                .tiers(randomTiers(random));
        if (random.nextInt(8) == 0) {
            rules.limit(ModelledQueue.SLOWEST_A_SECOND).perMs(1_000).burst(1).inFlight(null);
        }
        return rules.build();
    }

    private static Map<String, TierShare> randomTiers(Random random) {
        Map<String, TierShare> tiers = new HashMap<>();
        tiers.put("gold", new TierShare(random.nextInt(3), 1 + random.nextInt(4)));
        if (random.nextBoolean()) {
            tiers.put("free", new TierShare(-random.nextInt(2), 1));
        }
        return tiers;
    }
}
