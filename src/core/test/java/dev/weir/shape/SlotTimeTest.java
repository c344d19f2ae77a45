package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that the slots of a queue are shared by their time, with workers that take a random time. */
@Tag("slow")
class SlotTimeTest {

    private static final long ACK_TIMEOUT_MS = 30_000;
    private static final long MAX_DURATION_MS = 120_000;
    private static final Map<String, String> KEY = Map.of("to", "a");

    /** A worker that does something at a time: extends its attempt, or completes it. */
    private record Work(Release release, long atMs, long endsMs) {}

    /** A queue in which clients always have requests waiting. */
    private static final class Workers {
        final Random random = new Random(7);
        final QueueRules rules;
        final QueueHarness queue;
        final Map<String, Long> jobMs = new HashMap<>(); // by client, the usual duration
        final Map<String, String> tiers = new HashMap<>(); // by client
        final Map<String, Integer> waiting = new HashMap<>();
        final Map<String, Long> slotTime = new HashMap<>(); // by client, until the last attempts ended
        final PriorityQueue<Work> works = new PriorityQueue<>(
                Comparator.comparingLong(Work::atMs).thenComparing(work -> work.release.requestId()));
        long nowMs;
        long idleMs;
        int seen;
        int number;

        Workers(QueueRules rules) {
            this.rules = rules;
            queue = new QueueHarness(rules);
            queue.hotKeys = 1;
            queue.restart();
        }

        void add(String client, String tier, long usualMs) {
            jobMs.put(client, usualMs);
            tiers.put(client, tier);
            waiting.put(client, 0);
        }

        void run(long untilMs) {
            while (nowMs < untilMs) {
                fill();
                start();
                long dueMs = -Math.floorDiv(-queue.shaper.dueNanos(), MS);
                if (works.isEmpty() || dueMs < works.element().atMs) {
                    nowMs = dueMs;
                    continue;
                }
                Work work = works.remove();
                long slots = rules.inFlight().most();
                idleMs += (slots - works.size() - 1) * (work.atMs - nowMs);
                nowMs = work.atMs;
                queue.runUntil(nowMs);
                if (work.atMs < work.endsMs) {
                    queue.extend(work.release, nowMs);
                    works.add(next(work.release, work.endsMs));
                } else {
                    queue.done(work.release, nowMs);
                    slotTime.merge(work.release.client(), nowMs - startMs(work.release), Long::sum);
                }
                queue.runUntil(nowMs);
                if (random.nextInt(30) == 0) {
                    queue.restart();
                }
            }
        }

        private void fill() {
            for (String client : List.copyOf(waiting.keySet())) {
                while (waiting.get(client) < 3) {
                    Admission admission = QueueHarness.admission(
                            RequestKind.CONSUME, "r" + number++, client, tiers.get(client), 1, null, KEY);
                    queue.sendNext(QueueRules.withKey(admission, rules), nowMs);
                    waiting.merge(client, 1, Integer::sum);
                }
            }
            queue.runUntil(nowMs);
        }

        private void start() {
            for (Release release : queue.releases.subList(seen, queue.releases.size())) {
                long usualMs = jobMs.get(release.client());
                long lastsMs = usualMs / 2 + random.nextInt((int) usualMs);
                works.add(next(release, startMs(release) + lastsMs));
                waiting.merge(release.client(), -1, Integer::sum);
            }
            seen = queue.releases.size();
        }

        private Work next(Release release, long endsMs) {
            return new Work(release, Math.min(endsMs, Math.max(nowMs, startMs(release)) + ACK_TIMEOUT_MS / 3), endsMs);
        }

        private static long startMs(Release release) {
            return -Math.floorDiv(-release.releaseAtNanos(), MS);
        }
    }

    private static QueueRules.Builder slots(long most) {
        return QueueRules.builder("q", new InFlightRules(most, ACK_TIMEOUT_MS, MAX_DURATION_MS, 5, 0))
                .lookAheadMs(0)
                .key(List.of("to"));
    }

    /** The bound of the law for the longest durations here, for each of two members of weight 1. */
    private static long bound(long slots) {
        return 8 * slots * 90_000;
    }

    @Test
    void jobs_of_a_minute_and_of_a_second_get_the_same_slot_time() {
        Workers workers = new Workers(slots(4).build());
        workers.add("slow", null, 60_000);
        workers.add("fast", null, 1_000);
        workers.run(4_000_000);
        assertThat(workers.slotTime.get("slow") - workers.slotTime.get("fast")).isBetween(-bound(4), bound(4));
        assertThat(workers.slotTime.get("slow")).isGreaterThan(bound(4)); // otherwise it would prove nothing
        assertThat(workers.idleMs).isZero();
    }

    @ParameterizedTest
    @CsvSource({"60_000, 1_000", "1_000, 60_000"})
    void tiers_get_slot_time_by_weight(long goldMs, long freeMs) {
        Workers workers = new Workers(slots(4).tiers(Map.of("gold", new TierShare(0, 3), "free", new TierShare(0, 1)))
                .build());
        workers.add("g", "gold", goldMs);
        workers.add("f", "free", freeMs);
        workers.run(8_000_000);
        assertThat(workers.slotTime.get("g") / 3 - workers.slotTime.get("f")).isBetween(-bound(4), bound(4));
        assertThat(workers.slotTime.get("f")).isGreaterThan(bound(4));
    }

    @ParameterizedTest
    @CsvSource({"60_000, 1_000", "1_000, 60_000"})
    void a_tier_gets_its_least_share_of_slot_time(long goldMs, long freeMs) {
        Workers workers =
                new Workers(slots(4).tiers(Map.of("gold", new TierShare(1, 1), "free", new TierShare(0, 1, 20)))
                        .build());
        workers.add("g", "gold", goldMs);
        workers.add("f", "free", freeMs);
        workers.run(8_000_000);
        long total = 4 * workers.nowMs;
        assertThat(workers.slotTime.get("f")).isBetween(total / 5 - bound(4) / 2, total / 5 + bound(4) / 2);
    }

    /** If the rate is scarce, clients share it, however long their jobs last. */
    @Test
    void where_the_rate_is_scarce_clients_share_the_rate() {
        Workers workers = new Workers(QueueRules.builder("q", 1, 1_000)
                .inFlight(new InFlightRules(1_000, ACK_TIMEOUT_MS, MAX_DURATION_MS, 5, 0))
                .lookAheadMs(0)
                .key(List.of("to"))
                .build());
        workers.add("slow", null, 60_000);
        workers.add("fast", null, 1_000);
        workers.run(2_000_000);
        Map<String, Integer> releases = new HashMap<>();
        workers.queue.releases.forEach(release -> releases.merge(release.client(), 1, Integer::sum));
        assertThat(releases.get("slow") - releases.get("fast")).isBetween(-1, 1);
    }
}
