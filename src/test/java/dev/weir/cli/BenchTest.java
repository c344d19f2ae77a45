package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class BenchTest {

    @Test
    void decide_holds_decisions_against_passing_through() {
        Shell.Result result = Shell.run(
                "bench", "decide", "--clients", "50", "--rounds", "1", "--turn", "PT0.2S", "--warm-up", "1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("pass-through +[1-9][0-9,]* .* 1\\.00\n")
                .containsPattern("sliding-window-counter +[1-9][0-9,]* .* [0-9]\\.[0-9]{2}\n")
                .contains("50 clients");
    }

    @Test
    void peers_are_measured_beside_the_core() {
        for (String only : List.of("Limit.*guava", "Decider.*decide")) {
            Shell.Result result = Shell.run("bench", "peers", "--only", only, "--rounds", "1", "--turn", "PT0.01S");
            assertThat(result.exit()).as(result.err()).isZero();
            assertThat(result.out()).containsPattern("Benchmark\\.(guavaByClock|decide) .*[1-9].* [0-9]+\n");
        }
    }
}
