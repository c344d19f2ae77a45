package dev.weir.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The short form of {@link AttackSuite}: all attacks at once. */
@Tag("full")
class AttackTest {

    /** A lower bound; some 40 requests fit into the time. */
    private static final int FEW = 5;

    @TempDir
    private Path directory;

    @Test
    void an_enforcer_with_a_small_heap_decides_and_responds_under_attack() throws Exception {
        AttackSuite suite = new AttackSuite();
        suite.turn = Duration.ofSeconds(4);
        suite.recent = 30_000;
        AttackSuite.Report report = suite.run(directory);
        System.out.println(report);
        assertThat(report.isAlive()).isTrue();
        assertThat(report.attacked().answered()).isEqualTo(report.attacked().sent());
        assertThat(report.attacked().health().failed()).isZero();
        assertThat(report.attacked().health().good()).isGreaterThan(FEW);
        assertThat(report.attacked().reads().failed()).isZero();
        assertThat(report.attacked().reads().good()).isGreaterThan(FEW);
        assertThat(report.attacks())
                .hasSizeGreaterThan(10)
                .allSatisfy((kind, times) -> assertThat(times).as(kind).isPositive());
    }
}
