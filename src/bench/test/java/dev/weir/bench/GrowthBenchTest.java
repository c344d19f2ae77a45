package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.CapturedRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class GrowthBenchTest {

    private static final String FIGURES = "( +[0-9][0-9.,]*){3} +";

    @Test
    void each_size_is_compared_with_the_smallest() {
        CapturedRun result = BenchShell.run(
                "growth", "--of", "LAYERS,CLIENTS", "--most", "2", "--keys", "500", "--rounds=1", "--turn=10ms");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("a decision, by layers .*ns.*\n  1" + FIGURES + "1\\.00\n  2" + FIGURES + "[0-9.,]+\n")
                .containsPattern("a release, by clients .*ns.*\n  1" + FIGURES + "1\\.00\n  in process")
                .containsPattern(
                        "an instance, by keys .*\n  0 keys" + FIGURES + "- .*\n  500 keys" + FIGURES + "-?[0-9.,]+ ");
    }
}
