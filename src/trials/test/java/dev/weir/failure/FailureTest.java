package dev.weir.failure;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.failure.check.Breach;
import dev.weir.failure.check.Oracle;
import dev.weir.failure.check.PauseInvariant;
import dev.weir.failure.check.ReservationInvariant;
import dev.weir.failure.check.SharedLimitInvariant;
import dev.weir.failure.check.StartInvariant;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The short form of {@link FailureSuite}, which has every kind of fault. */
@Tag("full")
class FailureTest {

    @TempDir
    Path directory;

    /** The sessions are so long that only a takeover before their end lets the run continue in time. */
    @Test
    void all_invariants_hold_when_enforcers_and_a_broker_are_killed_or_hang() throws Exception {
        List<InjectedFault> schedule = List.of(
                new InjectedFault(InjectedFault.Kind.KILL_IN_COMMIT, 0, 0, 3),
                new InjectedFault(InjectedFault.Kind.KILL_WORKER, 0, 0, 1_000),
                new InjectedFault(InjectedFault.Kind.HANG, 1, 0, 0),
                new InjectedFault(InjectedFault.Kind.KILL_BOTH, 1, 1_000, 1_000));
        Map<String, String> longSessions = Map.of(
                "main.consumer.session.timeout.ms", "1800000",
                "producer.transaction.timeout.ms", "900000");
        FailureRun.Setup setup =
                new FailureRun.Setup(11, schedule, 3, 4, 40, FailureRun.Conditions.USUAL, longSessions);
        PrintStream out = System.out;
        try (FailureRun run = new FailureRun(setup, directory, out::println)) {
            FailureRun.Report report = run.run();
            report.findings().forEach(out::println);
            assertThat(report.findings()).isNotEmpty().allMatch(Breach::isOk);
            assertThat(report.findings().get(0).counts())
                    .hasEntrySatisfying("misplaced", count -> assertThat(count).isPositive());
            assertThat(report.findings())
                    .filteredOn(finding -> finding.name().equals(SharedLimitInvariant.NAME))
                    .singleElement()
                    .satisfies(finding -> assertThat(finding.counts())
                            .hasEntrySatisfying(
                                    "admissions", count -> assertThat(count).isPositive())
                            .hasEntrySatisfying(
                                    "denials", count -> assertThat(count).isPositive()));
            assertThat(count(report, ReservationInvariant.NAME, "reservations")).isPositive();
            assertThat(count(report, ReservationInvariant.NAME, "settled")).isPositive();
            assertThat(count(report, ReservationInvariant.NAME, "slots at most"))
                    .isPositive();
            assertThat(count(report, ReservationInvariant.SETTLEMENT, "refunded tokens"))
                    .isPositive();
            assertThat(count(report, SharedLimitInvariant.NAME, "reservations")).isPositive();
            assertThat(count(report, Oracle.SLOTS, "retries")).isPositive();
            assertThat(count(report, Oracle.SLOTS, "completed")).isPositive();
            assertThat(count(report, Oracle.SLOTS, "stale attempt")).isPositive();
            assertThat(count(report, StartInvariant.NAME, "started")).isPositive();
            assertThat(count(report, PauseInvariant.NAME, "other releases meanwhile"))
                    .isPositive();
            assertThat(report.kills()).isEqualTo(4);
            assertThat(report.takeovers()).isGreaterThanOrEqualTo(2);
            assertThat(report.recoveries())
                    .extracting(RecoveryTimer.Recovery::cause)
                    .contains(
                            InjectedFault.Kind.KILL_IN_COMMIT.name(),
                            InjectedFault.Kind.HANG.name(),
                            InjectedFault.Kind.KILL_BOTH.name());
        }
    }

    private static long count(FailureRun.Report report, String name, String what) {
        return report.findings().stream()
                .filter(finding -> finding.name().equals(name))
                .findFirst()
                .orElseThrow()
                .counts()
                .get(what);
    }
}
