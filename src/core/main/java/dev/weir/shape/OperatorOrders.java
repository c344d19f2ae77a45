package dev.weir.shape;

import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueOrders;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.BucketId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The commands that are in effect for the queues of a partition. Those for a whole queue and those for its keys are
 * independent: a bucket is paused if it or its queue is.
 */
final class OperatorOrders {

    /** The most keys of a queue with commands on a partition: twice as many as the sender permits on all partitions. */
    private static final int MAX_KEYS = 2 * OrdersView.MAX_KEYS;

    private final EffectLog effects;
    private final Map<String, Map<BucketId, QueueOrders>> byQueue = new HashMap<>();
    private final Map<String, Set<BucketId>> purging = new HashMap<>(); // the targets of purges in progress

    OperatorOrders(EffectLog effects) {
        this.effects = effects;
    }

    void restore(BucketId target, QueueOrders orders) {
        byQueue.computeIfAbsent(target.queue(), queue -> new TreeMap<>()).put(target, orders);
        if (orders.purge().isPresent()) {
            purging.computeIfAbsent(target.queue(), queue -> new TreeSet<>()).add(target);
        } else {
            remove(target, purging);
        }
    }

    private static void remove(BucketId target, Map<String, Set<BucketId>> from) {
        Set<BucketId> of = from.get(target.queue());
        if (of != null && of.remove(target) && of.isEmpty()) {
            from.remove(target.queue());
        }
    }

    /**
     * Puts a command in effect. Ignores one for a further key if too many have some.
     *
     * @param number the number of the command in the order of arrival
     */
    void obey(QueueCommand command, long number) {
        Map<BucketId, QueueOrders> of = byQueue.getOrDefault(command.target().queue(), Map.of());
        QueueOrders before = of.get(command.target());
        if (before != null || !command.target().isKeyed() || of.size() < MAX_KEYS) {
            put(command.target(), (before == null ? QueueOrders.NONE : before).after(command, number));
        }
    }

    private void put(BucketId target, QueueOrders orders) {
        if (orders.isEmpty()) {
            forget(target);
        } else {
            restore(target, orders);
        }
        effects.add(new QueueEffect.OrdersStored(target, orders.isEmpty() ? null : orders));
    }

    private void forget(BucketId target) {
        remove(target, purging);
        Map<BucketId, QueueOrders> of = byQueue.get(target.queue());
        if (of != null && of.remove(target) != null && of.isEmpty()) {
            byQueue.remove(target.queue());
        }
    }

    /** Returns whether a whole queue is paused. */
    boolean pausesQueue(String queue) {
        return byQueue.containsKey(queue)
                && of(new BucketId(queue, List.of())).paused().isPresent();
    }

    /** Returns whether a bucket is paused by a command for its key. */
    boolean pausesKey(BucketId id) {
        return byQueue.containsKey(id.queue())
                && id.isKeyed()
                && of(id).paused().isPresent();
    }

    boolean pauses(BucketId id) {
        return byQueue.containsKey(id.queue()) && all(id).paused().isPresent();
    }

    /** Returns whether a bucket admits nothing. */
    boolean drains(BucketId id) {
        return byQueue.containsKey(id.queue()) && all(id).draining().isPresent();
    }

    /** Returns the number below which the requests of a bucket are purged; 0 if none are. */
    long purgedBelow(BucketId id) {
        return byQueue.containsKey(id.queue())
                ? all(id).purge().map(QueueOrders.Purge::below).orElse(0L)
                : 0;
    }

    /** Returns the orders for a bucket together with those for its whole queue. */
    private QueueOrders all(BucketId id) {
        QueueOrders ofQueue = of(new BucketId(id.queue(), List.of()));
        return id.isKeyed() ? of(id).or(ofQueue) : ofQueue;
    }

    /** Returns what of a queue is being purged: the queue, keys of it, or both. */
    List<BucketId> purges(String queue) {
        Set<BucketId> of = purging.get(queue);
        return of == null ? List.of() : List.copyOf(of);
    }

    void endPurge(BucketId target) {
        put(target, of(target).withoutPurge());
    }

    private QueueOrders of(BucketId target) {
        Map<BucketId, QueueOrders> of = byQueue.get(target.queue());
        return of == null ? QueueOrders.NONE : of.getOrDefault(target, QueueOrders.NONE);
    }

    /** Returns the orders of a queue and of its keys. */
    OrdersView view(String queue) {
        Map<BucketId, QueueOrders> of = byQueue.getOrDefault(queue, Map.of());
        List<OrdersView.KeyOrders> keys = new ArrayList<>();
        of.forEach((target, orders) -> {
            if (target.isKeyed() && keys.size() < OrdersView.MAX_LISTED) {
                keys.add(new OrdersView.KeyOrders(target.values(), orders.paused(), orders.draining()));
            }
        });
        QueueOrders ofAll = of(new BucketId(queue, List.of()));
        long keyed = of.keySet().stream().filter(BucketId::isKeyed).count();
        return new OrdersView(ofAll.paused(), ofAll.draining(), !purges(queue).isEmpty(), keyed, keys);
    }

    /** Returns the orders that apply to a bucket: its own and those of its queue. */
    OrdersView view(BucketId id) {
        QueueOrders orders = all(id);
        return new OrdersView(orders.paused(), orders.draining(), orders.purge().isPresent(), 0, List.of());
    }

    /** Returns the queues with orders. */
    List<String> queues() {
        return byQueue.keySet().stream().sorted().toList();
    }
}
