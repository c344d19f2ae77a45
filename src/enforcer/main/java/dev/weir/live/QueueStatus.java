package dev.weir.live;

import dev.weir.metrics.Histogram;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.view.QueueView;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The rules and the state of a queue, or of an instance's part of it.
 *
 * @param keys the number of keys in use; null if the queue has no key fields. If it has, the rules apply to each key
 * @param waitsMs the waits of requests that were released in the last minute; null if none was
 * @param backlog the waiting requests
 * @param inFlight the released requests that have not ended
 * @param orders the commands of operators that are in effect
 */
public record QueueStatus(
        String id,
        Long keys,
        RulesStatus rules,
        Histogram.Reading waitsMs,
        BacklogStatus backlog,
        InFlightStatus inFlight,
        OrdersStatus orders) {

    long waiting() {
        return backlog.tiers.stream().mapToLong(TierStatus::waiting).sum();
    }

    /** Adds another instance's part of the same queue. */
    QueueStatus plus(QueueStatus other) {
        return new QueueStatus(
                id,
                keys == null ? other.keys : other.keys == null ? keys : (Long) (keys + other.keys),
                rules,
                waitsMs == null ? other.waitsMs : other.waitsMs == null ? waitsMs : waitsMs.plus(other.waitsMs),
                backlog.plus(other.backlog),
                inFlight.plus(other.inFlight),
                orders.plus(other.orders));
    }

    /**
     * The rules of a queue.
     *
     * @param deleted whether the queue was deleted, or got another key; it admits no more requests and drains by these
     *     rules
     * @param rate null if the queue has none
     * @param maxWaitMs null if there is no bound
     */
    public record RulesStatus(boolean deleted, RateStatus rate, long capacity, Long maxWaitMs) {

        static RulesStatus of(QueueView view) {
            QueueRules rules = view.rules();
            return new RulesStatus(
                    view.isDeleted(),
                    rules.hasRate() ? new RateStatus(rules.limit(), rules.perMs(), rules.burst()) : null,
                    rules.capacity(),
                    rules.maxWaitMs() == QueueRules.NO_MAX_WAIT ? null : rules.maxWaitMs());
        }
    }

    /** The rate of a queue. */
    public record RateStatus(long limit, long perMs, long burst) {}

    /**
     * The waiting requests of a queue.
     *
     * @param drainMs the time until all are released; with key fields, that of the slowest key of {@code longest}
     * @param longest the keys with the most waiting requests; empty if the queue has no key fields
     */
    public record BacklogStatus(long drainMs, List<QueueView.KeyView> longest, List<TierStatus> tiers) {

        private static final Comparator<QueueView.KeyView> MOST_WAITING = Comparator.comparingLong(
                        QueueView.KeyView::waiting)
                .thenComparingLong(QueueView.KeyView::oldestWaitMs)
                .reversed()
                .thenComparing(of -> new TreeMap<>(of.key()).toString());

        BacklogStatus plus(BacklogStatus other) {
            Map<String, TierStatus> byName = new TreeMap<>(Comparator.nullsFirst(Comparator.naturalOrder()));
            Stream.concat(tiers.stream(), other.tiers.stream())
                    .forEach(tier -> byName.merge(tier.tier, tier, TierStatus::plus));
            return new BacklogStatus(
                    Math.max(drainMs, other.drainMs),
                    Stream.concat(longest.stream(), other.longest.stream())
                            .sorted(MOST_WAITING)
                            .limit(Sampler.MAX_KEYS)
                            .toList(),
                    List.copyOf(byName.values()));
        }
    }

    /**
     * A tier of a queue.
     *
     * @param tier null for requests without a tier
     * @param slots the slots that its requests in flight occupy
     */
    public record TierStatus(String tier, int priority, int weight, long waiting, long slots) {

        TierStatus plus(TierStatus other) {
            return new TierStatus(tier, priority, weight, waiting + other.waiting, slots + other.slots);
        }
    }

    /**
     * The released requests of a queue that have not ended.
     *
     * @param most the most slots of the queue or, with key fields, of each key; null if it has no such limit
     * @param mostInAll the most slots of all keys together; null if it has no such limit
     * @param requests how many are in flight
     * @param slots the slots that these occupy
     * @param retries how many wait for another attempt
     * @param oldestMs how long the oldest has been in flight; null if none is
     */
    public record InFlightStatus(Long most, Long mostInAll, long requests, long slots, long retries, Long oldestMs) {

        static InFlightStatus of(QueueView view) {
            InFlightRules limits = view.rules().inFlight();
            QueueTotal total = view.rules().total();
            QueueView.InFlightView inFlight = view.inFlight();
            return new InFlightStatus(
                    limits == null ? null : (Long) limits.most(),
                    total == null || total.inFlight().isEmpty()
                            ? null
                            : (Long) total.inFlight().getAsLong(),
                    inFlight.requests(),
                    inFlight.slots(),
                    inFlight.retries(),
                    inFlight.oldestMs());
        }

        InFlightStatus plus(InFlightStatus other) {
            return new InFlightStatus(
                    most == null ? other.most : most,
                    mostInAll == null ? other.mostInAll : mostInAll,
                    requests + other.requests,
                    slots + other.slots,
                    retries + other.retries,
                    InstanceSecond.maximum(oldestMs, other.oldestMs));
        }
    }

    /**
     * The commands of operators that are in effect for a queue.
     *
     * @param paused null if the queue is not paused
     * @param draining null if the queue admits requests
     * @param purging whether requests are being purged
     * @param keys the number of keys with commands of their own
     */
    public record OrdersStatus(OrderStatus paused, OrderStatus draining, boolean purging, long keys) {

        static OrdersStatus of(OrdersView orders) {
            return new OrdersStatus(
                    orders.paused().map(OrderStatus::of).orElse(null),
                    orders.draining().map(OrderStatus::of).orElse(null),
                    orders.isPurging(),
                    orders.keys());
        }

        OrdersStatus plus(OrdersStatus other) {
            return new OrdersStatus(
                    paused == null ? other.paused : paused,
                    draining == null ? other.draining : draining,
                    purging || other.purging,
                    keys + other.keys);
        }
    }

    /**
     * A command of an operator.
     *
     * @param author null if unknown
     * @param since when it was sent, ms since the epoch
     */
    public record OrderStatus(String author, String reason, long since) {

        static OrderStatus of(QueueCommand.Origin origin) {
            return new OrderStatus(origin.author().orElse(null), origin.reason(), origin.atMs());
        }
    }
}
