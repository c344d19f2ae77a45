package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The short form: the first cases of each fuzzer. */
class FuzzTest {

    private static final int RECORDS = 2_000;
    private static final int CASES_OF_REQUESTS = 1;

    @ParameterizedTest
    @CsvSource({"records, 50000", "lines, 10000", "policies, 5000", "config, 2000"})
    void whatever_comes_is_taken_or_refused_and_both_happen(String target, int runs) throws Exception {
        Fuzz.Report report = new Fuzz(target, Fuzz.SEED, Target.of(target)).run(runs);
        assertThat(report.outcomes()).as(report.toString()).containsOnlyKeys("accepted", "refused");
    }

    @Test
    void whatever_comes_on_the_topics_is_answered_or_a_dead_letter_and_both_happen() {
        Fuzz.Report report = new Fuzz("topology", Fuzz.SEED, new TopologyFuzz(RECORDS)).run(1);
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
            Fuzz.Report report = new Fuzz("http", Fuzz.SEED, http).run(CASES_OF_REQUESTS);
            assertThat(report.outcomes().keySet())
                    .as(report.toString())
                    .contains("status 200", "status 400", "status 404");
        }
    }
}
