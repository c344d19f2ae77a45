package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.CapturedRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class BacktestBenchTest {

    @Test
    void backtests_are_measured_from_files_and_from_memory() {
        CapturedRun result = BenchShell.run("backtest", "--requests", "500", "--clients", "10", "--rounds", "2");
        assertThat(result.exit()).as(result.err()).isZero();
        String figures = "( +(?=[0-9.,]*[1-9])[0-9.,]+){4}\n";
        assertThat(result.out())
                .containsPattern("requests/s +min +max +per CPU second\n")
                .containsPattern("  requests from a file" + figures)
                .containsPattern("  requests from a file, decisions to a file" + figures)
                .containsPattern("  requests in memory" + figures)
                .contains("500 requests of 1", "10 clients");
    }
}
