package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.ACCOUNTED_FOR;
import static dev.weir.simulation.schedule.Violation.Promise.NEVER_ABOVE;

import dev.weir.audit.history.ReservationHistory;
import dev.weir.audit.history.ReservationHistory.Reserved;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.ledger.Ledger;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.MapSegments;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.cluster.SimulatedTaskSlot;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.ScheduleTrace;
import dev.weir.simulation.schedule.Violation;
import dev.weir.storage.codec.LeaseCodec;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseResponseAvro;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Bytes;

/**
 * The check of leases. It adds up the use of each shared limit by all clients, at the times of the decisions, and
 * compares it with the limit: the highest one, if the limit changed. A reservation counts with its final cost; what it
 * really cost above its estimate is settled. At the end, all leases must have ended. The ledger
 * of a window that is not over must then have charged what was used and settled, but no more than was lent and settled,
 * and no more than the limit plus its {@code max-debt}.
 */
final class LeaseCheck {

    /** The amounts of one key. */
    private static final class Sum {
        final List<Reserved<List<StateKey>>> reserved = new ArrayList<>();
        final List<AdmittedUse> uses = new ArrayList<>(); // by other requests
        long used;
        long lent;
        long settled;
    }

    /** The maximum term of a lease. Slow responses make terms longer. */
    private static final long MOST_TERM_MS =
            LeaseTerms.DEFAULTS.withRoundTrip(LeaseTerms.MAX_ROUND_TRIP_MS).termMs() + LeaseTerms.DEFAULTS.graceMs();

    private final SchedulePolicies schedulePolicies;
    private final ScheduleTrace trace;
    private final Map<StateKey, Sum> sums = new HashMap<>();
    private final ReservationHistory<List<StateKey>> reservations = new ReservationHistory<>();

    LeaseCheck(SchedulePolicies schedulePolicies, ScheduleTrace trace) {
        this.schedulePolicies = schedulePolicies;
        this.trace = trace;
    }

    private Sum sum(StateKey key) {
        return sums.computeIfAbsent(key, one -> new Sum());
    }

    /** @param committed the records that were committed since the last check */
    void check(List<Entry> committed) {
        for (Entry entry : committed) {
            if (entry.partition().topic.equals(SimulatedTaskSlot.TOPICS.leaseResponses())) {
                LeaseResponseAvro.Addressed answer = DecisionCheck.read(
                        () -> new LeaseResponseAvro().decode(entry.value(), entry.partition().number));
                trace.count(answer.response() instanceof LeaseResponse.Granted ? "LENT" : "NOT_LENT");
                if (answer.response() instanceof LeaseResponse.Granted granted) {
                    sum(KeyCodec.decode(entry.key())).lent += granted.amount();
                }
            }
        }
    }

    /**
     * Records a recomputed decision.
     *
     * @param nowMs the time of the decision by the machine's clock
     * @param isExact whether all clocks are equal; otherwise the time of an admission's charges is unknown
     */
    void answered(Request request, DecisionResult result, PolicyTable policies, long nowMs, boolean isExact) {
        Decision decision = result instanceof Decision decided ? decided : null;
        if (request.isForReservation()) {
            ended(request, decision);
            return;
        }
        List<StateKey> reserving = new ArrayList<>();
        for (Policy policy : policies.applicable(request)) {
            if (policy.isShared() && request.kind() != RequestKind.CANCEL) {
                trace.count("SHARED_"
                        + (decision == null ? "SHAPED" : decision.outcome().name()));
                if (decision != null && decision.outcome() == Outcome.ALLOWED && !decision.repeated()) {
                    if (request.kind() == RequestKind.CONSUME && request.reserveMs() != null) {
                        reserving.add(policy.stateKey(request));
                    } else {
                        count(policy.stateKey(request), request, decision.decidedAtMs());
                    }
                } else if (result instanceof Admission admission && !admission.repeated() && isExact) {
                    if (!policy.id().equals(admission.policy().id()) || admission.exceeded() == null) {
                        count(policy.stateKey(request), request, nowMs);
                    }
                }
            }
        }
        if (!reserving.isEmpty()) {
            Reserved<List<StateKey>> reserved = reservations.add(request, decision, reserving);
            for (StateKey key : reserving) {
                trace.count("SHARED_RESERVED");
                Sum sum = sum(key);
                sum.used += request.cost();
                sum.reserved.add(reserved);
                check(key, sum);
            }
        }
    }

    /** Corrects the cost of a reservation of shared limits. */
    private void ended(Request request, Decision decision) {
        if (!ReservationHistory.isChange(request, decision)) {
            return;
        }
        reservations.follow(request, decision).filter(Reserved::isEnded).ifPresent(reserved -> {
            long refund = reserved.estimate() - reserved.finalCost();
            if (refund > 0) {
                trace.count("SHARED_REFUNDED");
            }
            for (StateKey key : reserved.charged()) {
                sum(key).used -= refund;
                sum(key).settled += reserved.excess();
            }
        });
    }

    private void count(StateKey key, Request request, long atMs) {
        Sum sum = sum(key);
        if (request.kind() == RequestKind.SETTLE) {
            Violation.unless(request.cost() >= 0, NEVER_ABOVE, () -> key + " is refunded by " + request);
            sum.settled += request.cost();
        } else if (request.kind() == RequestKind.CONSUME && request.cost() > 0) {
            sum.used += request.cost();
            sum.uses.add(new AdmittedUse(atMs, request.cost()));
            check(key, sum);
        }
    }

    private void check(StateKey key, Sum sum) {
        List<AdmittedUse> uses = new ArrayList<>(sum.uses);
        sum.reserved.forEach(reserved -> uses.add(new AdmittedUse(reserved.startMs(), reserved.finalCost())));
        for (Policy.Term term : schedulePolicies.mostLenient(key.policyId()).terms()) {
            Limit<?> limit = term.limit();
            Optional<String> excess = AdmittedUse.excess(LimitAccount.open(limit, 0), limit.capacity(), uses);
            if (excess.isPresent()) {
                throw new Violation(NEVER_ABOVE, key + ", " + term.label() + ": " + excess.get() + ", of " + uses);
            }
        }
    }

    /**
     * Checks the ledgers when all leases have ended.
     *
     * @param nowMs a time later than that of any clock
     */
    void atEnd(Map<Bytes, byte[]> ledgers, long nowMs) {
        ledgers.forEach((bytes, stored) -> {
            StateKey key = KeyCodec.decode(bytes.get());
            Ledger ledger = LeaseCodec.decodeLedger(stored, logId -> new MapSegments())
                    .ledger()
                    .advancedTo(nowMs + MOST_TERM_MS);
            Violation.unless(
                    ledger.lent() == 0, ACCOUNTED_FOR, () -> key + " has outstanding leases: " + ledger.leases());
            if (key.policyId().equals(SchedulePolicies.HOUR)) {
                checkCharged(key, ledger.accounts().get(0).used(nowMs));
            }
        });
    }

    /**
     * Checks the amount charged. A settlement is charged in full unless twice the limit is in use and lent. What is
     * lent was at most the highest limit, so the rest of it is in use for the whole window.
     */
    private void checkCharged(StateKey key, long charged) {
        Sum sum = sum(key);
        long highest = schedulePolicies.mostLimit(SchedulePolicies.HOUR);
        long surelyInUse = 2L * schedulePolicies.leastLimit(SchedulePolicies.HOUR) - highest;
        long least = Math.max(sum.used, Math.min(sum.used + sum.settled, surelyInUse));
        long most = Math.min(sum.lent + sum.settled, 2 * highest);
        if (charged < least || charged > most) {
            throw new Violation(
                    ACCOUNTED_FOR,
                    "%s is charged %d, must be %d to %d: %d were used, %d settled and at most %d lent"
                            .formatted(key, charged, least, most, sum.used, sum.settled, sum.lent));
        }
        trace.count(charged == sum.used + sum.settled ? "CHARGED_AS_USED" : "CHARGED_OTHERWISE");
        trace.count(sum.settled > 2 * highest ? "SETTLED_BEYOND_DEBT" : "SETTLED_WITHIN_DEBT");
    }
}
