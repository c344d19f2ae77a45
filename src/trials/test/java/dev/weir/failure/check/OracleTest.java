package dev.weir.failure.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.CoreEvidence.Load;
import dev.weir.failure.check.Evidence.Dead;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.failure.load.FailureWorkload;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that each invariant holds for a run without failures, and is violated if the records are tampered with. */
@Tag("full")
class OracleTest {

    private static final DecisionCodec DECISIONS = new DecisionCodec();
    private static final ReleaseCodec RELEASES = new ReleaseCodec();
    private static final int REQUESTS = 20_000;
    private static final long FIRST_CHANGE_MS = 3_000;

    private static Evidence good;
    /** A run with routed requests, which are decided up to 200 ms later than requests written at the same time. */
    private static Evidence misplaced;

    private Evidence evidence;

    @BeforeAll
    static void run() throws Exception {
        good = CoreEvidence.of(
                1, REQUESTS, List.of(FIRST_CHANGE_MS, 3_200L, 3_500L, 3_800L, 4_100L, 4_500L, 4_800L), Load.routing(0));
        misplaced =
                CoreEvidence.of(1, 10_000, List.of(300L, 700L, 900L, 1_200L, 1_500L, 1_900L, 2_300L), Load.routing(30));
    }

    @BeforeEach
    void copy() {
        evidence = copy(good);
    }

    private static Evidence copy(Evidence of) {
        return new Evidence(
                of.config(),
                new ArrayList<>(of.requests()),
                copy(of.decisions()),
                copy(of.releases()),
                new ArrayList<>(of.deadLetters()),
                new ArrayList<>(of.rules()));
    }

    private static TopicRecords<Entry> copy(TopicRecords<Entry> of) {
        return new TopicRecords<>(new ArrayList<>(of.committed()), new ArrayList<>(of.aborted()));
    }

    @Test
    void a_run_without_failures_satisfies_all_invariants() {
        List<Breach> findings = Oracle.check(evidence);
        assertThat(findings).hasSize(11).allMatch(Breach::isOk);
        Set<Reason> reasons = new HashSet<>();
        evidence.decisions()
                .committed()
                .forEach(entry -> reasons.add(entry.decision().reason()));
        assertThat(reasons)
                .as("all but NO_QUEUE, which needs instances that disagree, and NO_QUEUE_KEY, as each has a client")
                .contains(
                        Reason.WITHIN_LIMITS,
                        Reason.THROTTLED,
                        Reason.NO_POLICY,
                        Reason.SETTLED,
                        Reason.LIMIT_EXCEEDED,
                        Reason.TOO_LARGE,
                        Reason.SHAPED,
                        Reason.QUEUE_FULL,
                        Reason.TOO_LATE,
                        Reason.EVICTED,
                        Reason.WAITED_TOO_LONG,
                        Reason.CANCELLED,
                        Reason.NOT_WAITING);
        assertThat(evidence.deadLetters()).isNotEmpty();
    }

    @Test
    void runs_of_other_seeds_satisfy_all_invariants() throws Exception {
        for (int seed = 2; seed < 4; seed++) {
            Evidence other = CoreEvidence.of(
                    seed, 10_000, List.of(300L, 700L, 900L, 1_200L, 1_500L, 1_900L, 2_300L), Load.routing(0));
            assertThat(Oracle.check(other)).as("seed %d", seed).allMatch(Breach::isOk);
        }
    }

    /** Each seed has a request that an earlier form of the check took for an excess. */
    @ParameterizedTest
    @CsvSource({
        "100,  10, 800,   3", // decided under an earlier version, after a request under a later one that charged
        // nothing
        "100,  10, 800,  14",
        "1000, 15, 3000, 201", // delayed, and a SETTLE was charged before its start
        "1000, 15, 3000, 238", // refilled in steps that began with a refund
        "300,  30, 6000, 163", // observed, after a request that went to a queue
        "300,  30, 6000, 168",
    })
    void requests_that_are_decided_seconds_late_are_no_excess(
            int perSecond, int misplacedPercent, int maxRouting, long seed) throws Exception {
        int count = 12_000;
        List<Long> changesMs = LongStream.rangeClosed(1, 8)
                .map(i -> i * count * 1_000L / perSecond / 9)
                .boxed()
                .toList();
        Load load = new Load(perSecond, misplacedPercent, maxRouting, false);
        assertThat(excesses(CoreEvidence.of(seed, count, changesMs, load))).isEmpty();
    }

    @Test
    void misplaced_requests_are_checked_in_the_order_of_their_decisions() {
        assertThat(misplaced.misplaced()).isGreaterThan(2_000);
        List<Breach> findings = Oracle.check(misplaced);
        assertThat(findings).allMatch(Breach::isOk);
        assertThat(findings.get(6).counts())
                .hasEntrySatisfying("decisions", count -> assertThat(count).isGreaterThan(300));
    }

    @Test
    void an_admission_above_the_limit_of_the_request_is_found() {
        assertThat(checkLimits(evidence).isOk()).isTrue();
        int index = indexOf(decision -> decision.reason() == Reason.LIMIT_EXCEEDED
                && List.of("pages", "payments").contains(decision.policyId())
                && decision.limit() > 15
                && !decision.repeated()
                && !isPeek(decision));
        change(index, decision -> with(decision, Outcome.ALLOWED, false, decision.remaining()));
        Breach found = checkLimits(evidence);
        assertThat(found.isOk()).isFalse();
    }

    @Test
    void an_excess_admission_of_a_misplaced_request_is_found() {
        evidence = copy(misplaced);
        int index = indexOf(decision -> decision.reason() == Reason.LIMIT_EXCEEDED
                && List.of("platinum", "free", "steps", "commercial").contains(decision.policyId())
                && decision.context().order() != null
                && !isPeek(decision));
        change(index, decision -> with(decision, Outcome.ALLOWED, false, decision.remaining()));
        Decision admitted = evidence.decisions().committed().get(index).decision();
        assertThat(checkLimits(evidence).faults()).anyMatch(fault -> fault.startsWith(Oracle.at(admitted.source())));
    }

    @Test
    void a_different_aborted_decision_is_found_unless_the_order_of_routed_requests_differs() {
        evidence = copy(misplaced);
        DecisionsByRequest answers = new DecisionsByRequest(evidence.decisions().committed());
        RecordedOrder order = new RecordedOrder(evidence, answers, Set.of());
        Entry routed = anyAborted(entry -> entry.decision().context().order() != null
                && order.isSame(
                        entry, answers.to(entry.decision().source()).get(0).decision())
                && evidence.decisions().aborted().stream().anyMatch(other -> isLater(other, entry)));
        int index = evidence.decisions().aborted().indexOf(anyAborted(entry -> isLater(entry, routed)));
        Entry entry = evidence.decisions().aborted().get(index);
        Decision other =
                with(entry.decision(), Outcome.ALLOWED, false, entry.decision().remaining() + 1);
        evidence.decisions()
                .aborted()
                .set(
                        index,
                        new Entry(
                                entry.partition(),
                                entry.offset(),
                                entry.timestampMs(),
                                null,
                                DECISIONS.encode(
                                        other.withContext(entry.decision().context()))));
        assertThat(only("7 seen-twice-alike").faults())
                .singleElement()
                .asString()
                .startsWith(Oracle.at(other.source()));
        evidence.decisions().aborted().remove(routed);
        assertThat(Oracle.check(evidence)).allMatch(Breach::isOk);
    }

    @Test
    void a_misplaced_request_that_overtakes_another_is_found() {
        evidence = copy(misplaced);
        int first = indexOf(decision -> decision.context().order() != null);
        Decision one = evidence.decisions().committed().get(first).decision();
        int second = indexOf(decision -> decision.context().order() != null
                && decision.client().equals(one.client())
                && decision.source().partition() == one.source().partition()
                && decision.source().offset() > one.source().offset());
        Decision other = evidence.decisions().committed().get(second).decision();
        change(first, decision -> decision, other.context());
        change(second, decision -> decision, one.context());
        assertThat(Oracle.check(evidence).get(0).faults())
                .singleElement()
                .asString()
                .startsWith(Oracle.at(one.source()));
    }

    private Entry anyAborted(Predicate<Entry> like) {
        return evidence.decisions().aborted().stream()
                .filter(entry -> entry.decision().remaining() != null && like.test(entry))
                .findFirst()
                .orElseThrow();
    }

    /** Returns whether a decision is a later one of the same client. */
    private static boolean isLater(Entry entry, Entry than) {
        return entry.offset() > than.offset()
                && entry.decision().queueing() == null
                && entry.decision().remaining() != null
                && entry.decision().client().equals(than.decision().client());
    }

    @Test
    void a_finding_prints_a_line_and_its_first_faults() {
        Breach.Notes notes = new Breach.Notes("1 decided-once", "requests", "dead letters");
        notes.count("requests", 123_456);
        assertThat(notes.done()).hasToString("1 decided-once: 123,456 requests, 0 dead letters: ok");
        for (int i = 1; i <= 1_234; i++) {
            notes.fault("fault " + i);
        }
        assertThat(notes.done().toString().lines())
                .hasSize(11)
                .startsWith("1 decided-once: 123,456 requests, 0 dead letters: 1,234 FAULTS", "    fault 1");
    }

    @Test
    void a_lost_decision_is_found() {
        Entry lost = evidence.decisions().committed().remove(indexOf(decision -> decision.queueing() == null));
        assertThat(only("1 decided-once").faults())
                .singleElement()
                .asString()
                .contains(Oracle.at(lost.decision().source()), "UNDECIDED");
    }

    @Test
    void a_lost_dead_letter_is_found() {
        Dead lost = evidence.deadLetters().remove(0);
        assertThat(only("1 decided-once").faults()).singleElement().asString().contains(Oracle.at(lost.source()));
    }

    @ParameterizedTest
    @EnumSource(names = {"LIMIT_EXCEEDED", "RELEASED", "SETTLED"})
    void a_decision_committed_twice_is_found(Reason reason) {
        int first = indexOf(decision -> decision.reason() == reason);
        Entry entry = evidence.decisions().committed().get(first);
        long offset = REQUESTS * 2L; // after all others
        evidence.decisions()
                .committed()
                .add(new Entry(entry.partition(), offset, entry.timestampMs(), entry.key(), entry.value()));
        assertThat(faulty()).contains("1 decided-once");
    }

    @Test
    void a_decision_without_a_request_is_found() {
        evidence.requests().remove(evidence.requests().size() - 1);
        assertThat(faulty()).contains("1 decided-once");
    }

    @Test
    void a_changed_field_is_found() {
        int index = indexOf(decision -> decision.remaining() != null && decision.remaining() > 0);
        change(index, decision -> with(decision, decision.outcome(), decision.observed(), decision.remaining() - 1));
        evidence.decisions().aborted().clear();
        assertThat(only("2 as-recomputed").faultCount()).isEqualTo(1);
    }

    @Test
    void a_missing_policy_change_is_found() {
        evidence.rules().removeIf(version -> version.version() == 2);
        assertThat(faulty()).contains("2 as-recomputed");
    }

    /**
     * An excess admission, for each algorithm and {@code on-exceed} action, under the initial policies. The limit is
     * exceeded by it, or by a delayed request that starts later.
     */
    @ParameterizedTest
    @CsvSource({
        "free, token-bucket",
        "academic, gcra",
        "commercial, sliding-window-log",
        "commercial, leaky-bucket",
        "gold, sliding-window-counter",
        "platinum, leaky-bucket",
        "steps, token-bucket",
        "hammered, sliding-window-log",
        "pages, sliding-window-counter",
        "payments, fixed-window",
        "exports, gcra",
        "robots, token-bucket"
    })
    void an_excess_admission_is_found(String policy, String algorithm) {
        int index = indexOf(decision -> policy.equals(decision.policyId())
                && decision.reason() == Reason.LIMIT_EXCEEDED
                && decision.limitedBy().startsWith(algorithm)
                && !decision.repeated()
                && !isPeek(decision)
                && decision.decidedAtMs() < CoreEvidence.START_MS + FIRST_CHANGE_MS);
        change(index, decision -> with(decision, Outcome.ALLOWED, false, decision.remaining()));
        assertThat(excesses()).anyMatch(fault -> fault.contains("policy " + policy + " ") && fault.contains(algorithm));
    }

    @Test
    void a_charge_that_an_observing_policy_would_have_denied_is_found() {
        int index = indexOf(decision -> decision.observedBy().contains("trial")
                && decision.outcome() == Outcome.ALLOWED
                && !decision.repeated()
                && !isPeek(decision)
                && decision.decidedAtMs() < CoreEvidence.START_MS + FIRST_CHANGE_MS);
        change(index, decision -> decision.withObservedBy(List.of()));
        assertThat(excesses()).anyMatch(fault -> fault.contains("policy trial "));
    }

    private List<String> excesses() {
        return excesses(evidence);
    }

    private static List<String> excesses(Evidence of) {
        return checkLimits(of).faults();
    }

    private static Breach checkLimits(Evidence of) {
        return LimitInvariant.check(ordered(of), new PolicyVersionHistory(of.rules()));
    }

    private static OrderedDecisions ordered(Evidence of) {
        return OrderedDecisions.of(
                of, new DecisionsByRequest(of.decisions().committed()), new PolicyVersionHistory(of.rules()));
    }

    private Breach reservations() {
        return ReservationInvariant.check(ordered(evidence), new PolicyVersionHistory(evidence.rules()))
                .get(0);
    }

    private Breach settlement() {
        return ReservationInvariant.check(ordered(evidence), new PolicyVersionHistory(evidence.rules()))
                .get(1);
    }

    @Test
    void reservations_of_a_run_end_in_every_way() {
        assertThat(reservations().isOk()).isTrue();
        assertThat(settlement().isOk()).isTrue();
        Map<String, Long> counts = new HashMap<>(reservations().counts());
        counts.putAll(settlement().counts());
        assertThat(counts)
                .allSatisfy((what, count) -> assertThat(count).as(what).isPositive());
    }

    @Test
    void a_slot_above_the_limit_is_found() {
        change(
                indexOf(decision -> "seats".equals(decision.policyId())
                        && decision.reason() == Reason.LIMIT_EXCEEDED
                        && !isPeek(decision)),
                decision -> with(decision, Outcome.ALLOWED, false, decision.remaining())
                        .withReservedUntilMs(decision.decidedAtMs() + 3_000));
        assertThat(reservations().faults()).anyMatch(fault -> fault.contains("slots are in use"));
    }

    @ParameterizedTest
    @CsvSource({"held-tokens", "held-budget", "held-log", "held-gcra"})
    void a_charge_above_what_was_refunded_is_found(String policy) {
        List<Integer> denials = IntStream.range(
                        0, evidence.decisions().committed().size())
                .filter(i -> {
                    Decision decision = evidence.decisions().committed().get(i).decision();
                    return policy.equals(decision.policyId())
                            && decision.reason() == Reason.LIMIT_EXCEEDED
                            && !isPeek(decision);
                })
                .boxed()
                .toList();
        assertThat(denials).isNotEmpty();
        denials.forEach(i -> change(i, decision -> with(decision, Outcome.ALLOWED, false, decision.remaining())));
        assertThat(settlement().faults()).anyMatch(fault -> fault.startsWith("policy " + policy));
    }

    @Test
    void an_end_that_is_lost_is_found() {
        change(
                indexOf(decision -> decision.reason() == Reason.RELEASED && !decision.repeated()),
                decision -> reason(decision, Reason.NOTHING_RESERVED, false));
        assertThat(reservations().faults()).anyMatch(fault -> fault.contains("but its reservation is open"));
    }

    @Test
    void a_reservation_that_ends_twice_is_found() {
        change(
                indexOf(decision -> decision.reason() == Reason.SETTLED && decision.repeated()),
                decision -> reason(decision, Reason.SETTLED, false));
        assertThat(reservations().faults()).singleElement().asString().contains("but no reservation is open");
    }

    @Test
    void a_request_that_is_charged_again_while_its_reservation_is_open_is_found() {
        change(
                indexOf(decision -> decision.client().startsWith("holder-")
                        && decision.reason() == Reason.WITHIN_LIMITS
                        && decision.repeated()),
                decision -> reason(decision, Reason.WITHIN_LIMITS, false));
        assertThat(reservations().faults()).anyMatch(fault -> fault.contains("is admitted again"));
    }

    private static Decision reason(Decision decision, Reason reason, boolean isRepeated) {
        return decision.withStatus(new Decision.Status(
                decision.outcome(), reason, decision.httpStatus(), decision.observed(), false, isRepeated));
    }

    @Test
    void a_missing_release_leaves_a_gap() {
        evidence.releases().committed().remove(200);
        assertThat(faulty()).contains("4 queued-ended-once", "5 sequences-gap-free");
    }

    @Test
    void a_duplicate_release_is_found() {
        Release release = evidence.releases().committed().get(200).release();
        int index = evidence.releases().committed().size() - 1;
        long next = evidence.releases().committed().get(index).release().sequence() + 1;
        evidence.releases()
                .committed()
                .add(CoreEvidence.written(RELEASES.encode(with(release, next, release.releaseAtNanos()))));
        assertThat(faulty()).contains("4 queued-ended-once");
    }

    @Test
    void an_early_release_is_found() {
        int index = Stream.iterate(300, i -> i + 1)
                .filter(i ->
                        evidence.releases().committed().get(i).release().queue().equals("mail"))
                .findFirst()
                .orElseThrow();
        Release release = evidence.releases().committed().get(index).release();
        Release early = with(release, release.sequence(), release.releaseAtNanos() - 1);
        evidence.releases().committed().set(index, CoreEvidence.written(RELEASES.encode(early)));
        assertThat(only("6 outflow-at-its-pace").faults())
                .singleElement()
                .asString()
                .startsWith("mail#" + release.sequence());
    }

    @Test
    void a_different_aborted_decision_is_found() {
        Entry aborted = Stream.iterate(0, i -> i + 1)
                .map(i -> evidence.decisions().aborted().get(i))
                .filter(entry -> entry.decision().remaining() != null)
                .findFirst()
                .orElseThrow();
        Decision decision = aborted.decision();
        Decision other = with(decision, decision.outcome(), decision.observed(), decision.remaining() + 1);
        evidence.decisions().aborted().add(CoreEvidence.written(DECISIONS.encode(other)));
        assertThat(only("7 seen-twice-alike").faults())
                .singleElement()
                .asString()
                .startsWith(Oracle.at(decision.source()));
    }

    @Test
    void an_aborted_release_may_have_another_time_but_not_other_content() {
        Release release = evidence.releases().aborted().get(0).release();
        Release later = with(release, release.sequence() + 1, release.releaseAtNanos() + 1);
        evidence.releases().aborted().add(CoreEvidence.written(RELEASES.encode(later)));
        assertThat(Oracle.check(evidence)).allMatch(Breach::isOk);

        Release dearer = release.toBuilder().cost(release.cost() + 1).build();
        evidence.releases().aborted().add(CoreEvidence.written(RELEASES.encode(dearer)));
        assertThat(only("7 seen-twice-alike").faultCount()).isEqualTo(1);
    }

    @Test
    void a_workload_depends_on_its_seed_and_has_every_kind() {
        AtomicLong nowMs = new AtomicLong(1_000);
        FailureWorkload one = new FailureWorkload(7, nowMs::get, true);
        FailureWorkload same = new FailureWorkload(7, nowMs::get, true);
        Set<RequestKind> kinds = new HashSet<>();
        long ofHot = 0;
        for (int i = 0; i < 4_000; i++) {
            if (i == 3_000) {
                one.hot("hot");
                same.hot("hot");
            }
            nowMs.addAndGet(5);
            Request request = one.next();
            assertThat(request).usingRecursiveComparison().isEqualTo(same.next());
            kinds.add(request.kind());
            ofHot += request.client().equals("hot") ? 1 : 0;
        }
        assertThat(kinds)
                .as("all but those about releases, which only workers send")
                .isEqualTo(EnumSet.complementOf(EnumSet.of(RequestKind.COMPLETE, RequestKind.EXTEND)));
        assertThat(ofHot).isGreaterThan(200);
    }

    private boolean isPeek(Decision decision) {
        Request.Source source = decision.source();
        return evidence.requests().stream()
                .filter(entry -> entry.place().equals(source))
                .allMatch(entry -> evidence.request(entry).request().kind() == RequestKind.PEEK);
    }

    /** Returns the index of the first matching decision, without the first 500 decisions. */
    private int indexOf(Predicate<Decision> like) {
        for (int i = 500; i < evidence.decisions().committed().size(); i++) {
            if (like.test(evidence.decisions().committed().get(i).decision())) {
                return i;
            }
        }
        throw new AssertionError("no decision matches");
    }

    private void change(int index, UnaryOperator<Decision> how) {
        change(
                index,
                how,
                evidence.decisions().committed().get(index).decision().context());
    }

    private void change(int index, UnaryOperator<Decision> how, DecisionContext context) {
        Entry entry = evidence.decisions().committed().get(index);
        byte[] changed = DECISIONS.encode(how.apply(entry.decision()).withContext(context));
        evidence.decisions()
                .committed()
                .set(index, new Entry(entry.partition(), entry.offset(), entry.timestampMs(), entry.key(), changed));
    }

    /** Returns the only finding with faults, which must have this name. */
    private Breach only(String name) {
        List<Breach> faulty = Oracle.check(evidence).stream()
                .filter(finding -> !finding.isOk())
                .toList();
        assertThat(faulty).singleElement().extracting(Breach::name).isEqualTo(name);
        return faulty.get(0);
    }

    private List<String> faulty() {
        return Oracle.check(evidence).stream()
                .filter(finding -> !finding.isOk())
                .map(Breach::name)
                .toList();
    }

    private static Decision with(Decision decision, Outcome outcome, boolean observed, Long remaining) {
        Decision.Status status = new Decision.Status(
                outcome,
                decision.reason(),
                decision.httpStatus(),
                observed,
                decision.shadowBanned(),
                decision.repeated());
        LimitStatus limit = decision.bindingLimit();
        LimitStatus changed = limit == null
                ? null
                : new LimitStatus(limit.label(), limit.limit(), limit.windowMs(), remaining, limit.resetAfterMs());
        return decision.withStatus(status).withLimit(decision.policy(), changed).withContext(DecisionContext.UNKNOWN);
    }

    private static Release with(Release release, long sequence, long releaseAtNanos) {
        return release.toBuilder()
                .sequence(sequence)
                .releaseAtNanos(releaseAtNanos)
                .build();
    }
}
