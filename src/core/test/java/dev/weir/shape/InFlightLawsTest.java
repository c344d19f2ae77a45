package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Admission;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import dev.weir.testing.QueueAudit;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests laws of a queue with slots. Workers complete, extend, lose, repeat and forge at random; the shaper restarts in
 * between, and with few keys on the heap. A {@linkplain InFlightModel model} says what each answer and release must be. In most runs,
 * a tier or a client has fewer slots than the bucket.
 */
@Tag("slow")
class InFlightLawsTest {

    private static final int STEPS = Effort.times(700);

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
    void slots_are_never_exceeded_and_each_attempt_starts_once(long seed) {
        Random random = new Random(seed);
        QueueRules rules = ModelledQueue.randomRules(random)
                .key(random.nextBoolean() ? List.of("to") : List.of())
                .tiers(Map.of("gold", new TierShare(0, 3)))
                .build();
        int hotKeys = random.nextBoolean() ? 2 : 1_000;
        ModelledQueue run = new ModelledQueue("seed " + seed, rules, random.nextBoolean() ? 1 : 3, hotKeys);
        for (int step = 0; step < STEPS; step++) {
            run.begin(step);
            int choice = random.nextInt(20);
            if (choice == 0) {
                run.queue.restart();
            } else if (choice == 1) {
                run.cancel(random);
            } else if (choice < 9) {
                run.answer(random);
            } else {
                run.offer(random, step);
            }
            run.settle();
            if (random.nextInt(3) == 0) {
                run.advance(random.nextInt(30));
            }
        }
        run.finish();
        QueueHarness queue = run.queue;
        assertThat(new QueueAudit(queue.requests, queue.decisions, queue.releases).faults(List.of(rules)))
                .as(run.context())
                .isEmpty();
        assertThat(run.seen.keySet()).contains(Reason.COMPLETED, Reason.STALE_ATTEMPT, Reason.EXTENDED);
    }

    /** The state of a bucket lists all that matters if few requests wait; then a restart changes no release. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void a_restart_changes_no_release_of_a_bucket_with_few_requests(long seed) {
        Random random = new Random(seed);
        long nowMs = 0;
        InFlightCaps caps = new InFlightCaps(Map.of("gold", 2L), OptionalLong.of(1 + random.nextInt(2)));
        QueueRules rules = QueueRules.builder("q", new InFlightRules(4, 50, 100, 3, 10, caps))
                .capacity(6)
                .key(List.of("to"))
                .tiers(Map.of("gold", new TierShare(0, 3), "late", new TierShare(-1, 1, 20)))
                .build();
        QueueHarness restarted = new QueueHarness(rules);
        QueueHarness same = new QueueHarness(rules);
        restarted.hotKeys = 1;
        String[] tiers = {"gold", "free", "late"};
        for (int step = 0; step < STEPS; step++) {
            nowMs += random.nextInt(8);
            int choice = random.nextInt(4);
            if (choice == 0 && !same.releases.isEmpty()) {
                int back = random.nextInt(Math.min(8, same.releases.size()));
                Release release = same.releases.get(same.releases.size() - 1 - back);
                Result result = Result.values()[random.nextInt(3)];
                RequestKind kind = random.nextInt(4) == 0 ? RequestKind.EXTEND : RequestKind.COMPLETE;
                for (QueueHarness each : List.of(restarted, same)) {
                    each.acknowledge(
                            release, release.client(), kind, kind == RequestKind.EXTEND ? null : result, nowMs);
                }
            } else if (choice == 1) {
                restarted.restart();
            } else {
                Admission admission = QueueHarness.admission(
                        choice == 2 || random.nextBoolean() ? RequestKind.CONSUME : RequestKind.CANCEL,
                        "r" + random.nextInt(step + 1),
                        "c" + random.nextInt(3),
                        tiers[random.nextInt(tiers.length)],
                        random.nextInt(4),
                        null,
                        Map.of("to", ModelledQueue.KEYS.get(random.nextInt(3))));
                for (QueueHarness each : List.of(restarted, same)) {
                    each.send(QueueRules.withKey(admission, rules), nowMs);
                }
            }
            for (QueueHarness each : List.of(restarted, same)) {
                while (each.shaper.dueNanos() <= nowMs * MS) {
                    each.carryOut(each.shaper.tick(nowMs * MS, 1_000));
                }
            }
            for (String key : ModelledQueue.KEYS) {
                assertThat(lastOf(key, restarted))
                        .as("seed " + seed + ", step " + step)
                        .isEqualTo(lastOf(key, same));
            }
        }
        assertThat(restarted.releases).hasSizeGreaterThan(STEPS / 5).hasSameSizeAs(same.releases);
    }

    private static List<Release> lastOf(String key, QueueHarness harness) {
        List<Release> ofKey = harness.releases.stream()
                .filter(release -> release.key().containsValue(key))
                .toList();
        return ofKey.subList(Math.max(0, ofKey.size() - 8), ofKey.size());
    }
}
