package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.BOUNDED;
import static dev.weir.simulation.schedule.Violation.Promise.ENDS_ONCE;
import static dev.weir.simulation.schedule.Violation.Promise.IN_PACE;
import static dev.weir.simulation.schedule.Violation.Promise.POLICIES_AGREE;
import static dev.weir.simulation.schedule.Violation.Promise.WITHIN_SLOTS;

import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.rules.QueueRules;
import dev.weir.simulation.cluster.GroupMember;
import dev.weir.simulation.cluster.SimulatedCluster;
import dev.weir.simulation.cluster.SimulatedGroup;
import dev.weir.simulation.cluster.SimulatedInstance;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.cluster.SimulatedTask;
import dev.weir.simulation.cluster.SimulatedTaskSlot;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.ScheduleTrace;
import dev.weir.simulation.schedule.Violation;
import dev.weir.testing.QueueAudit;
import dev.weir.topology.Stores;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The checks of all promises on the committed records. */
public final class SimulationChecks {

    private final SimulatedCluster cluster;
    private final SchedulePlan plan;
    private final SchedulePolicies schedulePolicies;
    private final ScheduleTrace trace;
    private final DecisionCheck decisions;
    private final LeaseCheck leases;
    private final QueueCheck queues;
    private final RestartCheck restarts;
    private int taken; // decisions

    public SimulationChecks(
            SimulatedCluster cluster,
            SchedulePlan plan,
            SchedulePolicies schedulePolicies,
            InjectedFlaw flaw,
            ScheduleTrace trace) {
        this.cluster = cluster;
        this.plan = plan;
        this.schedulePolicies = schedulePolicies;
        this.trace = trace;
        leases = new LeaseCheck(schedulePolicies, trace);
        decisions = new DecisionCheck(cluster, plan, schedulePolicies, new LimitCheck(schedulePolicies), leases, flaw);
        queues = new QueueCheck(cluster, plan, schedulePolicies);
        restarts = new RestartCheck(cluster, plan.config(), flaw);
    }

    public void afterEvent() {
        List<Entry> committed = cluster.takeEntries();
        leases.check(committed);
        decisions.check(committed);
        queues.check(committed);
    }

    public void afterCommit(GroupMember member) {
        afterEvent();
        for (SimulatedTask task : member.tasks.values()) {
            if (task.state().isSettled()) {
                restarts.check(task, member.instance);
                decisions.checkWaiting(task);
            }
        }
    }

    /** Returns the decisions since the last call that created reservations. */
    public List<Decision> takeReservations() {
        List<Decision> all = decisions.decisions();
        List<Decision> created = all.subList(taken, all.size()).stream()
                .filter(decision -> decision.reservedUntilMs() != null && decision.reason() != Reason.RENEWED)
                .toList();
        taken = all.size();
        return created;
    }

    /** Returns whether all requests are decided and none waits. */
    public boolean isAtRest() {
        return queues.waiting() == 0 && decisions.waiting() == 0;
    }

    public String left() {
        return queues.waiting() + " wait in queues, " + decisions.waiting() + " for shared quota";
    }

    public void atEnd(SimulatedGroup group) {
        for (SimulatedInstance instance : group.instances()) {
            while (instance.readPolicy()) {}
            List<PolicyAvro.Applied> applied = instance.policies.applied();
            if (!applied.equals(schedulePolicies.applied())) {
                throw new Violation(
                        POLICIES_AGREE, instance + " has " + applied + ", should have " + schedulePolicies.applied());
            }
        }
        for (GroupMember member : group.members()) {
            for (SimulatedTask task : member.tasks.values()) {
                if (task.slot.role() == SimulatedTaskSlot.Role.SHAPE) {
                    requireEmpty(task, Stores.QUEUE_ENTRIES);
                    requireEmpty(task, Stores.QUEUE_TICKETS);
                    requireEmpty(task, Stores.QUEUE_EXPIRY_TIMERS);
                    requireEmpty(task, Stores.QUEUE_TIMERS);
                    requireEmpty(task, Stores.QUEUE_SCHEDULE);
                } else if (task.slot.role() == SimulatedTaskSlot.Role.DECIDE) {
                    requireEmpty(task, Stores.WAITING_REQUESTS);
                } else if (task.slot.role() == SimulatedTaskSlot.Role.LEND) {
                    leases.atEnd(task.state().store(Stores.LEDGERS), cluster.nowMs() + plan.skewMs());
                }
            }
        }
        audit();
        count();
    }

    private static void requireEmpty(SimulatedTask task, String store) {
        int left = task.state().store(store).size();
        Violation.unless(left == 0, BOUNDED, () -> task + " keeps " + left + " of " + store + ", but nothing waits");
    }

    /** Checks the queues again, by the checks that are also used with real brokers. */
    private void audit() {
        if (plan.traffic().repeatsShaped()) {
            return;
        }
        Set<Request.Source> repeated = new HashSet<>();
        List<Decision> reported = new ArrayList<>(decisions.decisions());
        reported.addAll(queues.decisions());
        reported.stream().filter(Decision::repeated).forEach(decision -> repeated.add(decision.source()));
        reported.removeIf(decision -> repeated.contains(decision.source()));
        List<Request> requests = decisions.requests().stream()
                .filter(request -> !repeated.contains(request.source()))
                .toList();
        QueueAudit audit = new QueueAudit(requests, reported, queues.releases());
        List<String> faults = new ArrayList<>();
        faults.addAll(audit.answers());
        faults.addAll(audit.withdrawals());
        faults.addAll(audit.contents());
        faults.addAll(audit.sequences());
        faults.addAll(new QueueAudit(requests, reported, inTheirOrder()).order());
        List<String> ofSlots = new ArrayList<>(audit.acknowledgements());
        for (QueueRules rules : schedulePolicies.queues()) {
            List<String> tooFast = audit.total(rules);
            Violation.unless(tooFast.isEmpty(), IN_PACE, () -> String.join("\n", tooFast));
            if (schedulePolicies.isUnchanged(rules.id())) {
                faults.addAll(audit.pace(rules));
                ofSlots.addAll(audit.attempts(rules, plan.queueTimesDifferMs()));
                faults.addAll(audit.expiries(rules));
                if (plan.skewMs() == 0) {
                    faults.addAll(audit.priorities(rules));
                }
            }
        }
        Violation.unless(ofSlots.isEmpty(), WITHIN_SLOTS, () -> String.join("\n", ofSlots));
        Violation.unless(faults.isEmpty(), ENDS_ONCE, () -> String.join("\n", faults));
    }

    /**
     * Returns the releases except those of the tier lane: its requests may wait for shared quota before their
     * admission, but a request that can never fit does not wait and overtakes them.
     */
    private List<Release> inTheirOrder() {
        return queues.releases().stream()
                .filter(release -> !SchedulePolicies.LANE.equals(release.tier()))
                .toList();
    }

    private void count() {
        List<Decision> reported = new ArrayList<>(decisions.decisions());
        reported.addAll(queues.decisions());
        for (Decision decision : reported) {
            trace.count(decision.outcome() + " " + decision.reason());
            if (decision.observed()) {
                trace.count("OBSERVED");
            }
            if (decision.repeated()) {
                trace.count("REPEATED");
            }
        }
        for (int i = 0; i < queues.recalls(); i++) {
            trace.count("SLOTS_RECALLED");
        }
        queues.releases().forEach(release -> trace.count(release.isRetry() ? "RELEASED_AGAIN" : "RELEASED"));
        if (decisions.misplaced() > 0) {
            trace.count("MISPLACED");
        }
        if (decisions.waited() > 0) {
            trace.count("WAITED_FOR_QUOTA");
        }
    }
}
