package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.cli.CapturedRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("several-processes")
class BenchTest {

    @Test
    void decide_holds_decisions_against_passing_through() {
        CapturedRun result =
                BenchShell.run("decide", "--clients", "50", "--rounds", "1", "--turn", "PT1S", "--warm-up", "1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("pass-through +[1-9][0-9,]* .* 1\\.00\n")
                .containsPattern("sliding-window-counter +[1-9][0-9,]* .* [0-9]\\.[0-9]{2}\n")
                .contains("50 clients");
    }

    @Test
    void latency_holds_each_reader_of_decisions_against_one_of_what_passes_through() {
        CapturedRun result = BenchShell.run("latency", "--rates=200", "--rounds=1", "--seconds=1", "--warm-up=0");
        assertThat(result.exit()).as(result.err()).isZero();
        for (String level : List.of("read_uncommitted", "read_committed")) {
            assertThat(result.out())
                    .containsPattern("200/s " + level + " pass-through( +[0-9][0-9.,]*){4} +1\\.00\n")
                    .containsPattern("200/s " + level + " sliding-window-counter( +[0-9][0-9.,]*){5}\n");
        }
        assertThat(result.out()).contains("100,000 clients");
    }

    @Test
    void decide_refuses_policies_that_are_not_in_order(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("rules.yaml"), "policies: [{id: a, limits: [{limit: 0}]}]");
        CapturedRun result = BenchShell.run("decide", "--policies", file.toString());
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).contains("rules.yaml:1");
    }

    @Test
    void decide_refuses_an_algorithm_that_is_none_before_it_measures_the_others() {
        CapturedRun result = BenchShell.run("decide", "--algorithms", "gcra,leaky");
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err())
                .startsWith("--algorithms leaky:1: policies[0].limits[0].algorithm: must be one of fixed-window,")
                .doesNotContain("gcra:");
    }

    @Test
    void shape_releases_what_waits_and_tells_how_queues_keep_their_pace() {
        CapturedRun result = BenchShell.run("shape", "--queues=20", "--rounds=0", "--warm-up=500", "--pacing=PT0.3S");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.err()).contains("20 queues: warm");
        assertThat(result.out())
                .containsPattern("20 queues, stamped( +[0-9.,]+){3} +[1-9][0-9.,]*\\n")
                .containsPattern("20 queues, read( +[0-9.,]+){3} +[1-9][0-9.,]*\\n")
                .containsPattern("20 queues, handed out( +[0-9.,]+){3} +[1-9][0-9.,]*\\n");
    }

    @Test
    void keys_tells_what_a_queue_with_a_key_releases_and_takes() {
        CapturedRun result =
                BenchShell.run("keys", "--keys=1,50", "--waiting=1,3", "--most=100", "--hot-keys=20", "--turn=PT0.2S");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("1 key, 3 waiting +[1-9][0-9.,]* .*\\n")
                .containsPattern("50 keys, 50 waiting +[1-9][0-9,]* .*\\n")
                .containsPattern("50 keys, 50 waiting( +[0-9.,]+) +20\\.00( +[0-9.,]+){2}\\n")
                .doesNotContain("150 waiting");
    }

    @Test
    void share_holds_a_shared_limit_beside_an_own_one_against_the_own_one() {
        CapturedRun result = BenchShell.run(
                "share", "--key=endpoint", "--clients=50", "--rounds=1", "--turn=PT1S", "--warm-up=1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("own +[1-9][0-9,]* .* 1\\.00\n")
                .containsPattern("own and shared +[1-9][0-9,]* .* [0-9]\\.[0-9]{2}\n")
                .contains("counts by endpoint");
    }

    @Test
    void lend_tells_how_much_of_a_shared_limit_is_had() {
        CapturedRun result = BenchShell.run("lend", "--of=EVEN,HALF", "--per=PT2S", "--seconds=6", "--warm-up=4");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern(
                        "twice 1,000/s, 8 partitions alike +[1-9][0-9.]+ +(100|[1-9][0-9.]*)( +[0-9.,]+){6}\\n")
                .containsPattern("half of 8,000/s, 8 partitions alike +[1-9][0-9.]+ +[1-9][0-9.]*( +[0-9.,]+){6}\\n");
    }

    @Test
    void lend_measures_on_several_brokers_that_are_busy() {
        CapturedRun result = BenchShell.run(
                "lend", "--of=QUARTER", "--per=PT1S", "--brokers=2", "--busy=1", "--seconds=3", "--warm-up=1");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .contains("1 s, 2 brokers", "busy threads beside it: 1")
                .containsPattern("a quarter of 20/s, 4 partitions alike( +[0-9.,]+){8}\\n");
    }

    @Test
    void lend_refuses_a_number_of_brokers_that_is_out_of_range() {
        CapturedRun result = BenchShell.run("lend", "--brokers=6");
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).contains("--brokers must be 1 to 5, is 6");
    }

    @Test
    void a_report_keeps_the_page_and_replaces_what_was_measured_again(@TempDir Path directory) throws Exception {
        Path page = directory.resolve("page.md");
        Files.writeString(page, "# A page\n");
        measure(page, "--only=Limit.*guavaByClock");
        Files.writeString(page, Files.readString(page) + "\nThe end.\n");
        measure(page, "--only=Decider.*decide");
        assertThat(page)
                .content()
                .startsWith("# A page\n\n<!-- weir-bench peers -->\n| a decision by | ns |")
                .containsPattern("\\| DeciderBenchmark.decide \\S+ \\| [0-9.,]+ \\|")
                .containsPattern("processors, .*, Java .*, Kafka ")
                .doesNotContain("guava")
                .endsWith("\n<!-- end of weir-bench peers -->\n\nThe end.\n");
    }

    @Test
    void what_was_measured_is_told_as_json_too() throws Exception {
        CapturedRun result =
                BenchShell.run("peers", "--json", "--only=Limit.*guavaByClock", "--rounds", "1", "--turn", "PT0.01S");
        assertThat(result.exit()).as(result.err()).isZero();
        JsonNode table = new ObjectMapper().readTree(result.out());
        assertThat(table.get("measure").asText()).isEqualTo("peers");
        assertThat(table.get("machine").asText()).contains("Kafka");
        assertThat(table.get("rows")).isNotEmpty().allSatisfy(row -> {
            assertThat(row.get("name").asText()).contains("guavaByClock");
            assertThat(row.get("ns").asDouble()).isPositive();
        });
    }

    private static void measure(Path page, String only) {
        CapturedRun result = BenchShell.run("peers", only, "--rounds=1", "--turn=PT0.01S", "--report", page.toString());
        assertThat(result.exit()).as(result.err()).isZero();
    }

    @Test
    void peers_are_measured_beside_the_core() {
        for (String only : List.of("Limit.*guava", "Decider.*decide")) {
            CapturedRun result = BenchShell.run("peers", "--only", only, "--rounds", "1", "--turn", "PT0.01S");
            assertThat(result.exit()).as(result.err()).isZero();
            assertThat(result.out()).containsPattern("Benchmark\\.(guavaByClock|decide) .*[1-9].* [0-9.,]+\n");
        }
    }
}
