package dev.weir.processor;

import dev.weir.decision.Decider;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.policy.RequestKey;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.processor.policy.RulesInForce;
import dev.weir.requests.CarriedHeaders;
import dev.weir.requests.ReservationCancellation;
import dev.weir.storage.StoredStates;
import dev.weir.storage.codec.WaiterCodec.Waiter;
import dev.weir.time.DueTime;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * The decisions of an open task, in steps. A step decides a request, or handles the response of a ledger or a timer.
 * Then it decides the waiting requests that have become ready, and sends messages to ledgers.
 *
 * <pre>
 *              a lease suffices                              the ledger has responded, or the wait is over
 *   request ────────────────────▶ decided ◀───────────────────────────────────────────────────────── waiting
 *      │                                                                                                ▲
 *      └────────────────────────────────────────────────────────────────────────────────────────────────┘
 *                           needs more of a shared limit than the task's leases hold
 * </pre>
 */
final class DecidingTask {

    private static final int GONE = 410;

    private final ProcessorContext<?, ?> context;
    private final PolicyRegistry policies;
    private final EnforcerMetrics metrics;
    private final Parts parts;
    private final DecisionForwarder forwarder;
    private final TickScheduler ticks;

    /**
     * What a task has of its own.
     *
     * @param states the states of policies, and the idempotency cache
     * @param leases the lease books, and the requests that wait for a lease
     * @param sequence the position of the last decision
     * @param maintenance deletes expired states and books
     */
    record Parts(StoredStates states, LeaseStore leases, DecisionSequence sequence, StateMaintenance maintenance) {}

    /**
     * Opens the task.
     *
     * @param ticks calls {@link #tick}
     */
    DecidingTask(
            ProcessorContext<?, ?> context,
            PolicyRegistry policies,
            EnforcerMetrics metrics,
            Parts parts,
            DecisionForwarder forwarder,
            TickScheduler ticks) {
        this.context = context;
        this.policies = policies;
        this.metrics = metrics;
        this.parts = parts;
        this.forwarder = forwarder;
        this.ticks = ticks;
        planTick(context.currentSystemTimeMs());
    }

    /**
     * Decides a request.
     *
     * @param record its record; the value is not read
     */
    void decide(Record<byte[], ?> record, RequestToDecide read) {
        Request request = read.request();
        long nowMs = context.currentSystemTimeMs();
        parts.maintenance.observe(request.timestampMs());
        if (read.inOrder()) {
            parts.sequence.advanceTo(request.source().offset());
        }
        RulesInForce rules = policies.inForce();
        LeaseContext leases = new LeaseContext(parts.leases, nowMs, true, parts.leases.hasRoom());
        DecisionResult result = new Decider(parts.states, leases, metrics).decide(request, rules.policies());
        if (result instanceof AwaitLease wait) {
            metrics.waits(wait.key().policyId());
            parts.leases.park(
                    new Waiter(wait.key(), wait.maxWaitMs(), request, CarriedHeaders.from(record.headers())), nowMs);
        } else {
            DecisionContext decisionContext = read.inOrder()
                    ? parts.sequence.inOrder(rules.policies())
                    : parts.sequence.outOfOrder(rules.policies());
            forwarder.forward(record, result, decisionContext, rules);
        }
        if (request.isForReservation() && request.kind() != RequestKind.RENEW) {
            endWait(request, rules); // its position is after that of the request
        }
        endStep(nowMs);
    }

    /**
     * Denies the CONSUME that a request names if it still waits for a lease. It has charged nothing, and no reservation;
     * so the request itself gets {@code NOTHING_RESERVED}.
     */
    private void endWait(Request ending, RulesInForce rules) {
        RequestKey waiting = new RequestKey(ending.client(), RequestKind.CONSUME, ending.reservationId());
        for (Waiter waiter : parts.leases.cancel(waiting)) {
            Request request = waiter.request();
            long atMs = Math.max(request.timestampMs(), ending.timestampMs());
            Decision denied = Decision.denied(request, Reason.CANCELLED, GONE, atMs);
            forwarder.forward(record(waiter), denied, parts.sequence.outOfOrder(rules.policies()), rules);
        }
    }

    /** Cancels the reservation of a request that a queue has not released. */
    void cancel(ReservationCancellation cancelled) {
        long nowMs = context.currentSystemTimeMs();
        LeaseContext quota = new LeaseContext(parts.leases, nowMs, false, false);
        new Decider(parts.states, quota, metrics)
                .cancelQueued(
                        cancelled.client(),
                        cancelled.requestId(),
                        cancelled.number(),
                        policies.inForce().policies());
        endStep(nowMs);
    }

    /** Handles the response of a ledger. */
    void respond(LedgerResponse response) {
        long nowMs = context.currentSystemTimeMs();
        parts.leases.respond(response.key(), response.response(), nowMs);
        endStep(nowMs);
    }

    /** Handles the timers that are due. */
    void tick() {
        long nowMs = context.currentSystemTimeMs();
        parts.leases.wake(nowMs);
        endStep(nowMs);
    }

    private void endStep(long nowMs) {
        for (var ready = parts.leases.nextReady(nowMs); ready.isPresent(); ready = parts.leases.nextReady(nowMs)) {
            decideAgain(ready.get(), nowMs);
        }
        for (LeaseStore.Message message : parts.leases.endStep(nowMs)) {
            forwarder.send(message, nowMs);
            if (message.request().isAwaited()) {
                context.commit(); // a request waits for the response, and the ledger reads only what is committed
            }
        }
        planTick(nowMs);
    }

    private void decideAgain(LeaseStore.Ready ready, long nowMs) {
        RulesInForce rules = policies.inForce();
        LeaseContext leases = new LeaseContext(parts.leases, nowMs, false, nowMs < ready.untilMs());
        Request request = ready.waiter().request();
        DecisionResult result = new Decider(parts.states, leases, metrics).decide(request, rules.policies());
        if (result instanceof AwaitLease wait) {
            parts.leases.parkAgain(ready, wait);
        } else {
            parts.leases.remove();
            forwarder.forward(record(ready.waiter()), result, parts.sequence.outOfOrder(rules.policies()), rules);
        }
    }

    /** Returns the record that a waiting request was read from, without the value. */
    private static Record<byte[], Object> record(Waiter waiter) {
        Request request = waiter.request();
        byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
        return new Record<>(key, null, request.timestampMs(), CarriedHeaders.to(waiter.headers()));
    }

    private void planTick(long nowMs) {
        long dueMs = parts.leases.dueMs();
        if (dueMs != DueTime.NEVER) {
            ticks.request(dueMs, nowMs);
        }
    }

    /** Evicts what exceeds the share of each cache in the memory of all. Writes nothing. */
    void shrinkCaches() {
        parts.maintenance.shrinkCaches();
    }

    /** Stops the schedules, which would otherwise survive when a failed task is initialized again. */
    void stop() {
        parts.maintenance.stop();
    }
}
