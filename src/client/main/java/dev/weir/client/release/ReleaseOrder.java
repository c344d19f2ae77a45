package dev.weir.client.release;

import dev.weir.client.release.HeldReleases.Held;
import dev.weir.event.Release;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;

/**
 * The order in which received releases are handed out: each at its {@code releaseAt}, late ones at the pace of their
 * queue.
 *
 * <p>A release that is more than {@value #TOLERANCE_MS} ms late makes its bucket late. From then on, releases of the
 * bucket take turns: each one takes the bucket for its cost / rate. The bucket is late until none waits and the time of
 * the last one is over. A turn that is not used at once can be made up for within {@value #TOLERANCE_MS} ms. So over an
 * interval of length t, late releases of a bucket cost at most rate × (t + {@value #TOLERANCE_MS} ms) and the cost of
 * one. The total of a queue is treated in the same way.
 *
 * <pre>
 *   5 a second, none handed out for 12 s:     releaseAt      0.0   0.2   0.4  …  12.0   12.2
 *                                             handed out    12.0  12.2  12.4  …  24.0   24.2
 * </pre>
 *
 * <p>The partitions of the topic divide a bucket among workers. Of one partition, releases 3 and 7 of a bucket leave time
 * for those between, unless these took less time when they were released. So workers that are equally late keep the
 * pace together.
 *
 * <p>An operation takes O(log releases), and for late ones up to O(partitions) more. Memory is for the releases, and for
 * at most {@value #MAX_IDLE} buckets of which none waits; the pace of others can be exceeded by one release.
 */
final class ReleaseOrder {

    static final long TOLERANCE_MS = 100;
    static final int MAX_IDLE = 100_000;

    private static final long TOLERANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(TOLERANCE_MS);

    private final LateReleases late;
    private final PriorityQueue<Held> onTime =
            new PriorityQueue<>(Comparator.comparingLong(Held::dueNanos).thenComparingLong(Held::sequence));
    private final PriorityQueue<Lane> lanes = new PriorityQueue<>(Comparator.<Lane>comparingLong(lane -> lane.turnNanos)
            .thenComparingLong(lane -> lane.waiting.element().dueNanos()));
    private final Map<LaneName, Lane> lanesByName = new HashMap<>();
    private final Map<GateName, Gate> gates = new HashMap<>();
    private final PriorityQueue<Idle> idle = new PriorityQueue<>(Comparator.comparingLong(Idle::freeNanos));

    /**
     * The release that is handed out next.
     *
     * @param atNanos when it can be, in ns since the epoch
     * @param nowNanos when this was asked
     */
    record Turn(Held held, long atNanos, long nowNanos) {

        boolean isDue() {
            return atNanos <= nowNanos;
        }
    }

    /** What has a rate: a bucket, or the total of a queue, whose key is empty. */
    private record GateName(String queue, Optional<Map<String, String>> key) {}

    /** A rate of which releases are late. */
    private static final class Gate {
        private final GateName name;
        private long freeNanos;
        private int lanes;

        Gate(GateName name, long nowNanos) {
            this.name = name;
            freeNanos = nowNanos;
        }

        void take(long nowNanos, long paceNanos) {
            freeNanos = Math.max(freeNanos, nowNanos - TOLERANCE_NANOS) + paceNanos;
        }
    }

    /** A gate through which no release waited when it was added. */
    private record Idle(Gate gate, long freeNanos) {}

    private record LaneName(TopicPartition partition, GateName bucket) {}

    /** The releases of a late bucket on one partition. */
    private static final class Lane {
        private final LaneName name;
        private final Gate bucket;
        private final Optional<Gate> total;
        private final ArrayDeque<Held> waiting = new ArrayDeque<>();
        private Release last; // null before the first one was taken
        private long afterLastNanos;
        private long turnNanos; // as of the last update; gates can move it back

        Lane(LaneName name, Gate bucket, Optional<Gate> total) {
            this.name = name;
            this.bucket = bucket;
            this.total = total;
            count(1);
        }

        void count(int lanes) {
            bucket.lanes += lanes;
            total.ifPresent(gate -> gate.lanes += lanes);
        }

        /** Updates the time of the first release. Returns whether it is later than before. */
        boolean update() {
            long before = turnNanos;
            turnNanos =
                    Math.max(bucket.freeNanos, total.map(gate -> gate.freeNanos).orElse(0L));
            if (last != null) {
                turnNanos = Math.max(
                        turnNanos,
                        afterLastNanos + othersNanos(waiting.element().release()));
            }
            return turnNanos > before;
        }

        /** Returns an upper bound of the time of the releases between the last and the next one, on other partitions. */
        private long othersNanos(Release next) {
            long releasedNanos =
                    next.releaseAtNanos() - last.releaseAtNanos() - last.pace().nanos();
            long others = next.sequence() - last.sequence() - 1;
            if (others <= 0 || releasedNanos <= 0) {
                return 0;
            }
            boolean isLess = next.pace().nanos() < releasedNanos / others;
            return isLess ? others * next.pace().nanos() : releasedNanos;
        }

        Held take(long nowNanos) {
            Held taken = waiting.remove();
            last = taken.release();
            bucket.take(nowNanos, last.pace().nanos());
            total.ifPresent(gate -> gate.take(nowNanos, last.pace().totalNanos()));
            afterLastNanos = Math.max(turnNanos, nowNanos - TOLERANCE_NANOS)
                    + last.pace().nanos();
            return taken;
        }
    }

    ReleaseOrder(LateReleases late) {
        this.late = late;
    }

    void add(Held held) {
        onTime.add(held);
    }

    /** Returns the release that is handed out next; empty if there is none. */
    Optional<Turn> first(long nowNanos) {
        forgetIdle(nowNanos);
        while (!onTime.isEmpty()
                && onTime.element().dueNanos() <= nowNanos
                && isPaced(onTime.element().release(), nowNanos)) {
            pace(onTime.remove(), nowNanos);
        }
        Held next = onTime.peek();
        return isLaneFirst(next, nowNanos)
                ? Optional.of(new Turn(lanes.element().waiting.element(), lanes.element().turnNanos, nowNanos))
                : Optional.ofNullable(next).map(held -> new Turn(held, held.dueNanos(), nowNanos));
    }

    private boolean isLaneFirst(Held next, long nowNanos) {
        while (!lanes.isEmpty()) {
            Lane lane = lanes.element();
            if (!lane.update()) {
                return next == null || lane.turnNanos <= Math.max(nowNanos, next.dueNanos());
            }
            lanes.add(lanes.remove());
        }
        return false;
    }

    /** Removes the {@linkplain #first first} release, which is due. Nothing was added since. */
    Held take(Turn turn) {
        if (turn.held == onTime.peek()) {
            return onTime.remove();
        }
        Lane lane = lanes.remove();
        Held taken = lane.take(turn.nowNanos);
        if (lane.waiting.isEmpty()) {
            end(lane);
        } else {
            lane.update();
            lanes.add(lane);
        }
        return taken;
    }

    private boolean isPaced(Release release, long nowNanos) {
        if (late == LateReleases.AT_ONCE || release == null || release.pace().nanos() <= 0) {
            return false;
        }
        boolean isLate = nowNanos - release.releaseAtNanos() > TOLERANCE_NANOS;
        return isLate || !gates.isEmpty() && (gates.containsKey(bucket(release)) || gates.containsKey(total(release)));
    }

    private void pace(Held held, long nowNanos) {
        Release release = held.release();
        LaneName name = new LaneName(held.partition(), bucket(release));
        Lane lane = lanesByName.computeIfAbsent(name, absent -> {
            Optional<Gate> total =
                    release.pace().totalNanos() > 0 ? Optional.of(gate(total(release), nowNanos)) : Optional.empty();
            return new Lane(name, gate(name.bucket, nowNanos), total);
        });
        lane.waiting.add(held);
        if (lane.waiting.size() == 1) {
            lane.update();
            lanes.add(lane);
        }
    }

    private Gate gate(GateName name, long nowNanos) {
        return gates.computeIfAbsent(name, absent -> new Gate(absent, nowNanos));
    }

    private static GateName bucket(Release release) {
        return new GateName(release.queue(), Optional.of(release.key()));
    }

    private static GateName total(Release release) {
        return new GateName(release.queue(), Optional.empty());
    }

    private void end(Lane lane) {
        lanesByName.remove(lane.name);
        lane.count(-1);
        addIdle(lane.bucket);
        lane.total.ifPresent(this::addIdle);
    }

    private void addIdle(Gate gate) {
        if (gate.lanes == 0) {
            idle.add(new Idle(gate, gate.freeNanos));
        }
    }

    private void forgetIdle(long nowNanos) {
        while (!idle.isEmpty() && (idle.element().freeNanos <= nowNanos || idle.size() > MAX_IDLE)) {
            Idle first = idle.remove();
            if (first.gate.lanes == 0 && first.gate.freeNanos == first.freeNanos) {
                gates.remove(first.gate.name, first.gate);
            }
        }
    }

    /** Removes the releases of partitions. */
    void drop(Collection<TopicPartition> gone) {
        onTime.removeIf(held -> gone.contains(held.partition()));
        lanes.removeIf(lane -> {
            boolean isGone = gone.contains(lane.name.partition);
            if (isGone) {
                end(lane);
            }
            return isGone;
        });
    }
}
