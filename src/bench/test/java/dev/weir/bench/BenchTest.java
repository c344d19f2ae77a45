package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.cli.CapturedRun;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class BenchTest {

    @Test
    void shape_releases_waiting_requests_and_prints_pacing_errors() {
        CapturedRun result =
                BenchShell.run("shape", "--queues=20", "--rounds=0", "--warm-up-releases=500", "--pacing=300ms");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.err()).contains("20 queues: warm");
        assertThat(result.out())
                .containsPattern("20 queues, releaseAt( +[0-9.,]+){3} +(?=[0-9.,]*[1-9])[0-9.,]+\\n")
                .containsPattern("20 queues, read( +[0-9.,]+){3} +(?=[0-9.,]*[1-9])[0-9.,]+\\n")
                .containsPattern("20 queues, returned( +[0-9.,]+){3} +(?=[0-9.,]*[1-9])[0-9.,]+\\n");
    }

    @Test
    void workers_compares_the_time_that_handlers_run_with_what_is_possible() {
        CapturedRun result = BenchShell.run("workers", "--slots=2", "--jobs=50ms", "--turn=500ms", "--warm-up=0s");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("one slot( +(?=[0-9.,]*[1-9])[0-9.,]+){4}\\n")
                .containsPattern("jobs of 50 ms( +(?=[0-9.,]*[1-9])[0-9.,]+){3}\\n")
                .contains("2 slots and threads");
    }

    @Test
    void keys_prints_releases_and_cost_of_a_queue_with_a_key() {
        CapturedRun result =
                BenchShell.run("keys", "--keys=1,50", "--waiting=1,3", "--most=100", "--hot-keys=20", "--turn=200ms");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("1 key, 3 waiting +(?=[0-9.,]*[1-9])[0-9.,]+ .*\\n")
                .containsPattern("50 keys, 50 waiting +(?=[0-9.,]*[1-9])[0-9.,]+ .*\\n")
                .containsPattern("50 keys, 50 waiting( +-?[0-9.,]+) +20\\.00( +[0-9.,]+){2}\\n")
                .doesNotContain("150 waiting");
    }

    @Test
    void a_report_keeps_the_page_and_replaces_repeated_measurements(@TempDir Path directory) throws Exception {
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
    void measurements_are_printed_as_json() throws Exception {
        CapturedRun result =
                BenchShell.run("peers", "--json", "--only=Limit.*guavaByClock", "--rounds", "1", "--turn", "10ms");
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
        CapturedRun result = BenchShell.run("peers", only, "--rounds=1", "--turn=10ms", "--report", page.toString());
        assertThat(result.exit()).as(result.err()).isZero();
    }
}
