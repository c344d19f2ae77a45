package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The short form: the first cases of each fuzzer. */
class FuzzTest {

    @ParameterizedTest
    @CsvSource({"lines, 10000", "policies, 5000", "config, 2000", "topology, 3"})
    void whatever_comes_is_taken_or_refused_and_both_happen(String target, int runs) throws Exception {
        Fuzz.Report report = new Fuzz(target, Fuzz.SEED, Target.of(target)).run(runs);
        boolean both = report.outcomes().size() > 1 || report.outcomes().containsKey("good and bad");
        assertThat(both).as(report.toString()).isTrue();
    }
}
