package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs every command of the README in a shell, in order. Ports are replaced by free ones, so tests can run in parallel.
 */
@Tag("full")
class ReadmeWalkTest {

    private static final String WEIR = CommandWalk.WEIR;

    @TempDir
    Path directory;

    private CommandWalk walk;

    @BeforeEach
    void prepare() throws IOException {
        walk = new CommandWalk(directory, Path.of("README.md"));
    }

    @AfterEach
    void stop() throws Exception {
        walk.close();
    }

    @Test
    void every_documented_command_works() throws Exception {
        // What builds this, and runs it: QuickStartTest runs the demo.
        assertThat(walk.next("mvn -q compile exec:java")).isNotNull();
        assertThat(Files.readString(Path.of("pom.xml")))
                .contains("<mainClass>${main.class}</mainClass>", ">" + Main.class.getName() + "<");
        assertThat(walk.next("mvn verify")).isNotNull();
        assertThat(Files.readString(Path.of("src/cli/pom.xml")))
                .contains("<outputFile>${weir.root}/target/weir.jar</outputFile>");

        firstDecision();
        firstChange();
        overHttp();
        firstQueue();
        firstClientCall();
        assertThat(walk.isFinished()).isTrue();
    }

    private void firstDecision() throws Exception {
        walk.create("rules.yaml");
        walk.create("requests.ndjson");
        String run = walk.next("WEIR_TOKEN=my-first-weir-token " + WEIR + "run --dev --policies rules.yaml");
        walk.startWeir(run);
        assertThat(walk.runOnBroker(walk.next(WEIR + "send --await requests.ndjson"))
                        .lines())
                .satisfiesExactly(
                        line -> assertThat(line).contains("\"ALLOWED\"", "\"remaining\":1"),
                        line -> assertThat(line).contains("\"ALLOWED\"", "\"remaining\":0"),
                        line -> assertThat(line).contains("\"DENIED\"", "\"LIMIT_EXCEEDED\""));
    }

    private void firstChange() throws Exception {
        walk.run(walk.next("sed -i.bak 's/limit: 2/limit: 5/' rules.yaml"));
        String changes = ReadmeTest.blocks("text").get(1);
        assertThat(walk.runOnBroker(walk.next(WEIR + "policies apply --dry-run rules.yaml")))
                .isEqualTo(changes + "nothing was written: this was a dry run\n");
        assertThat(walk.runOnBroker(walk.next(WEIR + "policies apply rules.yaml")))
                .isEqualTo(changes);
        assertThat(walk.run(walk.next(WEIR + "backtest --policies rules.yaml"))).contains("free-articles");
        assertThat(walk.read("decisions.ndjson")).hasLineCount(3);
        assertThat(walk.runOnBroker(walk.next(WEIR + "watch decisions --client alice")))
                .hasLineCount(3)
                .contains("\"DENIED\"");
    }

    private void overHttp() throws Exception {
        assertThat(walk.run(walk.next("curl --json '"))).contains("\"ALLOWED\"", "\"policyId\":\"free-articles\"");
        assertThat(walk.run(example("python", "python3 - <<'END'"))).isEqualTo("ALLOWED WITHIN_LIMITS 200\n");
        assertThat(walk.run(example("js", "node - <<'END'"))).isEqualTo("ALLOWED WITHIN_LIMITS 200\n");
        assertThat(walk.run(walk.next("curl 'localhost:8680/v1/usage/alice")))
                .contains("\"free-articles\"", "\"policyVersion\":2");
        assertThat(walk.run(walk.next("curl -X PUT localhost:8680/v1/policies/free-articles")))
                .contains("\"version\":3", "\"gcra\"");
    }

    private void firstQueue() throws Exception {
        walk.create("sms.yaml");
        walk.create("messages.ndjson");
        assertThat(walk.runOnBroker(walk.next(WEIR + "policies apply sms.yaml")))
                .isEqualTo("added      queue sms (version 1)\nadded      all-sms (version 1)\n");
        walk.awaitOutput("\"version\":1", "curl -s localhost:8680/v1/policies/all-sms");
        assertThat(walk.runOnBroker(walk.next(WEIR + "send --await messages.ndjson"))
                        .lines())
                .hasSize(3)
                .allMatch(line -> line.contains("\"QUEUED\"") && line.contains("\"expectedWaitMs\":"));
        assertThat(walk.runOnBroker(walk.next(WEIR + "watch releases --queue sms"))
                        .lines())
                .hasSize(3)
                .allMatch(line -> line.contains("\"payload\":\"aGVsbG8=\""));
        assertThat(walk.run(walk.next(WEIR + "top --once") + " --since 1h --service http://" + walk.service()))
                .startsWith("CLIENT");
        assertThat(walk.runOnBroker(walk.next(WEIR + "doctor") + " --service http://" + walk.service()))
                .contains("weir.requests");
        assertThat(walk.runOnBroker(walk.next(WEIR + "audit"))).contains(" 0  mismatches");
    }

    private void firstClientCall() throws Exception {
        walk.create("Ask.java");
        assertThat(walk.run(walk.next("java -cp target/weir.jar Ask.java"))).startsWith("200 {RateLimit");
    }

    /** Returns a command that runs the example without Kafka of the guide for other languages. */
    private static String example(String language, String command) throws IOException {
        Matcher fence = Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("topology-docs", "how-to", "other-languages.md")));
        assertThat(fence.find()).isTrue();
        assertThat(fence.group(1)).contains("/v1/decide");
        return command + "\n" + fence.group(1) + "END\n";
    }
}
