package dev.weir.simulation;

import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.simulation.check.SimulationChecks;
import dev.weir.simulation.cluster.GroupMember;
import dev.weir.simulation.cluster.ProcessKilledException;
import dev.weir.simulation.cluster.SimulatedCluster;
import dev.weir.simulation.cluster.SimulatedGroup;
import dev.weir.simulation.cluster.SimulatedInstance;
import dev.weir.simulation.cluster.SimulatedPartition;
import dev.weir.simulation.cluster.SimulatedProducers;
import dev.weir.simulation.cluster.SimulatedProducers.Sent;
import dev.weir.simulation.cluster.SimulatedTaskSlot;
import dev.weir.simulation.cluster.SimulatedTransaction;
import dev.weir.simulation.cluster.SimulatedWorkers;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.SchedulePlan.Event;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.SchedulePolicies.Rule;
import dev.weir.simulation.schedule.ScheduleTrace;
import dev.weir.simulation.schedule.Violation;
import dev.weir.storage.codec.QueueMessageCodec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * One schedule: events drawn from a seed until all requests are sent and some time has passed. Then all faults end, so
 * that all waiting requests must end too. The promises are checked after each event.
 */
final class Simulation {

    private static final int LEAD_MS = 400;
    private static final int MOST_EVENTS = 20_000;
    private static final int EVENTS_AFTER_TRAFFIC = 200;
    private static final int EVENTS_A_COMMAND = 50;

    /** Most pauses and drains end soon. */
    private static final List<Action> COMMANDS =
            List.of(Action.PAUSE, Action.DRAIN, Action.PURGE, Action.RESUME, Action.RESUME, Action.RESUME);

    /** For so many rounds after the faults, workers do not complete all jobs. */
    private static final int ROUNDS_OF_WORK = 25;

    private static final int ANSWERS_A_ROUND = 3;

    private final Random random;
    private final Random operator; // of commands, which other events do not depend on
    private final SchedulePlan plan;
    private final InjectedFlaw flaw;
    private final ScheduleTrace trace = new ScheduleTrace();
    private final SimulatedCluster cluster;
    private final SchedulePolicies schedulePolicies;
    private final SimulatedProducers producers;
    private final SimulatedWorkers workers;
    private final SimulatedGroup group;
    private final SimulationChecks checks;
    private final TreeSet<Long> changesFromMs = new TreeSet<>();
    private long nowMs = SchedulePlan.BEGIN_MS;
    private long leaderAheadMs;

    Simulation(long seed, InjectedFlaw flaw) {
        random = new Random(seed);
        operator = new Random(~seed);
        plan = SchedulePlan.draw(random, flaw);
        this.flaw = flaw;
        cluster = new SimulatedCluster(plan, flaw);
        schedulePolicies = new SchedulePolicies(random, plan);
        producers = new SimulatedProducers(random, plan);
        cluster.setTime(nowMs, 0);
        schedulePolicies.first().forEach(this::append);
        group = new SimulatedGroup(random, cluster, plan, flaw);
        group.assign(false);
        workers = new SimulatedWorkers(new Random(31 * seed), cluster, plan, trace);
        checks = new SimulationChecks(cluster, plan, schedulePolicies, flaw, trace);
    }

    ScheduleTrace trace() {
        return trace;
    }

    /** @throws Violation at the first event after which a promise does not hold */
    void run() {
        for (int left = EVENTS_AFTER_TRAFFIC; left > 0 && trace.events() < MOST_EVENTS; ) {
            pass(random.nextInt(8));
            Event event = plan.next(random);
            try {
                happen(event);
            } catch (ProcessKilledException e) {
                killed(e.member);
            }
            command();
            checks.afterEvent();
            checks.takeReservations().forEach(producers::reserved);
            left -= producers.isOver() ? 1 : 0;
        }
        drain();
        checks.atEnd(group);
    }

    private void happen(Event event) {
        String what =
                switch (event) {
                    case REQUEST -> request();
                    case STEP -> step();
                    case PUNCTUATE -> punctuate(anyMember());
                    case WORK -> work();
                    case COMMIT -> commit(anyMember());
                    case OPEN ->
                        open(group.slots().get(random.nextInt(group.slots().size())));
                    case REBALANCE -> rebalance();
                    case START -> start();
                    case HEAR -> hear();
                    case CHANGE -> change();
                    case BAD_RULE -> badRule();
                    case COMPACT -> compact();
                    case KILL -> kill(random.nextInt(group.size()));
                    case KILL_AT_A_WRITE -> killAtAWrite(anyMember());
                    case KILL_IN_COMMIT -> killInCommit(anyMember());
                    case STALL_IN_COMMIT -> stallInCommit(anyMember());
                    case EXPEL -> expel(anyMember());
                    case TIME_OUT -> timeOut();
                    case FAIL -> fail(anyMember());
                    case STANDBY -> standBy();
                    case CLOCK -> clock();
                    case PAUSE -> pause();
                };
        if (what != null) {
            trace.add(nowMs, event.name().toLowerCase(Locale.ROOT) + " " + what);
            trace.count(event.name());
        }
    }

    /** Advances the time. All instances have read a policy change before it takes effect. */
    private void pass(long ms) {
        nowMs += ms;
        cluster.setTime(nowMs, leaderAheadMs);
        if (!changesFromMs.isEmpty() && changesFromMs.first() <= nowMs + LEAD_MS / 2) {
            hearAll();
        }
    }

    /**
     * Lets all instances read all policy changes. Open transactions that hide changes are aborted: changes are written
     * so early that such a transaction has timed out before they take effect.
     */
    private void hearAll() {
        changesFromMs.clear();
        List.copyOf(cluster.open()).stream()
                .filter(transaction -> transaction.writes(SimulatedTaskSlot.TOPICS.policies()))
                .forEach(cluster::abort);
        group.instances().forEach(instance -> {
            while (instance.readPolicy()) {}
        });
    }

    private GroupMember anyMember() {
        List<GroupMember> members = group.members();
        return members.isEmpty() ? null : members.get(random.nextInt(members.size()));
    }

    private String request() {
        if (producers.isOver()) {
            return null;
        }
        return "at " + send(producers.next(nowMs));
    }

    private String work() {
        return workers.next().map(sent -> "at " + send(sent)).orElse(null);
    }

    /** Writes a request, and returns its offset. */
    private long send(Sent sent) {
        long timestampMs = plan.traffic().createTimes()
                ? nowMs - random.nextInt(1 + plan.traffic().lateMs())
                : cluster.appendMs();
        String requests = SimulatedTaskSlot.TOPICS.requests();
        SimulatedPartition partition = sent.partition() == null
                ? cluster.outputPartition(requests, sent.key())
                : cluster.partition(requests, sent.partition());
        return partition
                .append(sent.key(), sent.value(), sent.headers(), timestampMs, null)
                .offset();
    }

    private String step() {
        GroupMember member = anyMember();
        if (member == null || member.isPrepared() || member.tasks.isEmpty()) {
            return null;
        }
        List<SimulatedTaskSlot> slots = List.copyOf(member.tasks.keySet());
        SimulatedTaskSlot slot = slots.get(random.nextInt(slots.size()));
        int steps = 0;
        for (int most = 1 + random.nextInt(6); steps < most && member.step(slot); ) {
            steps++;
        }
        return steps == 0 ? null : steps + " of " + member.tasks.get(slot);
    }

    private String punctuate(GroupMember member) {
        if (member == null || member.isPrepared()) {
            return null;
        }
        return member.punctuate() == 0 ? null : member.toString();
    }

    private void killed(GroupMember member) {
        group.kill(member.instance.number);
        String what = member.isFlushing() ? "KILLED_WHILE_FLUSHING" : "KILLED_WHILE_WRITING";
        trace.count(what);
        trace.add(nowMs, what.toLowerCase(Locale.ROOT) + " " + member);
    }

    private String commit(GroupMember member) {
        if (member == null || (!member.isPrepared() && !member.prepare())) {
            return fenced(member);
        }
        boolean wrote = member.transaction() != null;
        if (!member.commit()) {
            return fenced(member);
        }
        if (wrote) {
            checks.afterCommit(member);
        }
        return wrote ? member.toString() : null;
    }

    private String fenced(GroupMember member) {
        if (member != null) {
            trace.count("FENCED");
        }
        return member == null ? null : member + " is fenced";
    }

    private String open(SimulatedTaskSlot slot) {
        return group.open(slot) ? slot.toString() : null;
    }

    private String rebalance() {
        group.assign(random.nextBoolean());
        group.slots().forEach(slot -> {
            if (random.nextBoolean()) {
                group.open(slot);
            }
        });
        return "";
    }

    private String start() {
        int number = random.nextInt(group.size());
        return group.start(number) ? "instance " + number : null;
    }

    private String hear() {
        List<SimulatedInstance> instances = group.instances();
        if (instances.isEmpty()) {
            return null;
        }
        SimulatedInstance instance = instances.get(random.nextInt(instances.size()));
        return instance.readPolicy() ? instance.toString() : null;
    }

    private String change() {
        Long fromMs = plan.changesFromATime() && flaw != InjectedFlaw.CHANGES_AT_ONCE
                ? (Long) (nowMs + LEAD_MS + random.nextInt(1_000))
                : null;
        Rule rule = schedulePolicies.change(fromMs);
        if (rule == null) {
            return null;
        }
        append(rule);
        if (fromMs != null) {
            changesFromMs.add(fromMs);
        }
        return rule.key() + " from " + fromMs;
    }

    private String badRule() {
        Rule rule = schedulePolicies.bad();
        append(rule);
        return rule.key();
    }

    /** Compacts the policies topic, up to the offset that has been checked. */
    private String compact() {
        SimulatedPartition policies = cluster.partition(SimulatedTaskSlot.TOPICS.policies(), 0);
        int gone = policies.compact(cluster.committedOffset(SimulatedTaskSlot.SHAPING, policies));
        return gone == 0 ? null : gone + " records";
    }

    private void append(Rule rule) {
        byte[] key = rule.key().getBytes(StandardCharsets.UTF_8);
        cluster.partition(SimulatedTaskSlot.TOPICS.policies(), 0)
                .append(key, rule.value(), new RecordHeaders(), nowMs, null);
    }

    /** Sends a command to a queue at some events of some schedules. */
    private void command() {
        boolean isObeyed = flaw == InjectedFlaw.NONE || flaw == InjectedFlaw.PAUSES_IGNORED;
        if (isObeyed && operator.nextInt(EVENTS_A_COMMAND) == 0) {
            command(
                    SchedulePolicies.QUEUES.get(operator.nextInt(SchedulePolicies.QUEUES.size())),
                    COMMANDS.get(operator.nextInt(COMMANDS.size())));
        }
    }

    private void command(String queue, Action action) {
        QueueCommand.Origin origin = new QueueCommand.Origin(Optional.empty(), "by chance", nowMs);
        byte[] value = new QueueMessageCodec()
                .encode(new QueueMessage.Commanded(QueueCommand.of(queue, Map.of(), action, origin)));
        for (int partition = 0; partition < plan.size().queuePartitions(); partition++) {
            cluster.partition(SimulatedTaskSlot.TOPICS.admissions(), partition)
                    .append(null, value, new RecordHeaders(), cluster.appendMs(), null);
        }
        trace.add(nowMs, action + " " + queue);
        trace.count(action.name() + "_COMMAND");
    }

    private String kill(int number) {
        return group.kill(number) ? "instance " + number : null;
    }

    private String killAtAWrite(GroupMember member) {
        if (member == null) {
            return null;
        }
        int writes = random.nextInt(20);
        member.killAfter(writes);
        return member + " after " + writes;
    }

    private String killInCommit(GroupMember member) {
        if (member == null || !member.prepare()) {
            return fenced(member);
        }
        boolean isCommitted = random.nextBoolean() && member.commit();
        group.kill(member.instance.number);
        return member + (isCommitted ? " after the marker" : " before the marker");
    }

    private String stallInCommit(GroupMember member) {
        if (member == null || member.isPrepared() || !member.prepare()) {
            return null;
        }
        return member.toString();
    }

    private String expel(GroupMember member) {
        if (member == null) {
            return null;
        }
        group.expel(member);
        return member.toString();
    }

    private String timeOut() {
        List<SimulatedTransaction> open = cluster.open();
        if (open.isEmpty()) {
            return null;
        }
        cluster.abort(open.get(random.nextInt(open.size())));
        return "one of " + (1 + open.size());
    }

    private String fail(GroupMember member) {
        return member == null || member.isPrepared() ? null : member + (member.revive() ? " is revived" : " loses all");
    }

    private String standBy() {
        int number = random.nextInt(group.size());
        return group.standBy(number) ? "instance " + number : null;
    }

    private String clock() {
        int number = random.nextInt(group.size());
        group.setClock(number);
        leaderAheadMs = random.nextInt(SchedulePlan.MOST_LEADER_AHEAD_MS);
        return "of instance " + number;
    }

    private String pause() {
        pass(200 + random.nextInt(3_000));
        return "";
    }

    /** Ends all faults, and continues until no work is left. */
    private void drain() {
        for (int number = 0; number < group.size(); number++) {
            group.start(number);
        }
        group.members().forEach(GroupMember::liveOn);
        hearAll();
        SchedulePolicies.QUEUES.forEach(queue -> command(queue, Action.RESUME));
        for (int rounds = 0; !round(rounds < ROUNDS_OF_WORK); rounds++) {
            Violation.unless(rounds < MOST_EVENTS, Violation.Promise.DRAINS, checks::left);
        }
        for (long endMs = nowMs + 3 * SchedulePlan.MOST_TERM_MS; plan.shares() && nowMs < endMs; ) {
            round(false); // leases are returned or end
        }
    }

    /**
     * Runs one round of all members. Returns whether no work is left.
     *
     * @param isWorking whether workers process their jobs, and clients end reservations; otherwise all jobs are completed
     */
    private boolean round(boolean isWorking) {
        pass(20 + random.nextInt(80));
        for (GroupMember member : group.members()) {
            if (member.isExpelled) {
                member.loseAll();
            }
        }
        group.assign(false);
        group.slots().forEach(group::open);
        List.copyOf(cluster.open()).forEach(this::abortOrphan);
        group.members().forEach(this::work);
        for (int i = 0; isWorking && i < ANSWERS_A_ROUND; i++) {
            workers.next().ifPresent(this::send);
        }
        if (isWorking) {
            producers.late(nowMs).ifPresent(this::send);
        }
        for (Optional<Sent> done = isWorking ? Optional.empty() : workers.complete();
                done.isPresent();
                done = workers.complete()) {
            send(done.get());
        }
        checks.afterEvent();
        checks.takeReservations().forEach(producers::reserved);
        return checks.isAtRest() && group.slots().stream().allMatch(this::isRead);
    }

    private boolean isRead(SimulatedTaskSlot slot) {
        return slot.inputs(cluster).stream()
                .allMatch(input -> input.lastStable() == input.end()
                        && input.next(cluster.committedOffset(slot.role().group, input)) == null);
    }

    private void abortOrphan(SimulatedTransaction transaction) {
        if (group.members().stream().noneMatch(member -> member.transaction() == transaction)) {
            cluster.abort(transaction);
        }
    }

    private void work(GroupMember member) {
        if (!member.isPrepared()) {
            for (SimulatedTaskSlot slot : List.copyOf(member.tasks.keySet())) {
                while (member.step(slot)) {}
            }
            member.punctuate();
        }
        trace.add(nowMs, "drain " + member);
        commit(member);
    }
}
