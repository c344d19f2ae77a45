package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.CapturedRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class BenchDecideTest {

    @Test
    void decide_compares_decisions_with_the_pass_through() {
        CapturedRun result = BenchShell.run(
                "decide",
                "--format=json",
                "--clients",
                "50",
                "--rounds",
                "1",
                "--turn",
                "50ms",
                "--warm-up-requests",
                "1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("pass-through +(?=[0-9.,]*[1-9])[0-9.,]+ .* 1\\.00\n")
                .containsPattern("sliding-window-counter +(?=[0-9.,]*[1-9])[0-9.,]+ .* [0-9]+\\.[0-9]{2}\n")
                .contains("50 clients", "in JSON");
    }

    @Test
    void decide_measures_slots_in_use() {
        CapturedRun result = BenchShell.run(
                "decide",
                "--algorithms=concurrency",
                "--slots-in-use=10",
                "--clients=1",
                "--rounds=1",
                "--turn=50ms",
                "--warm-up-requests=1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("concurrency +(?=[0-9.,]*[1-9])[0-9.,]+ .* [0-9]+\\.[0-9]{2}\n")
                .contains("10 slots in use");
    }

    @Test
    void reserve_compares_a_reservation_and_its_end_with_two_requests() {
        CapturedRun result = BenchShell.run(
                "reserve", "--held=500", "--clients=50", "--rounds=1", "--turn=50ms", "--warm-up-requests=1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("two CONSUMEs +(?=[0-9.,]*[1-9])[0-9.,]+ .* 1\\.00\n")
                .containsPattern("a reservation and its end +(?=[0-9.,]*[1-9])[0-9.,]+ .* [0-9]+\\.[0-9]{2}\n")
                .contains("500 reservations are open");
    }

    @Test
    void latency_compares_each_reader_of_decisions_with_one_of_the_pass_through() {
        CapturedRun result = BenchShell.run("latency", "--rates=200", "--rounds=1", "--turn=1s", "--warm-up=0s");
        assertThat(result.exit()).as(result.err()).isZero();
        for (String level : List.of("read_uncommitted", "read_committed")) {
            assertThat(result.out())
                    .containsPattern("200/s " + level + " pass-through( +[0-9][0-9.,]*){4} +1\\.00\n")
                    .containsPattern("200/s " + level + " sliding-window-counter( +[0-9][0-9.,]*){5}\n");
        }
        assertThat(result.out()).contains("100,000 clients");
    }

    @Test
    void http_compares_an_instance_with_a_server_that_allows_everything() {
        CapturedRun result = BenchShell.run("http", "--connections=4", "--rounds=1", "--turn=1s", "--warm-up=0s");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern(
                        "an HTTP server that allows everything +(?=[0-9.,]*[1-9])[0-9.,]+( +[0-9.,]+){2} +1\\.00\n")
                .containsPattern("POST /v1/decide +(?=[0-9.,]*[1-9])[0-9.,]+( +[0-9.,]+){3}\n")
                .containsPattern("WeirClient\\.decide +(?=[0-9.,]*[1-9])[0-9.,]+( +[0-9.,]+){3}\n")
                .contains("4 callers");
    }

    @Test
    void decide_rejects_invalid_policies(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("rules.yaml"), "policies: [{id: a, limits: [{limit: 0}]}]");
        CapturedRun result = BenchShell.run("decide", "--policies", file.toString());
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).contains("rules.yaml:1");
    }

    @Test
    void decide_rejects_an_unknown_algorithm_before_it_measures() {
        CapturedRun result = BenchShell.run("decide", "--algorithms", "gcra,leaky");
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err())
                .startsWith("--algorithms leaky:1: policies[0].limits[0].algorithm: must be one of fixed-window,")
                .doesNotContain("gcra:");
    }

    @Test
    void share_compares_a_shared_limit_with_a_local_one() {
        CapturedRun result = BenchShell.run(
                "share", "--key=endpoint", "--clients=50", "--rounds=1", "--turn=50ms", "--warm-up-requests=1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("own +(?=[0-9.,]*[1-9])[0-9.,]+ .* 1\\.00\n")
                .containsPattern("own and shared +(?=[0-9.,]*[1-9])[0-9.,]+ .* [0-9]+\\.[0-9]{2}\n")
                .contains("counts by endpoint");
    }
}
