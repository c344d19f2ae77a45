package dev.weir.shape;

import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.Kind;
import dev.weir.policy.Reason;
import dev.weir.shape.QueueStore.Place;
import dev.weir.shape.Slot.Waiting;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** Many queues, each woken when it is due: a tick touches no others. Time is an argument and never runs backwards, unless it steps back. */
public final class Shaper {

    /** The last moment that can be told in nanoseconds, with room for what waits: the year 2200, in ms. */
    public static final long LAST_MS = 7_258_118_400_000L;

    /** How many steps one queue may take before it is the next one's turn. */
    private static final int STEPS_A_TURN = 500;

    private static final long NANOS_PER_MS = 1_000_000;

    /** What the queues are to do. */
    public interface Rules {

        /** The rules in force, null if there is no such queue. */
        QueueRules of(String queue);
    }

    /** Where the queues are kept. */
    public interface Stores {

        /** What waits in a queue. */
        QueueStore of(String queue);

        void save(QueueState state);

        /** The queues' answers to requests that may be repeated. */
        FirstAnswers firstAnswers();
    }

    private record Due(long nanos, long order, String queue) {}

    private final Rules rules;
    private final Stores stores;
    private final Remembering outlet;
    private final Map<String, LeakyBucketQueue> queues = new TreeMap<>();
    private final Map<String, Due> dueByQueue = new HashMap<>();
    private final TreeSet<Due> soonestFirst =
            new TreeSet<>(Comparator.comparingLong(Due::nanos).thenComparingLong(Due::order));
    private long orders;

    public Shaper(Rules rules, Stores stores, Outlet outlet) {
        this.rules = rules;
        this.stores = stores;
        this.outlet = new Remembering(stores.firstAnswers(), outlet);
    }

    /** Takes note of a queue that there was. */
    public void restore(QueueState state) {
        queues.put(state.rules().id(), make(state));
    }

    /** Takes note of a request that waits in a restored queue; those of one flow in the order of their positions. */
    public void restore(String queue, Place place, Waiting waiting) {
        queues.get(queue).restore(place.position(), waiting);
    }

    /** Goes on once all is restored. */
    public void resume() {
        queues.forEach((id, queue) -> {
            queue.resume();
            plan(id, queue, 0);
        });
    }

    /**
     * Lets a request into its queue, or withdraws one from it; answers in any case. A repeat is answered as the first time,
     * whatever became of the request since.
     *
     * @param number its place in the order of arrival
     * @param enqueuedAtMs when it came, not after now
     */
    public void admit(Admission admission, long number, long enqueuedAtMs, long nowNanos) {
        if (admission.repeated()) {
            outlet.repeat(admission, nowNanos / NANOS_PER_MS);
            return;
        }
        String id = admission.queue();
        LeakyBucketQueue queue = queue(id, nowNanos);
        if (queue == null) {
            outlet.decide(admission, noQueue(admission, nowNanos));
            return;
        }
        if (isCancel(admission)) {
            queue.cancel(admission, nowNanos);
        } else {
            queue.offer(admission, number, enqueuedAtMs, nowNanos);
        }
        settle(id, queue, 0);
    }

    /** When queues were written last, in ms since the epoch; 0 if there are none. */
    public long writtenMs() {
        return queues.values().stream()
                .mapToLong(queue -> queue.state().outflow().clockNanos() / NANOS_PER_MS)
                .max()
                .orElse(0);
    }

    /** Sets the time of all queues back, because it was wrong. */
    public void stepBack(long nowNanos) {
        queues.forEach((id, queue) -> {
            queue.stepBack(nowNanos);
            settle(id, queue, 0);
        });
    }

    /** Whether any request waits. */
    public boolean hasWaiting() {
        return !soonestFirst.isEmpty();
    }

    /** Puts changed rules in force, for what waits as well. */
    public void refresh(long nowNanos) {
        queues.forEach((id, queue) -> {
            apply(rules.of(id), queue, nowNanos);
            settle(id, queue, 0);
        });
    }

    /**
     * Releases and lets expire what is due.
     *
     * @param steps how much is done at most; what is left over is due at once
     */
    public void tick(long nowNanos, int steps) {
        int left = steps;
        while (left > 0 && isDue(nowNanos)) {
            Due due = soonestFirst.first();
            LeakyBucketQueue queue = queues.get(due.queue);
            Budget turn = new Budget(Math.min(left, STEPS_A_TURN));
            queue.drain(nowNanos, turn);
            left -= Math.max(1, turn.spent());
            settle(due.queue, queue, nowNanos);
        }
    }

    /** When there is something to do; {@link Long#MAX_VALUE} if nothing waits. */
    public long dueNanos() {
        return soonestFirst.isEmpty() ? Long.MAX_VALUE : soonestFirst.first().nanos;
    }

    /** What a request would be answered that came now; leaves all as it is. */
    public Decision check(Admission admission, long nowNanos) {
        if (admission.repeated()) {
            return outlet.again(admission, nowNanos / NANOS_PER_MS);
        }
        QueueRules current = rules.of(admission.queue());
        LeakyBucketQueue queue = glance(admission.queue(), current, nowNanos);
        return queue == null ? noQueue(admission, nowNanos) : queue.check(admission, current, nowNanos);
    }

    /** A queue as it is now, null if there is none; leaves all as it is. */
    public QueueView view(String id, long nowNanos) {
        QueueRules current = rules.of(id);
        LeakyBucketQueue queue = glance(id, current, nowNanos);
        return queue == null ? null : queue.view(current, nowNanos);
    }

    /** The first of the queues that anything was sent to, by id, as they are now; leaves all as they are. */
    public List<QueueView> views(int most, long nowNanos) {
        List<QueueView> views = new ArrayList<>();
        queues.keySet().stream().limit(most).forEach(id -> views.add(view(id, nowNanos)));
        return views;
    }

    /** A queue to look at; one that nothing has been sent to yet is made up. */
    private LeakyBucketQueue glance(String id, QueueRules current, long nowNanos) {
        LeakyBucketQueue queue = queues.get(id);
        return queue == null && current != null ? make(LeakyBucketQueue.fresh(current, nowNanos)) : queue;
    }

    private LeakyBucketQueue make(QueueState state) {
        return new LeakyBucketQueue(state, stores.of(state.rules().id()), outlet);
    }

    private static Decision noQueue(Admission admission, long nowNanos) {
        long nowMs = nowNanos / NANOS_PER_MS;
        return isCancel(admission)
                ? Answers.cancel(admission, false, nowMs)
                : Answers.denied(admission, Reason.NO_QUEUE, null, null, null, nowMs);
    }

    private boolean isDue(long nowNanos) {
        return !soonestFirst.isEmpty() && soonestFirst.first().nanos <= nowNanos;
    }

    private LeakyBucketQueue queue(String id, long nowNanos) {
        LeakyBucketQueue queue = queues.get(id);
        QueueRules current = rules.of(id);
        if (queue != null) {
            apply(current, queue, nowNanos);
        } else if (current != null) {
            QueueState fresh = LeakyBucketQueue.fresh(current, nowNanos);
            queue = make(fresh);
            stores.save(fresh);
            queues.put(id, queue);
        }
        return queue;
    }

    private static void apply(QueueRules current, LeakyBucketQueue queue, long nowNanos) {
        if (current == null) {
            queue.delete();
        } else {
            queue.setRules(current, nowNanos);
        }
    }

    /** @param earliestNanos a queue that is due still goes behind those that are due before then */
    private void settle(String id, LeakyBucketQueue queue, long earliestNanos) {
        if (queue.takeChanged()) {
            stores.save(queue.state());
        }
        plan(id, queue, earliestNanos);
    }

    private void plan(String id, LeakyBucketQueue queue, long earliestNanos) {
        Due before = dueByQueue.remove(id);
        if (before != null) {
            soonestFirst.remove(before);
        }
        long nanos = queue.dueNanos();
        if (nanos < Long.MAX_VALUE) {
            Due due = new Due(Math.max(nanos, earliestNanos), orders++, id);
            dueByQueue.put(id, due);
            soonestFirst.add(due);
        }
    }

    private static boolean isCancel(Admission admission) {
        return admission.request().kind() == Kind.CANCEL;
    }
}
