package dev.weir.audit.shared;

import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.audit.history.ReservationHistory;
import dev.weir.audit.history.ReservationHistory.Reserved;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.LeaseUsage;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.limit.AlignedWindow;
import dev.weir.limit.Limit;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestRules;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Compares the sum of what was allowed of each shared quota, on all partitions and by leased clients, with its limits.
 *
 * <p>A reservation counts with its final cost at the time of its decision. Costs that a SETTLE charged, or with which it
 * exceeds an estimate, are left out, because they may exceed the limit. After a RESET, the sum starts again.
 * What was used until its ledger had certainly freed the usage is left out, too. {@link SlotSum} has the slots of limits of
 * concurrency.
 */
public final class SharedQuotaAudit {

    /** The maximum number of entries that are kept. Uses of the same millisecond, partition and key share an entry. */
    private static final int MAX_USES = 1_000_000;

    private static final Comparator<UsageInterval> BY_TIME = Comparator.comparingLong(UsageInterval::timeMs);

    private final WeirConfig config;
    private final PolicyTimeline rules;
    private final AuditRange range;
    private final AuditSummary totals;
    private final Consumer<Mismatch> mismatches;
    private final int maxUses;
    private final Map<StateKey, List<UsageInterval>> uses = new HashMap<>();
    private final ReservationHistory<Set<StateKey>> reservations = new ReservationHistory<>();
    private final Map<Refunded, Long> refunds = new HashMap<>();
    private final Map<StateKey, NavigableSet<Long>> resetsMs = new HashMap<>();
    private final Map<StateKey, List<SlotSum.SlotUse>> slots = new HashMap<>();
    private int useCount;
    private boolean isResetLost;

    /**
     * The decisions to which a refund belongs.
     *
     * @param atMs their time, ms since the epoch
     */
    private record Refunded(StateKey key, int partition, long atMs) {}

    /** @param differences receives each mismatch */
    public SharedQuotaAudit(
            WeirConfig config,
            PolicyTimeline rules,
            AuditRange range,
            AuditSummary totals,
            Consumer<Mismatch> differences) {
        this(config, rules, range, totals, differences, MAX_USES);
    }

    /** @param most the maximum number of entries */
    SharedQuotaAudit(
            WeirConfig config,
            PolicyTimeline rules,
            AuditRange range,
            AuditSummary totals,
            Consumer<Mismatch> differences,
            int most) {
        this.config = config;
        this.rules = rules;
        this.range = range;
        this.totals = totals;
        this.mismatches = differences;
        this.maxUses = most;
    }

    /**
     * Adds what a decision charged to shared quotas.
     *
     * @param place the position of the decision
     * @param shared the quotas
     * @param reserves whether the request creates a reservation if it is admitted
     */
    public void add(Request request, Decision decision, RecordPosition place, Set<StateKey> shared, boolean reserves) {
        if (decision.reason() == Reason.USAGE_RESET) {
            shared.forEach(key -> addReset(key, decision.decidedAtMs()));
        }
        if (ReservationHistory.isChange(request, decision)) {
            refund(request, decision, place.partition());
            return;
        }
        boolean takes = request.kind() == RequestKind.CONSUME && request.cost() > 0;
        if (decision.outcome() != Outcome.ALLOWED || decision.repeated() || !takes || shared.isEmpty()) {
            return;
        }
        Optional<Reserved<Set<StateKey>>> reserved = Optional.empty();
        if (reserves && useCount < maxUses) { // otherwise nothing is added that a refund could make smaller
            reserved = Optional.of(reservations.add(request, decision, shared));
            useCount++;
        }
        UsageInterval use = new UsageInterval(
                decision.decidedAtMs(),
                decision.decidedAtMs(),
                request.cost(),
                1,
                place.partition(),
                place.offset(),
                decision.source().offset());
        for (StateKey key : shared) {
            if (rules.everLimitsConcurrency(key.policyId())) {
                addSlots(key, reserved.map(held -> new SlotSum.SlotUse(use, request.timestampMs(), held)), use);
            } else {
                add(key, use);
            }
        }
    }

    private void addSlots(StateKey key, Optional<SlotSum.SlotUse> slotUse, UsageInterval use) {
        if (slotUse.isPresent() && useCount < maxUses) {
            slots.computeIfAbsent(key, k -> new ArrayList<>(1)).add(slotUse.get());
            useCount++;
        } else {
            addUnverified(use, UnverifiedReason.TOO_MANY_TO_SUM);
        }
    }

    /** Subtracts what a reservation did not need. */
    private void refund(Request request, Decision decision, int partition) {
        reservations.follow(request, decision).filter(Reserved::isEnded).ifPresent(reserved -> {
            reservations.remove(request);
            useCount--;
            long refund = reserved.estimate() - reserved.finalCost();
            if (refund > 0) {
                for (StateKey key : reserved.charged()) {
                    refunds.merge(new Refunded(key, partition, reserved.startMs()), refund, Long::sum);
                }
            }
        });
    }

    /** Returns a use without the refunds of its decisions. A refund of several uses is taken from the first ones. */
    private UsageInterval withoutRefunds(StateKey key, UsageInterval use) {
        Refunded refunded = new Refunded(key, use.partition(), use.timeMs());
        Long refund = use.isByClient() ? null : refunds.get(refunded);
        if (refund == null) {
            return use;
        }
        long taken = Math.min(refund, use.cost());
        refunds.put(refunded, refund - taken);
        return use.withCost(use.cost() - taken);
    }

    private void addReset(StateKey key, long atMs) {
        isResetLost |= useCount >= maxUses;
        if (!isResetLost && resetsMs.computeIfAbsent(key, k -> new TreeSet<>()).add(atMs)) {
            useCount++;
        }
    }

    /**
     * Adds the usage that a leased client reports.
     *
     * @param timestampMs the timestamp of the report, ms since the epoch
     */
    void add(LeaseUsage usage, RecordPosition place, long timestampMs) {
        LeaseUsage.Amount amount = usage.amount();
        UsageInterval use = new UsageInterval(
                usage.sinceMs(),
                usage.untilMs(),
                amount.cost(),
                amount.requests(),
                place.partition(),
                place.offset(),
                Request.Source.NONE.offset());
        String fault = fault(usage);
        String policyId = usage.policy().id();
        Set<StateKey> keys = rules.leasedKeys(policyId, usage.key());
        if (fault == null && keys.isEmpty() && !rules.lacksHistory(policyId)) {
            fault = "policy " + policyId + " never granted leases to clients by the key "
                    + new TreeSet<>(usage.key().keySet());
        }
        if (fault != null && range.contains(timestampMs)) {
            LeaseUsage.Origin origin = usage.origin();
            String note = "%s; report %d of holder %s, lease %d"
                    .formatted(fault, origin.number(), origin.holder(), origin.leaseId());
            totals.add(Kind.DIFFERS);
            mismatches.accept(new Mismatch(Kind.DIFFERS, null, place, null, null, List.of(), note));
        }
        if (fault != null || amount.cost() == 0) {
            return;
        }
        if (keys.size() == 1) {
            add(keys.iterator().next(), use);
        } else {
            addUnverified(
                    use, keys.isEmpty() ? UnverifiedReason.POLICY_NOT_RETAINED : UnverifiedReason.AMBIGUOUS_VERSION);
        }
    }

    /** Reports a usage record that cannot be read. */
    void unreadable(RecordPosition place, long timestampMs, UnreadableException e) {
        if (range.contains(timestampMs)) {
            totals.add(Kind.UNREADABLE);
            mismatches.accept(new Mismatch(Kind.UNREADABLE, null, place, null, null, List.of(), e.getMessage()));
        }
    }

    /** Returns the fault of a report, apart from its key; null if there is none. */
    private String fault(LeaseUsage usage) {
        String id = usage.policy().id();
        long version = usage.policy().version();
        LeaseUsage.Amount amount = usage.amount();
        if (!rules.hasVersion(id, version) && !rules.lacksHistory(id, version)) {
            return "policy " + id + " never had version " + version;
        } else if (usage.sinceMs() > usage.untilMs()) {
            return "its field since is after its field until";
        } else if (usage.sinceMs() < 0 || usage.untilMs() > RequestRules.MAX_TIMESTAMP_MS) {
            return "its times must be between 1970 and 9999";
        }
        boolean isCounted = Stream.of(amount.cost(), amount.requests(), amount.denied())
                .allMatch(count -> count >= 0 && count <= Limit.MAX_LEVEL);
        return isCounted ? null : "its counts must be between 0 and " + Limit.MAX_LEVEL;
    }

    private void add(StateKey key, UsageInterval use) {
        List<UsageInterval> ofKey = uses.get(key);
        if (ofKey == null && useCount < maxUses) {
            ofKey = new ArrayList<>(1);
            uses.put(key, ofKey);
        }
        UsageInterval last = ofKey == null || ofKey.isEmpty() ? null : ofKey.get(ofKey.size() - 1);
        if (last != null && canMerge(last, use)) {
            long cost = Math.min(Limit.MAX_LEVEL, last.cost() + use.cost());
            ofKey.set(
                    ofKey.size() - 1,
                    new UsageInterval(
                            use.sinceMs(),
                            use.timeMs(),
                            cost,
                            last.decisions() + use.decisions(),
                            use.partition(),
                            use.decisionOffset(),
                            use.requestOffset()));
        } else if (useCount < maxUses) {
            ofKey.add(use);
            useCount++;
        } else {
            addUnverified(use, UnverifiedReason.TOO_MANY_TO_SUM);
        }
    }

    private static boolean canMerge(UsageInterval last, UsageInterval use) {
        return last.timeMs() == use.timeMs()
                && last.sinceMs() == use.sinceMs()
                && last.partition() == use.partition()
                && !last.isByClient()
                && !use.isByClient();
    }

    private void addUnverified(UsageInterval use, UnverifiedReason reason) {
        if (range.contains(use.timeMs())) {
            totals.add(reason, use.decisions());
        }
    }

    /** Verifies the sums, after all partitions have been read. */
    public void verify() {
        uses.forEach((key, taken) -> {
            taken.sort(BY_TIME);
            taken.replaceAll(use -> withoutRefunds(key, use));
            if (isResetLost) {
                taken.forEach(use -> addUnverified(use, UnverifiedReason.TOO_MANY_TO_SUM));
            } else {
                verify(key, taken, rules.periods(key.policyId(), settledMs()));
            }
        });
        slots.forEach((key, taken) -> {
            if (isResetLost) {
                taken.forEach(slot -> addUnverified(slot.use(), UnverifiedReason.TOO_MANY_TO_SUM));
            } else {
                verifySlots(key, taken, rules.periods(key.policyId(), settledMs()));
            }
        });
        uses.clear();
        slots.clear();
        refunds.clear();
        resetsMs.clear();
    }

    /** Returns how long after a change of a limit or its usage leases from before are in use. */
    private long settledMs() {
        return range.policyLag().toMillis() + config.leases().terms().termMs();
    }

    private void verify(StateKey key, List<UsageInterval> taken, List<PolicyTimeline.Period> periods) {
        int next = 0;
        for (PolicyTimeline.Period period : periods) {
            for (; next < taken.size() && taken.get(next).timeMs() < period.fromMs(); next++) {
                addUnverified(taken.get(next), UnverifiedReason.LIMIT_CHANGED);
            }
            int from = next;
            while (next < taken.size() && taken.get(next).timeMs() < period.untilMs()) {
                next++;
            }
            verify(key, taken.subList(from, next), period);
        }
        taken.subList(next, taken.size()).forEach(use -> addUnverified(use, UnverifiedReason.LIMIT_CHANGED));
    }

    private void verify(StateKey key, List<UsageInterval> taken, PolicyTimeline.Period period) {
        List<UsageReplay> counts = List.of();
        Set<UsageReplay> above = new HashSet<>();
        NavigableSet<Long> resets = resetsMs.getOrDefault(key, new TreeSet<>());
        Long lastResetMs = null;
        for (UsageInterval use : taken) {
            Long resetMs = resets.floor(use.timeMs());
            if (!Objects.equals(resetMs, lastResetMs)) {
                lastResetMs = resetMs;
                counts = List.of();
                above.clear();
            }
            if (use.sinceMs() < period.fromMs() || (resetMs != null && use.sinceMs() < resetMs + settledMs())) {
                addUnverified(use, UnverifiedReason.LIMIT_CHANGED);
                continue;
            }
            counts = counts.isEmpty() ? open(period.policy(), use.timeMs()) : counts;
            boolean isJudged = range.contains(use.timeMs());
            boolean isTold = true;
            for (UsageReplay count : counts) {
                if (!count.canCharge(use)) {
                    isTold = false;
                    continue;
                }
                BigInteger used = count.charge(use);
                if (!count.exceeds(used)) {
                    above.remove(count);
                } else if (above.add(count) && isJudged) {
                    reportExceeded(key, period.policy(), count.label(), count.limit(), used, use);
                }
            }
            if (!isTold) {
                addUnverified(use, UnverifiedReason.TIME_UNKNOWN);
            } else if (isJudged) {
                totals.addSummed(use.decisions(), use.isByClient());
            }
        }
    }

    private void verifySlots(StateKey key, List<SlotSum.SlotUse> taken, List<PolicyTimeline.Period> periods) {
        taken.sort(Comparator.comparingLong(slots -> slots.use().timeMs()));
        NavigableSet<Long> resets = resetsMs.getOrDefault(key, new TreeSet<>());
        SlotSum sum = new SlotSum();
        Long lastResetMs = null;
        boolean wasAbove = false;
        int next = 0;
        for (SlotSum.SlotUse slots : taken) {
            long atMs = slots.use().timeMs();
            Long resetMs = resets.floor(atMs);
            if (!Objects.equals(resetMs, lastResetMs)) {
                lastResetMs = resetMs;
                sum.clear();
            }
            for (; next < periods.size() && periods.get(next).untilMs() <= atMs; next++) {
                if (!periods.get(next).policy().limitsConcurrency()) {
                    sum.clear();
                }
            }
            boolean isSettled = next < periods.size()
                    && periods.get(next).fromMs() <= atMs
                    && periods.get(next).policy().limitsConcurrency()
                    && (resetMs == null || atMs >= resetMs + settledMs());
            if (!isSettled) {
                addUnverified(slots.use(), UnverifiedReason.LIMIT_CHANGED);
                continue;
            }
            Policy policy = periods.get(next).policy();
            Policy.Term term = policy.terms().get(policy.tightestIndex());
            long inUse = sum.add(slots);
            boolean isAbove = inUse > term.limit().capacity();
            if (range.contains(atMs)) {
                totals.addSummed(1, false);
                if (isAbove && !wasAbove) {
                    reportExceeded(key, policy, term.label(), term.limit(), BigInteger.valueOf(inUse), slots.use());
                }
            }
            wasAbove = isAbove;
        }
    }

    private List<UsageReplay> open(Policy policy, long atMs) {
        long termMs = config.leases().terms().termMs();
        return policy.terms().stream()
                .map(term -> new UsageReplay(term, termMs, atMs))
                .toList();
    }

    private void reportExceeded(
            StateKey key, Policy policy, String label, Limit<?> limit, BigInteger used, UsageInterval use) {
        StringBuilder note = new StringBuilder("policy ").append(policy.id());
        for (int i = 0; i < key.namesAndValues().size(); i += 2) {
            note.append(i == 0 ? " of " : ", ")
                    .append(key.namesAndValues().get(i))
                    .append(' ')
                    .append(key.namesAndValues().get(i + 1));
        }
        note.append(": ").append(used).append(" of ").append(limit.capacity());
        note.append(" by ").append(label).append(" at ").append(Instant.ofEpochMilli(use.timeMs()));
        if (limit instanceof AlignedWindow window) {
            long startMs = window.startMs(use.timeMs());
            note.append(", in the window from ").append(Instant.ofEpochMilli(startMs));
        }
        totals.add(Kind.ABOVE_SHARED_LIMIT);
        mismatches.accept(new Mismatch(
                Kind.ABOVE_SHARED_LIMIT,
                use.isByClient() ? null : new Request.Source(use.partition(), use.requestOffset()),
                new RecordPosition(
                        use.isByClient() ? AuditedTopic.LEASE_USAGE : AuditedTopic.DECISIONS,
                        use.partition(),
                        use.decisionOffset()),
                null,
                null,
                List.of(),
                note.toString()));
    }
}
