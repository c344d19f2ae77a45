package dev.weir.shape;

import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.Kind;
import dev.weir.policy.PolicyVersion;
import dev.weir.policy.Request;
import dev.weir.policy.Table;
import dev.weir.shape.QueueStore.Alarm;
import dev.weir.shape.QueueStore.Place;
import dev.weir.shape.QueueStore.Ticket;
import dev.weir.shape.Slot.Waiting;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A shaper on the heap with its queues, spoken to in a few words, and what came out of it. */
final class QueueHarness {

    static final long MS = 1_000_000;

    final Map<String, QueueRules> rules = new HashMap<>();
    final MemoryTable<Place, Slot> slots = new MemoryTable<>();
    final MemoryTable<Ticket, Place> tickets = new MemoryTable<>();
    final MemoryTable<Alarm, Place> alarms = new MemoryTable<>();

    /** The store of the queue without key is the first one. */
    final Map<BucketId, QueueStore> stores =
            new HashMap<>(Map.of(new BucketId("q", List.of()), new QueueStore(slots, tickets, alarms)));

    final FirstAnswers firstAnswers = FirstAnswers.inMemory(100, 0);
    final List<Decision> decisions = new ArrayList<>();
    final List<Release> releases = new ArrayList<>();
    final Map<BucketId, BucketState> saved = new HashMap<>();
    final Map<String, Outflow> ledgers = new HashMap<>();
    final Map<String, QueueState> savedQueues = new HashMap<>();
    final MemoryTable<TimerKey, BucketId> timers = new MemoryTable<>();
    int loads;
    int hotKeys = 1_000_000;
    Shaper shaper = newShaper();
    long number;

    QueueHarness(QueueRules only) {
        rules.put(only.id(), only);
    }

    static QueueRules rules(long limit, long perMs, long burst, long capacity, long maxWaitMs, Object... tiers) {
        Map<String, Share> shares = new HashMap<>();
        for (int i = 0; i < tiers.length; i += 2) {
            shares.put((String) tiers[i], (Share) tiers[i + 1]);
        }
        return new QueueRules("q", 1, limit, perMs, burst, capacity, maxWaitMs, 0, shares);
    }

    private Shaper newShaper() {
        return new Shaper(
                rules::get,
                new Shaper.Stores() {
                    @Override
                    public QueueStore of(BucketId bucket) {
                        return stores.computeIfAbsent(
                                bucket,
                                id -> new QueueStore(new MemoryTable<>(), new MemoryTable<>(), new MemoryTable<>()));
                    }

                    @Override
                    public BucketState load(BucketId bucket) {
                        loads++;
                        return saved.get(bucket);
                    }

                    @Override
                    public void save(QueueState state) {
                        savedQueues.put(state.rules().id(), state);
                    }

                    @Override
                    public Table<TimerKey, BucketId> timers() {
                        return timers;
                    }

                    @Override
                    public void save(BucketState state) {
                        saved.put(state.id(), state);
                    }

                    @Override
                    public void delete(BucketId bucket) {
                        saved.remove(bucket);
                    }

                    @Override
                    public void saveLedger(String queue, Outflow slotsGiven) {
                        ledgers.put(queue, slotsGiven);
                    }

                    @Override
                    public void deleteLedger(String queue) {
                        ledgers.remove(queue);
                    }

                    @Override
                    public FirstAnswers firstAnswers() {
                        return firstAnswers;
                    }
                },
                new Outlet() {
                    @Override
                    public void decide(Admission of, Decision decision) {
                        decisions.add(decision);
                    }

                    @Override
                    public void release(Admission of, Release release) {
                        releases.add(release);
                    }
                },
                hotKeys);
    }

    /** Builds the shaper anew from what it had stored. */
    void restart() {
        shaper = newShaper();
        savedQueues.values().forEach(shaper::restore);
        new TreeMap<>(saved).values().forEach(shaper::restore);
        saved.forEach((bucket, state) -> {
            if (state.contents() == null) {
                restoreSlots(bucket);
            }
        });
        ledgers.forEach(shaper::restore);
        shaper.resume();
    }

    private void restoreSlots(BucketId bucket) {
        ((MemoryTable<Place, Slot>) stores.get(bucket).slots())
                .entries.entrySet().stream()
                        .filter(entry -> entry.getValue() instanceof Waiting)
                        .sorted(Comparator.comparing(entry -> entry.getKey().position()))
                        .forEach(entry -> shaper.restore(bucket, entry.getKey(), (Waiting) entry.getValue()));
    }

    static Admission admission(Kind kind, String id, String client, String tier, long cost, Long deadlineMs) {
        Request request = new Request(
                id, client, kind, tier, cost, null, Map.of(), deadlineMs, null, null, 0, new Request.Source(0, 0));
        return Admission.of(request, "q", new PolicyVersion("p", 1), null);
    }

    /** The outflow of the queue without key, null if it has no state. */
    Outflow outflow() {
        BucketState state = saved.get(new BucketId("q", List.of()));
        return state == null ? null : state.outflow();
    }

    /** Offers one, and gives the decision that answers it. */
    Decision offer(String id, String client, String tier, long cost, Long deadlineMs, long nowMs) {
        return send(admission(Kind.CONSUME, id, client, tier, cost, deadlineMs), nowMs);
    }

    Decision offer(String id, String client, String tier, long nowMs) {
        return offer(id, client, tier, 1, null, nowMs);
    }

    Decision cancel(String id, String client, long nowMs) {
        return send(admission(Kind.CANCEL, id, client, null, 1, null), nowMs);
    }

    Decision send(Admission admission, long nowMs) {
        shaper.admit(admission, number++, nowMs, nowMs * MS);
        return decisions.get(decisions.size() - 1);
    }

    /** Lets the virtual clock run: whatever falls due until then happens at its own time. */
    void runUntil(long nowMs) {
        while (shaper.dueNanos() <= nowMs * MS) {
            shaper.tick(shaper.dueNanos(), 1_000);
        }
    }

    void runDry() {
        while (shaper.dueNanos() < Long.MAX_VALUE) {
            shaper.tick(shaper.dueNanos(), 1_000);
        }
    }

    /** The releases as {@code "id@ms"}, since it was asked last. */
    List<String> takeReleases() {
        List<String> taken = releases.stream()
                .map(release -> release.requestId() + "@" + release.releaseAtNanos() / MS)
                .toList();
        releases.clear();
        return taken;
    }
}
