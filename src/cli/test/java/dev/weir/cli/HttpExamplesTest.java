package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the examples of the guide for other languages that use HTTP, each for another client. */
@Tag("full")
class HttpExamplesTest {

    private static final Path GUIDE = Path.of("topology-docs", "how-to", "other-languages.md");
    private static final String EXPECTED = "ALLOWED WITHIN_LIMITS 200\nSETTLED\nRELEASED\n";
    private static final String POLICIES =
            "policies: [{id: three, limits: [{algorithm: sliding-window-log, limit: 3, per: 1h}]}]";

    @TempDir
    static Path directory;

    private static CommandWalk walk;

    @BeforeAll
    static void start() throws Exception {
        Files.writeString(directory.resolve("rules.yaml"), POLICIES);
        walk = new CommandWalk(directory, GUIDE);
        walk.startWeir(CommandWalk.WEIR + "run --dev --policies rules.yaml");
    }

    @AfterAll
    static void stop() throws Exception {
        walk.close();
    }

    /** Returns the examples of a language: how to decide, and how to reserve. */
    private static List<String> examples(String language, String client) throws Exception {
        List<String> examples = ReadmeTest.blocks(GUIDE, language).stream()
                .filter(program -> program.contains("decide("))
                .map(program -> program.replace("alice", client))
                .toList();
        assertThat(examples).hasSize(2);
        return examples;
    }

    /** The three requests cost 1 each after the settlement; the limit is 3. */
    private static void assertAllIsUsed(String client) throws Exception {
        assertThat(walk.run("curl -s --json '{\"client\":\"" + client + "\"}' localhost:8680/v1/decide"))
                .contains("\"LIMIT_EXCEEDED\"", "\"retryAfterMs\"");
    }

    @Test
    void python_reserves() throws Exception {
        List<String> examples = examples("python", "bob");
        assertThat(walk.run("python3 - <<'END'\n" + examples.get(0) + examples.get(1) + "END\n"))
                .isEqualTo(EXPECTED);
        assertAllIsUsed("bob");
    }

    @Test
    void node_reserves() throws Exception {
        List<String> examples = examples("js", "carol");
        assertThat(walk.run("node - <<'END'\n" + examples.get(0) + examples.get(1) + "END\n")
                        .lines())
                .as("both run at the same time")
                .containsExactlyInAnyOrderElementsOf(EXPECTED.lines().toList());
        assertAllIsUsed("carol");
    }

    @Test
    void go_reserves() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/go")), "Go is not tested: install Debian's golang-go");
        List<String> examples = examples("go", "dave");
        String program = examples.get(0).replace("func main() {", "func main() {\n\tdefer reserve()");
        walk.run("cat > example.go <<'END'\n" + program + examples.get(1) + "END\n");
        assertThat(walk.run("GO111MODULE=off GOCACHE=$PWD/go-cache go run example.go"))
                .isEqualTo(EXPECTED);
        assertAllIsUsed("dave");
    }
}
