package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The short form of the fuzzers: the first cases of each. */
@Tag("full")
class FuzzRunnerTest {

    private static final int BYTES = Effort.times(10_000);
    private static final int RECORDS = Effort.times(1_000);
    private static final int CASES_OF_REQUESTS = 1;

    @ParameterizedTest
    @CsvSource({"lines, 4000", "policies, 2000", "config, 1000"})
    void texts_are_accepted_or_refused_and_both_happen(String target, int runs) throws Exception {
        FuzzRunner.Report report =
                new FuzzRunner(target, FuzzRunner.SEED, FuzzTarget.of(target)).run(Effort.times(runs));
        assertThat(report.outcomes()).as(report.toString()).containsOnlyKeys("accepted", "refused");
    }

    @Test
    void records_are_accepted_or_refused_and_both_happen_for_each_kind() throws Exception {
        FuzzRunner.Report report = new FuzzRunner("records", FuzzRunner.SEED, FuzzTarget.of("records")).run(BYTES);
        assertThat(report.outcomes())
                .as(report.toString())
                .containsOnlyKeys(List.of("requests", "decisions", "admissions", "releases", "policies").stream()
                        .flatMap(kind -> Stream.of(kind + " accepted", kind + " refused"))
                        .toArray(String[]::new));
    }

    @Test
    void topic_records_are_answered_or_become_dead_letters_and_both_happen() {
        FuzzRunner.Report report = new FuzzRunner("topology", FuzzRunner.SEED, new TopologyFuzz(RECORDS)).run(1);
        assertThat(report.outcomes())
                .as(report.toString())
                .containsOnlyKeys(
                        "requests answered",
                        "requests refused",
                        "admissions answered",
                        "admissions refused",
                        "policies accepted",
                        "policies refused",
                        "passing of time");
    }

    @Test
    void http_requests_succeed_or_fail_as_documented_and_both_happen() throws Exception {
        try (HttpFuzz http = new HttpFuzz()) {
            FuzzRunner.Report report = new FuzzRunner("http", FuzzRunner.SEED, http).run(CASES_OF_REQUESTS);
            assertThat(report.outcomes().keySet())
                    .as(report.toString())
                    .contains("status 200", "status 400", "status 404");
        }
    }
}
