package dev.weir.simulation.schedule;

import dev.weir.config.WeirConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The parameters of one schedule, drawn from its seed. Each schedule leaves out some kinds of events and has many
 * others, so that they occur in all combinations.
 *
 * @param changesFromATime whether policy changes take effect at a record time, or when an instance reads them
 * @param skewMs how far the clock of a process jumps at most while it runs; unless it is 0, clocks are also up to
 *     {@value #MOST_SKEW_MS} ms off the true time from the start of a process on
 * @param shares whether there are shared limits
 * @param weights the relative frequency of each event
 */
public record SchedulePlan(
        GroupSize size,
        RequestTraffic traffic,
        boolean changesFromATime,
        int skewMs,
        boolean shares,
        WeirConfig config,
        Map<Event, Integer> weights) {

    /** The time of the first event. */
    public static final long BEGIN_MS = 1_800_000_000_000L;

    /**
     * The instances, and what they divide among themselves.
     *
     * @param partitions the partitions of the requests topic
     * @param queuePartitions the partitions of the admissions topic
     */
    public record GroupSize(int partitions, int queuePartitions, int instances) {}

    /**
     * The requests that the producers send.
     *
     * @param requests how many
     * @param repeatsShaped whether clients also repeat requests that may wait in a queue
     * @param createTimes whether requests have the producers' times, which are not in order, or the broker's
     * @param lateMs how late a request may be if it has the producer's time
     * @param misplaces whether half of the requests have no key, another key, or a random partition
     */
    public record RequestTraffic(
            int requests, boolean repeatsShaped, boolean createTimes, int lateMs, boolean misplaces) {}

    /** A kind of event. */
    public enum Event {
        REQUEST(40, false),
        STEP(60, false),
        PUNCTUATE(20, false),
        COMMIT(25, false),
        WORK(25, false),
        OPEN(20, false),
        REBALANCE(6, false),
        START(8, false),
        HEAR(8, false),
        CHANGE(1, true),
        BAD_RULE(1, true),
        COMPACT(1, true),
        KILL(1, true),
        KILL_AT_A_WRITE(2, true),
        KILL_IN_COMMIT(1, true),
        STALL_IN_COMMIT(2, true),
        EXPEL(1, true),
        TIME_OUT(1, true),
        FAIL(1, true),
        STANDBY(3, true),
        CLOCK(1, true),
        PAUSE(1, true);

        private final int weight;
        private final boolean isTrouble;

        Event(int weight, boolean isTrouble) {
            this.weight = weight;
            this.isTrouble = isTrouble;
        }
    }

    public static final int MOST_JITTER_MS = 50;

    /** Leaders' clocks are ahead of the true time by less than this. */
    public static final int MOST_LEADER_AHEAD_MS = 20;

    public static final int MOST_SKEW_MS = 3_600_000;

    /** The maximum term of a lease. */
    public static final int MOST_TERM_MS = 1_000;

    private static final int MAX_RETENTION_MS = 3_600_000;
    private static final int[] HOT_MEMORY = {0, 1_500, 1 << 20};
    private static final int[] REMEMBERED = {3, 20, 1_000_000};
    private static final int[] RESERVED = {2, 100_000};
    private static final int[] RETENTION_MS = {500, 2_000, MAX_RETENTION_MS};

    public static SchedulePlan draw(Random random, InjectedFlaw flaw) {
        Map<Event, Integer> weights = new EnumMap<>(Event.class);
        for (Event event : Event.values()) {
            int factor = event.isTrouble ? random.nextInt(4) : 1 + random.nextInt(2);
            weights.put(event, event.weight * factor);
        }
        boolean createTimes = random.nextInt(3) == 0;
        boolean changesFromATime = random.nextBoolean() || flaw == InjectedFlaw.CHANGES_AT_ONCE;
        boolean misplaces = random.nextInt(3) == 0;
        return new SchedulePlan(
                new GroupSize(1 + random.nextInt(3), 1 + random.nextInt(2), 1 + random.nextInt(3)),
                new RequestTraffic(
                        40 + random.nextInt(120), random.nextBoolean(), createTimes, random.nextInt(200), misplaces),
                changesFromATime,
                random.nextBoolean() ? 0 : random.nextInt(MOST_JITTER_MS),
                random.nextBoolean() || flaw == InjectedFlaw.LEASES_LOST,
                config(random, misplaces),
                weights);
    }

    /**
     * Draws a configuration. If requests are misplaced, they may be as late as a pause is long, so no state expires.
     */
    private static WeirConfig config(Random random, boolean misplaces) {
        WeirConfig from = WeirConfig.DEFAULTS;
        int retentionMs = RETENTION_MS[random.nextInt(RETENTION_MS.length)];
        return from.toBuilder()
                .state(new WeirConfig.State(
                        Path.of("nowhere"),
                        1 << 20,
                        HOT_MEMORY[random.nextInt(HOT_MEMORY.length)],
                        Duration.ofMillis(10 + random.nextInt(200)),
                        1 + random.nextInt(10),
                        Duration.ofMillis(misplaces ? MAX_RETENTION_MS : retentionMs),
                        new WeirConfig.PartitionBounds(
                                REMEMBERED[random.nextInt(REMEMBERED.length)],
                                RESERVED[random.nextInt(RESERVED.length)])))
                .leases(new WeirConfig.Leases(
                        Duration.ofMillis(200 + random.nextInt(MOST_TERM_MS - 200)),
                        Duration.ofMillis(random.nextInt(100))))
                .build();
    }

    /**
     * Returns the largest difference between the queue times of two partitions that exchange messages: leaders' clocks
     * differ, and those of instances jump.
     */
    public int queueTimesDifferMs() {
        return MOST_LEADER_AHEAD_MS + 2 * skewMs;
    }

    /** Returns the tiers of the requests. A tier that is listed twice has twice as many. */
    public List<String> tiers() {
        return shares ? SchedulePolicies.TIERS_THAT_SHARE : SchedulePolicies.TIERS;
    }

    public Event next(Random random) {
        int left = random.nextInt(
                weights.values().stream().mapToInt(weight -> weight).sum());
        for (Map.Entry<Event, Integer> entry : weights.entrySet()) {
            left -= entry.getValue();
            if (left < 0) {
                return entry.getKey();
            }
        }
        throw new AssertionError();
    }
}
