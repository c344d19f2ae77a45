package dev.weir.shape.total;

import static dev.weir.shape.QueueHarness.MS;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.HeapQueueStore;
import dev.weir.shape.QueueHarness;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.store.HeapSchedule;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.timer.TimerKey;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The partitions of a queue with a total, the messages between them, and what they release. */
final class PartitionsHarness {

    static final long T0 = 1_700_000_000_000L;

    final Random random;
    final int maxDelayMs;
    final int hotKeys;
    final List<Shaper> shapers = new ArrayList<>();
    final List<Map<BucketId, BucketState>> saved = new ArrayList<>();
    final List<Map<BucketId, QueueStore>> tables = new ArrayList<>();
    final List<Map<String, LedgerState>> ledgers = new ArrayList<>();
    final List<Map<String, QueueState>> queues = new ArrayList<>();
    final List<HeapQueueStore<TimerKey, BucketId>> timers = new ArrayList<>();
    final Map<Integer, Long> lastLoans = new HashMap<>();
    final PriorityQueue<Message> underWay =
            new PriorityQueue<>(Comparator.comparingLong(Message::atMs).thenComparingLong(Message::order));
    final Map<Integer, Long> arrivals = new HashMap<>();
    final List<Release> releases = new ArrayList<>();
    final List<Decision> decisions = new ArrayList<>();
    final Map<Integer, Long> aheadMs = new HashMap<>(); // of the clock of a partition's broker
    final Set<Integer> paused = new HashSet<>();
    int minDelayMs;
    QueueRules rules;
    boolean losesMessages;
    boolean repeatsMessages;
    long nowMs = T0;
    long orders;
    long requests;
    long mostHot;

    private record Message(long atMs, long order, int partition, QueueMessage content) {}

    PartitionsHarness(long seed, int partitions, int maxDelayMs, QueueRules rules) {
        this(seed, partitions, maxDelayMs, rules, 1_000);
    }

    PartitionsHarness(long seed, int partitions, int maxDelayMs, QueueRules rules, int hotKeys) {
        this.hotKeys = hotKeys;
        random = new Random(seed);
        this.maxDelayMs = maxDelayMs;
        this.rules = rules;
        for (int i = 0; i < partitions; i++) {
            saved.add(new HashMap<>());
            tables.add(new HashMap<>());
            ledgers.add(new HashMap<>());
            queues.add(new HashMap<>());
            timers.add(new HeapQueueStore<>());
            shapers.add(shaper(i));
        }
    }

    private Shaper shaper(int partition) {
        Shaper.Tables own = new Shaper.Tables() {
            @Override
            public QueueStore of(BucketId bucket) {
                return tables.get(partition)
                        .computeIfAbsent(
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
                return saved.get(partition).get(bucket);
            }

            @Override
            public KeyValueTable<TimerKey, BucketId> timers() {
                return timers.get(partition);
            }

            @Override
            public IdempotencyCache idempotencyCache() {
                return IdempotencyCache.inMemory(0, 0);
            }

            @Override
            public void readStates(Consumer<QueueEffect.StateStored> read) {
                queues.get(partition).forEach((id, state) -> read.accept(new QueueEffect.QueueStored(id, state)));
                saved.get(partition).forEach((id, state) -> read.accept(new QueueEffect.BucketStored(id, state)));
                ledgers.get(partition).forEach((id, is) -> read.accept(new QueueEffect.LedgerStored(id, is)));
                read.accept(new QueueEffect.LastLoanStored(lastLoans.getOrDefault(partition, 0L)));
            }

            @Override
            public void readWaiting(BucketId bucket, BiConsumer<QueueStore.Place, QueueEntry> requests) {
                throw new IllegalStateException("few wait in each bucket, so that their states list them");
            }
        };
        return new Shaper(id -> rules, own, new Shaper.Messaging(partition, 100), hotKeys);
    }

    void carryOut(int partition, List<QueueEffect> effects) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.Decided decided) {
                decisions.add(decided.decision());
            } else if (effect instanceof QueueEffect.Released released) {
                releases.add(released.release());
            } else if (effect instanceof QueueEffect.BucketStored stored) {
                QueueHarness.putOrRemove(saved.get(partition), stored.id(), stored.state());
            } else if (effect instanceof QueueEffect.QueueStored stored) {
                QueueHarness.putOrRemove(queues.get(partition), stored.queue(), stored.state());
            } else if (effect instanceof QueueEffect.LedgerStored stored) {
                QueueHarness.putOrRemove(ledgers.get(partition), stored.queue(), stored.state());
            } else if (effect instanceof QueueEffect.LastLoanStored last) {
                lastLoans.put(partition, last.number());
            } else if (effect instanceof QueueEffect.Sent sent) {
                send(
                        sent.message() instanceof QueueMessage.Granted granted
                                ? granted.grant().place().partition()
                                : 0,
                        sent.message());
            }
        }
    }

    /** Puts changed rules in force. */
    void refresh() {
        for (int i = 0; i < shapers.size(); i++) {
            carryOut(i, shapers.get(i).refresh(nowMs * MS));
        }
    }

    private void send(int partition, QueueMessage content) {
        if (!losesMessages || random.nextInt(10) > 0) {
            long atMs = nowMs + minDelayMs + random.nextInt(maxDelayMs);
            arrivals.merge(partition, atMs, Math::max); // messages to one partition arrive in order
            underWay.add(new Message(arrivals.get(partition), orders++, partition, content));
            if (repeatsMessages && random.nextInt(3) == 0) {
                underWay.add(new Message(atMs + random.nextInt(1_000), orders++, partition, content));
            }
        }
    }

    /** Withdraws a request of a key. */
    void cancel(String key, String id) {
        send(key, RequestKind.CANCEL, id, null, "c", 1);
    }

    /** Sends a request. A key is always on the same partition. */
    void offer(String key, String tier, long cost) {
        offer(key, tier, "c", cost);
    }

    void offer(String key, String tier, String client, long cost) {
        send(key, RequestKind.CONSUME, "r" + requests++, tier, client, cost);
    }

    private void send(String key, RequestKind kind, String id, String tier, String client, long cost) {
        Request request = Request.builder(id, client)
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .attributes(Map.of("k", key))
                .source(0, 0)
                .build();
        Admission admission =
                Admission.of(request, "q", new PolicyVersion("p", 1), null).withKey(rules.keyOf(request));
        int partition = Math.floorMod(key.hashCode(), shapers.size());
        carryOut(partition, shapers.get(partition).admit(admission, requests, nanos(partition) / MS, nanos(partition)));
    }

    /** Ends the attempt of a release, as its worker does. */
    void complete(Release release) {
        complete(release, Acknowledgement.Result.DONE);
    }

    void complete(Release release, Acknowledgement.Result result) {
        Request request = Request.builder(release.requestId(), release.client())
                .kind(RequestKind.COMPLETE)
                .acknowledgement(new Acknowledgement(release.attempt().receipt(), result, null, null))
                .source(0, 0)
                .build();
        Admission admission = Admission.acknowledgement(request);
        int partition = Math.floorMod(release.key().get("k").hashCode(), shapers.size());
        carryOut(partition, shapers.get(partition).admit(admission, requests, nanos(partition) / MS, nanos(partition)));
    }

    /** Returns the slots that requests in flight occupy on all partitions. */
    long slotsInFlight() {
        long slots = 0;
        for (Map<BucketId, QueueStore> ofPartition : tables) {
            for (QueueStore store : ofPartition.values()) {
                for (QueueEntry entry :
                        ((HeapQueueStore<QueueStore.Place, QueueEntry>) store.entries()).entries.values()) {
                    slots += entry instanceof QueueEntry.Attempted attempted
                                    && attempted.phase() instanceof QueueEntry.Phase.InFlight lasting
                            ? lasting.slots()
                            : 0;
                }
            }
        }
        return slots;
    }

    /** Restarts a partition, which loses what it has in memory. */
    void restart(int partition) {
        shapers.set(partition, shaper(partition));
    }

    private long nanos(int partition) {
        return (nowMs + aheadMs.getOrDefault(partition, 0L)) * MS;
    }

    void run(long ms) {
        for (long until = nowMs + ms; nowMs < until; nowMs = nextEventMs(until)) {
            List<Message> late = new ArrayList<>();
            while (!underWay.isEmpty() && underWay.peek().atMs <= nowMs) {
                Message message = underWay.remove();
                Shaper to = shapers.get(message.partition);
                if (paused.contains(message.partition)) {
                    late.add(message);
                } else {
                    carryOut(message.partition, to.receive(message.content, 0, nowMs, nanos(message.partition)));
                }
            }
            underWay.addAll(late);
            for (int i = 0; i < shapers.size(); i++) {
                Shaper shaper = shapers.get(i);
                mostHot = Math.max(mostHot, shaper.hotKeys());
                for (int turns = 0; shaper.dueNanos() <= nanos(i) && turns < 100 && !paused.contains(i); turns++) {
                    carryOut(i, shaper.tick(nanos(i), 5_000));
                }
            }
        }
    }

    /** Returns the next millisecond at which a message arrives or a partition has work to do. */
    private long nextEventMs(long untilMs) {
        long nextMs = untilMs;
        if (!underWay.isEmpty()) {
            nextMs = Math.min(nextMs, underWay.peek().atMs);
        }
        for (int i = 0; i < shapers.size(); i++) {
            long dueNanos = shapers.get(i).dueNanos();
            if (dueNanos < Long.MAX_VALUE && !paused.contains(i)) {
                nextMs = Math.min(nextMs, -Math.floorDiv(-dueNanos, MS) - aheadMs.getOrDefault(i, 0L));
            }
        }
        return Math.max(nowMs + 1, nextMs);
    }

    long released(String tier) {
        return releases.stream()
                .filter(release -> tier.equals(release.tier()))
                .mapToLong(Release::cost)
                .sum();
    }

    /** Returns what was released in an interval, in ms since the start. */
    long releasedBetween(long fromMs, long untilMs) {
        return releases.stream()
                .filter(release -> release.releaseAtNanos() >= (T0 + fromMs) * MS
                        && release.releaseAtNanos() < (T0 + untilMs) * MS)
                .mapToLong(Release::cost)
                .sum();
    }

    /**
     * Returns the most that was released in any interval of some length, with the whole cost of a request at
     * its time.
     */
    long most(long nanos) {
        List<Release> inOrder = new ArrayList<>(releases);
        inOrder.sort(Comparator.comparingLong(Release::releaseAtNanos));
        long most = 0;
        long sum = 0;
        for (int first = 0, next = 0; next < inOrder.size(); next++) {
            sum += inOrder.get(next).cost();
            while (inOrder.get(next).releaseAtNanos() - inOrder.get(first).releaseAtNanos() >= nanos) {
                sum -= inOrder.get(first++).cost();
            }
            most = Math.max(most, sum);
        }
        return most;
    }

    static QueueRules rules(long limit, QueueTotal total, Map<String, TierShare> tiers) {
        return QueueRules.builder("q", limit, 1_000)
                .capacity(100_000)
                .tiers(tiers)
                .key(List.of("k"))
                .total(total)
                .build();
    }

    static QueueTotal total(long limit) {
        return new QueueTotal(limit, 1_000, QueueRules.MAX_CAPACITY);
    }

    static QueueRules withTotal(QueueRules rules, long version, QueueTotal total) {
        return rules.toBuilder().version(version).total(total).build();
    }
}
