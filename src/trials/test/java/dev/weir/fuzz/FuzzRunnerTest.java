package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The short form: the first cases of each fuzzer. */
class FuzzRunnerTest {

    private static final int BYTES = 50_000;
    private static final int RECORDS = 2_000;
    private static final int CASES_OF_REQUESTS = 1;

    @ParameterizedTest
    @CsvSource({"lines, 10000", "policies, 5000", "config, 2000"})
    void whatever_comes_is_taken_or_refused_and_both_happen(String target, int runs) throws Exception {
        FuzzRunner.Report report = new FuzzRunner(target, FuzzRunner.SEED, FuzzTarget.of(target)).run(runs);
        assertThat(report.outcomes()).as(report.toString()).containsOnlyKeys("accepted", "refused");
    }

    @Test
    void whatever_bytes_come_are_a_value_or_refused_and_both_happen_for_each_kind_of_record() throws Exception {
        FuzzRunner.Report report = new FuzzRunner("records", FuzzRunner.SEED, FuzzTarget.of("records")).run(BYTES);
        assertThat(report.outcomes())
                .as(report.toString())
                .containsOnlyKeys(List.of("requests", "decisions", "admissions", "releases", "policies").stream()
                        .flatMap(kind -> Stream.of(kind + " accepted", kind + " refused"))
                        .toArray(String[]::new));
    }

    @Test
    void whatever_comes_on_the_topics_is_answered_or_a_dead_letter_and_both_happen() {
        FuzzRunner.Report report = new FuzzRunner("topology", FuzzRunner.SEED, new TopologyFuzz(RECORDS)).run(1);
        assertThat(report.outcomes())
                .as(report.toString())
                .containsOnlyKeys(
                        "requests answered",
                        "requests refused",
                        "admissions answered",
                        "admissions refused",
                        "policies taken",
                        "policies refused",
                        "passing of time");
    }

    @Test
    void whatever_is_asked_over_http_is_answered_or_refused_as_is_described_and_both_happen() throws Exception {
        try (HttpFuzz http = new HttpFuzz()) {
            FuzzRunner.Report report = new FuzzRunner("http", FuzzRunner.SEED, http).run(CASES_OF_REQUESTS);
            assertThat(report.outcomes().keySet())
                    .as(report.toString())
                    .contains("status 200", "status 400", "status 404");
        }
    }
}
