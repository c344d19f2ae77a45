package dev.weir.shape;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueOrders;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.store.HeapSchedule;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.ExpiryTimer;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.QueueStore.Ticket;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.total.LedgerState;
import dev.weir.shape.total.OutflowState;
import dev.weir.shape.view.QueueView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** A shaper on the heap with its queues, with short methods for tests, and its output. */
public final class QueueHarness {

    public static final long MS = 1_000_000;

    public final Map<String, QueueRules> rules = new HashMap<>();
    final HeapQueueStore<Place, QueueEntry> stored = new HeapQueueStore<>();
    final HeapQueueStore<Ticket, Place> tickets = new HeapQueueStore<>();
    final HeapQueueStore<ExpiryTimer, Place> expiryTimers = new HeapQueueStore<>();
    final CountedSchedule schedule = new CountedSchedule();
    final HeapQueueStore<Ticket, ScheduleKey> scheduleTickets = new HeapQueueStore<>();

    /** The store of the queue without key is the first one. */
    final Map<BucketId, QueueStore> stores = new HashMap<>(Map.of(
            new BucketId("q", List.of()), new QueueStore(stored, tickets, expiryTimers, schedule, scheduleTickets)));

    final IdempotencyCache idempotencyCache = IdempotencyCache.inMemory(100, 0);
    final List<Request> requests = new ArrayList<>();
    final List<Decision> decisions = new ArrayList<>();
    public final List<Release> releases = new ArrayList<>();
    final List<QueueEffect.GivenUp> givenUp = new ArrayList<>();
    final Map<AttemptEnd, Integer> attemptEnds = new EnumMap<>(AttemptEnd.class);
    final Map<BucketId, BucketState> saved = new HashMap<>();
    final Map<String, LedgerState> ledgers = new HashMap<>();
    final Map<BucketId, QueueOrders> orders = new HashMap<>();
    final Map<String, QueueState> savedQueues = new HashMap<>();
    final HeapQueueStore<TimerKey, BucketId> timers = new HeapQueueStore<>();
    int loads;
    int hotKeys = 1_000_000;
    public Shaper shaper = newShaper();
    long number;

    public QueueHarness(QueueRules only) {
        rules.put(only.id(), only);
    }

    public static QueueRules rules(long limit, long perMs, long burst, long capacity, long maxWaitMs, Object... tiers) {
        Map<String, TierShare> shares = new HashMap<>();
        for (int i = 0; i < tiers.length; i += 2) {
            shares.put((String) tiers[i], (TierShare) tiers[i + 1]);
        }
        return QueueRules.builder("q", limit, perMs)
                .burst(burst)
                .capacity(capacity)
                .maxWaitMs(maxWaitMs)
                .lookAheadMs(0)
                .tiers(shares)
                .build();
    }

    private Shaper newShaper() {
        return new Shaper(
                rules::get,
                new Shaper.Tables() {
                    @Override
                    public QueueStore of(BucketId bucket) {
                        return stores.computeIfAbsent(
                                bucket,
                                id -> new QueueStore(
                                        new HeapQueueStore<>(),
                                        new HeapQueueStore<>(),
                                        new HeapQueueStore<>(),
                                        new HeapSchedule(),
                                        new HeapQueueStore<>()));
                    }

                    @Override
                    public BucketState load(BucketId bucket) {
                        loads++;
                        return saved.get(bucket);
                    }

                    @Override
                    public KeyValueTable<TimerKey, BucketId> timers() {
                        return timers;
                    }

                    @Override
                    public IdempotencyCache idempotencyCache() {
                        return idempotencyCache;
                    }

                    @Override
                    public void readStates(Consumer<QueueEffect.StateStored> read) {
                        savedQueues.forEach((id, state) -> read.accept(new QueueEffect.QueueStored(id, state)));
                        new TreeMap<>(saved)
                                .forEach((id, state) -> read.accept(new QueueEffect.BucketStored(id, state)));
                        ledgers.forEach((id, granted) -> read.accept(new QueueEffect.LedgerStored(id, granted)));
                        orders.forEach((id, all) -> read.accept(new QueueEffect.OrdersStored(id, all)));
                    }

                    @Override
                    public void readWaiting(BucketId bucket, BiConsumer<Place, QueueEntry> requests) {
                        ((HeapQueueStore<Place, QueueEntry>) of(bucket).entries())
                                .entries.entrySet().stream()
                                        .filter(entry -> !(entry.getValue() instanceof QueueEntry.Gap))
                                        .sorted(Comparator.comparing(
                                                entry -> entry.getKey().position()))
                                        .forEach(entry -> requests.accept(entry.getKey(), entry.getValue()));
                    }
                },
                hotKeys);
    }

    /** Does what an operation has its caller do. */
    public void carryOut(List<QueueEffect> effects) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.Decided decided) {
                decisions.add(decided.decision());
            } else if (effect instanceof QueueEffect.Released released) {
                releases.add(released.release());
            } else if (effect instanceof QueueEffect.GivenUp given) {
                givenUp.add(given);
            } else if (effect instanceof QueueEffect.AttemptEnded ended) {
                attemptEnds.merge(ended.end(), 1, Integer::sum);
            } else if (effect instanceof QueueEffect.BucketStored stored) {
                putOrRemove(saved, stored.id(), stored.state());
            } else if (effect instanceof QueueEffect.QueueStored stored) {
                putOrRemove(savedQueues, stored.queue(), stored.state());
            } else if (effect instanceof QueueEffect.LedgerStored stored) {
                putOrRemove(ledgers, stored.queue(), stored.state());
            } else if (effect instanceof QueueEffect.OrdersStored stored) {
                putOrRemove(orders, stored.target(), stored.orders());
            } else {
                throw new IllegalStateException("a shaper with all keys sends no messages: " + effect);
            }
        }
    }

    public static <K, V> void putOrRemove(Map<K, V> map, K key, V value) {
        if (value == null) {
            map.remove(key);
        } else {
            map.put(key, value);
        }
    }

    /** Rebuilds the shaper from what it stored. */
    public void restart() {
        shaper = newShaper();
    }

    static Admission admission(RequestKind kind, String id, String client, String tier, long cost, Long deadlineMs) {
        return admission(kind, id, client, tier, cost, deadlineMs, Map.of());
    }

    static Admission admission(
            RequestKind kind,
            String id,
            String client,
            String tier,
            long cost,
            Long deadlineMs,
            Map<String, String> attributes) {
        Request request = Request.builder(id, client)
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .attributes(attributes)
                .deadlineMs(deadlineMs)
                .source(0, 0)
                .build();
        return Admission.of(request, "q", new PolicyVersion("p", 1), null);
    }

    /** Returns the outflow of the queue without key, null if it has no state. */
    OutflowState outflow() {
        BucketState state = saved.get(new BucketId("q", List.of()));
        return state == null ? null : state.outflow();
    }

    /** Offers a request and returns the decision on it. */
    public Decision offer(String id, String client, String tier, long cost, Long deadlineMs, long nowMs) {
        return send(admission(RequestKind.CONSUME, id, client, tier, cost, deadlineMs), nowMs);
    }

    public Decision offer(String id, String client, String tier, long nowMs) {
        return offer(id, client, tier, 1, null, nowMs);
    }

    Decision cancel(String id, String client, long nowMs) {
        return send(admission(RequestKind.CANCEL, id, client, null, 1, null), nowMs);
    }

    /** Sends what a worker reports about a release, and returns the answer. */
    Decision acknowledge(Release release, String client, RequestKind kind, Acknowledgement.Result result, long nowMs) {
        return acknowledge(release, client, kind, result, null, nowMs);
    }

    Decision acknowledge(
            Release release,
            String client,
            RequestKind kind,
            Acknowledgement.Result result,
            Long retryAfterMs,
            long nowMs) {
        Request request = Request.builder(release.requestId(), client)
                .kind(kind)
                .acknowledgement(new Acknowledgement(release.attempt().receipt(), result, retryAfterMs, null))
                .source(0, 0)
                .build();
        return sendNext(Admission.acknowledgement(request), nowMs);
    }

    Decision done(Release release, long nowMs) {
        return acknowledge(release, release.client(), RequestKind.COMPLETE, Acknowledgement.Result.DONE, nowMs);
    }

    Decision extend(Release release, long nowMs) {
        return acknowledge(release, release.client(), RequestKind.EXTEND, null, nowMs);
    }

    /** Sends a request with a source of its own, and remembers it. */
    Decision sendNext(Admission sent, long nowMs) {
        Request request = sent.request().toBuilder().source(0, number).build();
        requests.add(request);
        return send(
                new Admission(request, sent.sent(), sent.key(), sent.identity(), sent.headers(), sent.context()),
                nowMs);
    }

    public Decision send(Admission admission, long nowMs) {
        carryOut(shaper.admit(admission, number++, nowMs, nowMs * MS));
        return decisions.get(decisions.size() - 1);
    }

    /** Sends a command of an operator. */
    void command(QueueCommand.Action action, String queue, Map<String, String> key, long nowMs) {
        QueueCommand.Origin origin = new QueueCommand.Origin(Optional.of("ann"), "because", nowMs);
        QueueMessage message = new QueueMessage.Commanded(QueueCommand.of(queue, key, action, origin));
        carryOut(shaper.receive(message, number++, nowMs, nowMs * MS));
    }

    /** Advances the virtual clock. Whatever becomes due is processed at its time. */
    public void runUntil(long nowMs) {
        while (shaper.dueNanos() <= nowMs * MS) {
            carryOut(shaper.tick(shaper.dueNanos(), 1_000));
        }
    }

    void runDry() {
        while (shaper.dueNanos() < Long.MAX_VALUE) {
            carryOut(shaper.tick(shaper.dueNanos(), 1_000));
        }
    }

    /** Returns the releases since the last call, as {@code "id@ms"}. */
    List<String> takeReleases() {
        List<String> taken = releases.stream()
                .map(release -> release.requestId() + "@" + release.releaseAtNanos() / MS)
                .toList();
        releases.clear();
        return taken;
    }

    /** Returns what is shown of the buckets of a queue with key fields. */
    public static QueueView.SeveralBuckets several(QueueView view) {
        return (QueueView.SeveralBuckets) view.buckets();
    }
}
