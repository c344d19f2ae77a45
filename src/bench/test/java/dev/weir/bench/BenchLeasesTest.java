package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.CapturedRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class BenchLeasesTest {

    /** On a slow machine, a short run can end before the first lease arrives. It then has no use and no round trip. */
    private static final String EIGHT_FIGURES = " +([0-9.,]+|-)( +[0-9.,]+){6} +([0-9.,]+|-)\\n";

    @Test
    void leases_prints_the_use_of_a_shared_limit() {
        CapturedRun result = BenchShell.run("leases", "--of=EVEN", "--per=1s", "--turn=3s", "--warm-up=2s");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out()).containsPattern("twice 1,000/s, 8 equal partitions" + EIGHT_FIGURES);
    }

    @Test
    void leases_measures_on_several_busy_brokers() {
        CapturedRun result = BenchShell.run(
                "leases", "--of=QUARTER", "--per=1s", "--brokers=2", "--busy=1", "--turn=3s", "--warm-up=1s");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .contains("1 s, 2 brokers", "busy threads: 1")
                .containsPattern("a quarter of 20/s, 4 equal partitions" + EIGHT_FIGURES);
    }

    @Test
    void leases_rejects_a_number_of_brokers_out_of_range() {
        CapturedRun result = BenchShell.run("leases", "--brokers=6");
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).contains("--brokers must be 1 to 5, is 6");
    }
}
