package dev.weir.failure.check;

import dev.weir.backtest.HeapQueues;
import dev.weir.config.WeirConfig;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.QueueRules;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A run of several tasks without a broker. Queues drain by the times that are passed to it. */
public final class CoreRun {

    private static final long NANOS_PER_MS = 1_000_000;
    private static final int STEPS_A_TICK = 1_000;

    private final Map<Integer, CoreRecomputation> tasks = new HashMap<>();
    private final List<Decision> decisions = new ArrayList<>();
    private final List<Release> releases = new ArrayList<>();
    private final PolicyTable policies;
    private final WeirConfig.State config;
    private final Map<String, QueueRules> queues;
    private final Shaper shaper;
    private long admitted;

    /** @param queues the rules of the queues, by queue id */
    public CoreRun(PolicyTable policies, Map<String, QueueRules> queues, WeirConfig.State config) {
        this.policies = policies;
        this.config = config;
        this.queues = queues;
        shaper = new Shaper(queues::get, new HeapQueues(config), HeapQueues.HOT_KEYS);
    }

    /**
     * Decides the next request of a task.
     *
     * @param context the context that the decision records
     * @param nowMs the queue time, not before that of the previous call
     */
    public void emitDecision(Request request, int task, DecisionContext context, long nowMs) {
        long nowNanos = nowMs * NANOS_PER_MS;
        tick(nowNanos);
        DecisionResult result = tasks.computeIfAbsent(task, any -> new CoreRecomputation(policies, config))
                .decide(request);
        if (result instanceof Admission admission) {
            Admission keyed = QueueRules.withKey(admission, queues.get(admission.queue()));
            carryOut(shaper.admit(keyed.withHeadersAndContext(List.of(), context), admitted++, nowMs, nowNanos));
        } else {
            decisions.add(((Decision) result).withContext(context));
        }
    }

    /** Drains all queues. */
    public void runDry() {
        tick(Long.MAX_VALUE - 1);
    }

    public List<Decision> decisions() {
        return decisions;
    }

    public List<Release> releases() {
        return releases;
    }

    private void carryOut(List<QueueEffect> effects) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.Decided decided) {
                decisions.add(decided.decision().withContext(decided.admission().context()));
            } else if (effect instanceof QueueEffect.Released released) {
                releases.add(released.release());
            }
        }
    }

    private void tick(long untilNanos) {
        while (shaper.dueNanos() < untilNanos) {
            carryOut(shaper.tick(shaper.dueNanos(), STEPS_A_TICK));
        }
    }
}
