package dev.weir.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.weir.simulation.Schedules.Report;
import dev.weir.simulation.Schedules.ScheduleFailure;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.Violation;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests that the promises hold in every schedule, and that the checks find injected flaws.
 * {@code -Dweir.simulation.seed=N} runs one schedule, with {@code -Dweir.simulation.schedules=M} the next M ones.
 */
@Tag("slow")
class SimulationTest {

    private static final String SEED = "weir.simulation.seed";
    private static final String SCHEDULES = "weir.simulation.schedules";
    private static final int BY_DEFAULT = Effort.times(250);
    private static final int MOST_TO_FIND_A_FLAW = 300;

    /** Everything that a schedule can run into, so that nothing is missing unnoticed. */
    private static final List<String> TO_HAPPEN = List.of(
            "ALLOWED WITHIN_LIMITS",
            "ALLOWED THROTTLED",
            "ALLOWED SETTLED",
            "ALLOWED NO_POLICY",
            "ALLOWED RELEASED",
            "ALLOWED RENEWED",
            "ALLOWED CANCELLED",
            "ALLOWED USAGE_RESET",
            "ALLOWED NOTHING_RESERVED",
            "ALLOWED ALREADY_ENDED",
            "DENIED RESERVATION_ENDED",
            "DENIED TOO_MANY_RESERVATIONS",
            "OBSERVED",
            "DENIED LIMIT_EXCEEDED",
            "DENIED IDEMPOTENCY_MISMATCH",
            "DENIED SHARED_LIMIT_REFUND",
            "QUEUED SHAPED",
            "DENIED QUEUE_FULL",
            "DENIED TOO_LATE",
            "DENIED EVICTED",
            "DENIED CANCELLED",
            "EXPIRED WAITED_TOO_LONG",
            "DENIED IN_FLIGHT",
            "ALLOWED COMPLETED",
            "ALLOWED EXTENDED",
            "DENIED STALE_ATTEMPT",
            "DENIED ATTEMPTS_EXHAUSTED",
            "DENIED FAILED",
            "RELEASED",
            "RELEASED_AGAIN",
            "SLOTS_RECALLED",
            "REPEATED",
            "LENT",
            "NOT_LENT",
            "WAITED_FOR_QUOTA",
            "MISPLACED",
            "SHARED_ALLOWED",
            "SHARED_DENIED",
            "SHARED_SHAPED",
            "SHARED_RESERVED",
            "SHARED_REFUNDED",
            "CHARGED_AS_USED",
            "CHARGED_OTHERWISE",
            "SETTLED_BEYOND_DEBT",
            "WORKER_DIES",
            "ANSWER_LOST",
            "ANSWER_DOUBLED",
            "FORGED_ANSWER",
            "EARLY_ANSWER",
            "FENCED",
            "PAUSE_COMMAND",
            "PURGE_COMMAND",
            "KILLED_WHILE_WRITING",
            "KILLED_WHILE_FLUSHING");

    @Test
    void the_promises_hold_in_every_schedule() {
        long seed = Long.getLong(SEED, 1);
        int schedules = Integer.getInteger(SCHEDULES, System.getProperty(SEED) == null ? BY_DEFAULT : 1);
        Report report = Schedules.run(seed, schedules, InjectedFlaw.NONE);
        if (schedules >= BY_DEFAULT) {
            List<String> toHappen = new ArrayList<>(TO_HAPPEN);
            for (SchedulePlan.Event event : SchedulePlan.Event.values()) {
                toHappen.add(event.name());
            }
            assertThat(toHappen).allSatisfy(what -> assertThat(report.counts().get(what))
                    .as(what)
                    .isNotNull()
                    .isGreaterThan(3));
        }
    }

    @ParameterizedTest
    @Tag("full")
    @EnumSource(value = InjectedFlaw.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void an_injected_flaw_is_found(InjectedFlaw flaw) {
        assertThat(failure(flaw).getMessage())
                .as(flaw.name().toLowerCase(Locale.ROOT))
                .contains(flaw.breaks.name());
    }

    @Test
    void each_promise_has_a_flaw_that_breaks_it() {
        assertThat(EnumSet.allOf(InjectedFlaw.class).stream().map(flaw -> flaw.breaks))
                .contains(Violation.Promise.values());
    }

    /** Returns the first failure by the check that must find a flaw. */
    private static ScheduleFailure failure(InjectedFlaw flaw) {
        for (long seed = 1; seed <= MOST_TO_FIND_A_FLAW; seed++) {
            try {
                Schedules.run(seed, flaw);
            } catch (ScheduleFailure e) {
                if (e.getCause() instanceof Violation violation && violation.promise == flaw.breaks) {
                    return e;
                }
            }
        }
        throw new AssertionError(flaw + " is not found");
    }

    @Test
    void a_failure_reports_its_seed_and_events_and_can_be_repeated() {
        ScheduleFailure first = failure(InjectedFlaw.ZOMBIES_COMMIT);
        assertThat(first)
                .hasMessageContaining("-Dweir.simulation.seed=" + first.seed)
                .hasMessageContaining(" of instance ");
        ScheduleFailure again = catchThrowableOfType(
                ScheduleFailure.class, () -> Schedules.run(first.seed, InjectedFlaw.ZOMBIES_COMMIT));
        assertThat(again).hasMessage(first.getMessage());
    }

    @Test
    void a_schedule_depends_only_on_its_seed() {
        long fingerprint = Schedules.run(3, InjectedFlaw.NONE).fingerprint();
        assertThat(Schedules.run(3, InjectedFlaw.NONE).fingerprint()).isEqualTo(fingerprint);
        assertThat(Schedules.run(4, InjectedFlaw.NONE).fingerprint()).isNotEqualTo(fingerprint);
    }
}
