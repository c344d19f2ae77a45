package dev.weir.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** All attacks at once, in short: {@link AttackSuite} measures for longer. */
@Tag("several-processes")
class AttackTest {

    @TempDir
    private Path directory;

    @Test
    void an_enforcer_of_a_small_heap_decides_and_answers_while_it_is_attacked() throws Exception {
        AttackSuite suite = new AttackSuite();
        suite.seconds = 4;
        suite.recent = 30_000;
        AttackSuite.Report report = suite.run(directory);
        System.out.println(report);
        assertThat(report.isAlive()).isTrue();
        assertThat(report.attacked().answered()).isEqualTo(report.attacked().sent());
        assertThat(report.attacked().failedHealth()).isZero();
        assertThat(report.attacks())
                .hasSizeGreaterThan(10)
                .allSatisfy((kind, times) -> assertThat(times).as(kind).isPositive());
    }
}
