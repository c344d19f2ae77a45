package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.BOUNDED;
import static dev.weir.simulation.schedule.Violation.Promise.RESTORED_AS_IT_WAS;

import dev.weir.config.WeirConfig;
import dev.weir.event.StateKey;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.Shape;
import dev.weir.shape.view.QueueView;
import dev.weir.simulation.cluster.HeapStore;
import dev.weir.simulation.cluster.LocalState;
import dev.weir.simulation.cluster.SimulatedCluster;
import dev.weir.simulation.cluster.SimulatedContext;
import dev.weir.simulation.cluster.SimulatedInstance;
import dev.weir.simulation.cluster.SimulatedTask;
import dev.weir.simulation.cluster.SimulatedTaskSlot;
import dev.weir.simulation.cluster.SimulatedTimers;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.Violation;
import dev.weir.storage.codec.WaiterCodec;
import dev.weir.storage.codec.WaiterCodec.Waiter;
import dev.weir.topology.Stores;
import dev.weir.wire.KeyCodec;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.WeakHashMap;
import org.apache.kafka.common.utils.Bytes;

/** The check of a task after its commit: its size is bounded, and a task restored from its stores is equal to it. */
final class RestartCheck {

    /** The time at which both tasks are queried, later than any time that they have seen. */
    private static final long LATER_NANOS = (SchedulePlan.BEGIN_MS + 86_400_000) * 1_000_000;

    private static final long TICK_MS = 5;
    private static final WaiterCodec WAITER = new WaiterCodec();

    private final SimulatedCluster cluster;
    private final WeirConfig config;
    private final InjectedFlaw flaw;
    private final Map<SimulatedTask, Map<Bytes, Long>> waitingSince = new WeakHashMap<>();
    private final Map<SimulatedTaskSlot, LocalState> restored = new HashMap<>();

    RestartCheck(SimulatedCluster cluster, WeirConfig config, InjectedFlaw flaw) {
        this.cluster = cluster;
        this.config = config;
        this.flaw = flaw;
    }

    void check(SimulatedTask task, SimulatedInstance instance) {
        int most = task.slot.role() == SimulatedTaskSlot.Role.DECIDE ? 2 : 1;
        Violation.unless(task.timers() <= most, BOUNDED, () -> task + " has " + task.timers() + " punctuations");
        switch (task.slot.role()) {
            case DECIDE -> {
                checkAnswers(task, Stores.IDEMPOTENCY);
                checkWaiting(task, instance);
                checkStores(
                        task,
                        List.of(
                                Stores.RESERVATIONS,
                                Stores.LEASE_BOOKS,
                                Stores.WAITING_REQUESTS,
                                Stores.DECISION_ORDER));
            }
            case LEND -> {
                if (flaw != InjectedFlaw.LEASES_LOST) { // which another check has to find
                    checkStores(task, List.of(Stores.LEDGERS));
                }
            }
            case SHAPE -> {
                checkAnswers(task, Stores.QUEUE_IDEMPOTENCY);
                checkQueues(task, instance);
            }
            case CHECK -> {}
        }
    }

    /** Checks the number of stored answers. Each has a note, and some notes no longer have an answer. */
    private void checkAnswers(SimulatedTask task, String store) {
        int kept = task.state().store(store).size();
        long notes = task.state().store(store).keySet().stream()
                .filter(key -> Bytes.wrap(KeyCodec.encodeNumber(Long.MAX_VALUE)).compareTo(key) >= 0)
                .count();
        Violation.unless(
                notes <= config.state().most().idempotencyKeys() && kept <= 2 * notes,
                BOUNDED,
                () -> task + " stores " + kept + " answers");
    }

    /**
     * Checks that no request waits much longer than its max-wait: at most that of a request ahead of it, and
     * until the task is woken. The wait counts from the first commit at which the request waited, because the
     * task may have been paused before, and starts again when the task is opened again.
     */
    private void checkWaiting(SimulatedTask task, SimulatedInstance instance) {
        if (task.wokenMs() == Long.MIN_VALUE) {
            return; // it has not run since it was opened
        }
        Map<Bytes, byte[]> waiting = task.state().store(Stores.WAITING_REQUESTS);
        Map<Bytes, Long> since = waitingSince.computeIfAbsent(task, one -> new HashMap<>());
        since.keySet().retainAll(waiting.keySet());
        Map<StateKey, Long> latestUntilMs = new HashMap<>(); // of the requests for a key so far, in order of arrival
        waiting.forEach((key, bytes) -> {
            Waiter waiter = WAITER.decode(bytes);
            long sinceMs = Math.max(task.openedMs(), since.computeIfAbsent(key, one -> instance.nowMs()));
            long untilMs = latestUntilMs.merge(waiter.key(), sinceMs + waiter.maxWaitMs(), Math::max);
            Violation.unless(
                    task.wokenMs() <= untilMs + SchedulePolicies.MOST_WAIT_MS + TICK_MS,
                    BOUNDED,
                    () -> task + ", woken at " + task.wokenMs() + ", lets one wait since " + sinceMs + ": " + waiter);
        });
    }

    /** Compares stores with those restored from committed changelog records. */
    private void checkStores(SimulatedTask task, List<String> names) {
        LocalState restored = restored(task);
        for (String name : names) {
            if (!sameBytes(restored.store(name), task.state().store(name))) {
                throw new Violation(RESTORED_AS_IT_WAS, task + " has another " + name + " than a restored task");
            }
        }
    }

    /**
     * Returns the stores of a task as restored from its changelogs. They continue from where the last check stopped:
     * records before that are committed or aborted for good, and compaction removes only what later records replace.
     */
    private LocalState restored(SimulatedTask task) {
        LocalState stores = restored.computeIfAbsent(task.slot, slot -> new LocalState(slot, cluster, flaw));
        stores.restore();
        return stores;
    }

    private static boolean sameBytes(Map<Bytes, byte[]> one, Map<Bytes, byte[]> other) {
        return one.keySet().equals(other.keySet())
                && one.entrySet().stream()
                        .allMatch(entry -> Arrays.equals(entry.getValue(), other.get(entry.getKey())));
    }

    /** Compares the queues with those restored from committed changelog records. */
    private void checkQueues(SimulatedTask task, SimulatedInstance instance) {
        LocalState restored = restored(task);
        QueueRegistry queues = new QueueRegistry();
        Shape shape = new Shape(
                instance.policies,
                queues,
                new EnforcerMetrics(),
                config,
                SimulatedTask.SHAPE_STORES,
                SimulatedTask.SHAPE_OUTLETS,
                SimulatedTask.NO_REPLIES);
        SimulatedContext<byte[], Object> context = new SimulatedContext<>(
                task.slot.partition(), instance::nowMs, new SimulatedTimers(InjectedFlaw.NONE), (record, node) -> {});
        for (String store : task.slot.role().stores) {
            context.add(HeapStore.copy(store, restored.store(store)));
        }
        shape.init(context);
        for (String queue : SchedulePolicies.QUEUES) {
            QueueView is = view(queues, task, queue);
            QueueView was = view(instance.queues, task, queue);
            if (!Objects.equals(kept(is), kept(was))) {
                throw new Violation(RESTORED_AS_IT_WAS, task + " has\n  " + was + ", a restored task\n  " + is);
            }
        }
    }

    /** Returns a view without the fields that depend on the tags of fair queueing, which are not stored. */
    private static QueueView kept(QueueView view) {
        return view == null
                ? null
                : new QueueView(view.rules(), view.isDeleted(), view.backlog(), kept(view.buckets()))
                        .withScheduled(view.scheduled())
                        .withInFlight(view.inFlight());
    }

    private static QueueView.Buckets kept(QueueView.Buckets buckets) {
        return buckets instanceof QueueView.SeveralBuckets several
                ? new QueueView.SeveralBuckets(several.keys(), 0, several.longest())
                : new QueueView.OneBucket(((QueueView.OneBucket) buckets).released(), null);
    }

    private static QueueView view(QueueRegistry queues, SimulatedTask task, String queue) {
        return queues.query(
                        task.slot.partition(),
                        Duration.ZERO,
                        (open, nowNanos) -> Optional.ofNullable(open.view(queue, LATER_NANOS)))
                .orElseThrow()
                .orElse(null);
    }
}
