package dev.weir.simulation;

import static dev.weir.simulation.Violation.Promise.BOUNDED;
import static dev.weir.simulation.Violation.Promise.RESTORED_AS_IT_WAS;

import dev.weir.codec.KeyCodec;
import dev.weir.config.WeirConfig;
import dev.weir.processor.LiveCounts;
import dev.weir.processor.LiveQueues;
import dev.weir.processor.Shape;
import dev.weir.shape.QueueView;
import dev.weir.topology.Stores;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.apache.kafka.common.utils.Bytes;

/** Looks at a task after its commit: what there is of it, and whether another that begins from its stores is like it. */
final class RestartCheck {

    private static final long NANOS_PER_MS = 1_000_000;

    private final Cluster cluster;
    private final WeirConfig.State config;
    private final Flaw flaw;

    RestartCheck(Cluster cluster, WeirConfig.State config, Flaw flaw) {
        this.cluster = cluster;
        this.config = config;
        this.flaw = flaw;
    }

    void check(Task task, Instance instance) {
        Violation.unless(task.timers() <= 1, BOUNDED, task + " has " + task.timers() + " punctuations");
        switch (task.slot.role()) {
            case DECIDE -> checkAnswers(task, Stores.FIRST_ANSWERS);
            case SHAPE -> {
                checkAnswers(task, Stores.QUEUE_FIRST_ANSWERS);
                checkQueues(task, instance);
            }
            case CHECK -> {}
        }
    }

    /** Each answer has a note, and some notes have no answer any more. */
    private void checkAnswers(Task task, String store) {
        int kept = task.state().store(store).size();
        long notes = task.state().store(store).keySet().stream()
                .filter(key -> Bytes.wrap(KeyCodec.note(Long.MAX_VALUE)).compareTo(key) >= 0)
                .count();
        Violation.unless(notes <= config.maxRemembered() && kept <= 2 * notes, BOUNDED, task + " remembers " + kept);
    }

    /** Restores the queues from what is committed, and asks both. */
    private void checkQueues(Task task, Instance instance) {
        LocalState restored = new LocalState(task.slot, cluster, flaw);
        restored.restore();
        LiveQueues queues = new LiveQueues();
        Shape shape =
                new Shape(instance.policies, queues, new LiveCounts(), config, Task.SHAPE_STORES, Task.SHAPE_OUTLETS);
        Context<byte[], Object> context =
                new Context<>(task.slot.partition(), instance::nowMs, new Timers(Flaw.NONE), (record, node) -> {});
        for (String store : task.slot.role().stores) {
            context.add(HeapStore.copy(store, restored.store(store)));
        }
        shape.init(context);
        for (String queue : Rulebook.QUEUES) {
            QueueView is = view(queues, task, instance, queue);
            QueueView was = view(instance.queues, task, instance, queue);
            if (!Objects.equals(kept(is), kept(was))) {
                throw new Violation(RESTORED_AS_IT_WAS, task + " had\n  " + was + ", who restores it\n  " + is);
            }
        }
    }

    /** Without what depends on the tags of fair queueing, which begin anew. */
    private static QueueView kept(QueueView view) {
        return view == null
                ? null
                : new QueueView(
                        view.rules(),
                        view.isDeleted(),
                        view.waiting(),
                        view.waitingTokens(),
                        view.tiers(),
                        view.oldestEnqueuedAtMs(),
                        view.released(),
                        null);
    }

    private static QueueView view(LiveQueues queues, Task task, Instance instance, String queue) {
        return queues.ask(
                        task.slot.partition(),
                        Duration.ZERO,
                        shaper -> Optional.ofNullable(shaper.view(queue, instance.nowMs() * NANOS_PER_MS)))
                .orElseThrow()
                .orElse(null);
    }
}
