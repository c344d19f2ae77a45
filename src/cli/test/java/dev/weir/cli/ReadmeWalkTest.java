package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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

    private static final long PATIENCE_SECONDS = 120;
    private static final String WEIR = "target/bin/weir ";
    private static final Pattern READY =
            Pattern.compile("weir is ready: .* API on http://(\\S+)/v1, .* brokers (\\S+)");

    @TempDir
    Path directory;

    private final Deque<String> left = new ArrayDeque<>();
    private final List<Process> started = new ArrayList<>();
    private String broker;
    private String service;

    /** Creates a launcher, and a {@code java} on the path of the shell, that use the classes of this test. */
    @BeforeEach
    void prepare() throws IOException {
        List<String> weir = JavaProcess.of(List.of(), Main.class).command();
        program("target/bin/weir", "exec %s \"$@\"".formatted(quoted(weir)));
        program("bin/java", """
                case "$1 $2" in
                  '-cp target/weir.jar') shift 2; exec %s "$@";;
                  *) exit 99;;
                esac""".formatted(quoted(weir.subList(0, weir.size() - 1))));
        left.addAll(ReadmeTest.commands());
    }

    private void program(String path, String script) throws IOException {
        Path file = directory.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/bash\n" + script + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    private static String quoted(List<String> command) {
        return command.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
    }

    @AfterEach
    void stop() throws Exception {
        for (Process process : started) {
            process.destroy();
            assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void every_documented_command_works() throws Exception {
        // What builds this, and runs it: QuickStartTest runs the demo.
        assertThat(next("mvn -q compile exec:java")).isNotNull();
        assertThat(Files.readString(Path.of("pom.xml")))
                .contains("<mainClass>${main.class}</mainClass>", ">" + Main.class.getName() + "<");
        assertThat(next("mvn verify")).isNotNull();
        assertThat(Files.readString(Path.of("src/cli/pom.xml")))
                .contains("<outputFile>${weir.root}/target/weir.jar</outputFile>");

        firstDecision();
        firstChange();
        overHttp();
        firstQueue();
        firstClientCall();
        assertThat(left).isEmpty();
    }

    private void firstDecision() throws Exception {
        create("rules.yaml");
        create("requests.ndjson");
        String run = next("WEIR_TOKEN=my-first-weir-token " + WEIR + "run --dev --policies rules.yaml");
        start("run.out", run, " --dev-port 0 --service-port 0");
        await("weir is ready", Duration.ofSeconds(PATIENCE_SECONDS), () -> READY.matcher(read("run.out"))
                .find());
        Matcher ready = READY.matcher(read("run.out"));
        assertThat(ready.find()).isTrue();
        service = ready.group(1);
        broker = ready.group(2);
        assertThat(run(next(WEIR + "send --await requests.ndjson"), onBroker()).lines())
                .satisfiesExactly(
                        line -> assertThat(line).contains("\"ALLOWED\"", "\"remaining\":1"),
                        line -> assertThat(line).contains("\"ALLOWED\"", "\"remaining\":0"),
                        line -> assertThat(line).contains("\"DENIED\"", "\"LIMIT_EXCEEDED\""));
    }

    private void firstChange() throws Exception {
        run(next("sed -i.bak 's/limit: 2/limit: 5/' rules.yaml"), "");
        String changes = ReadmeTest.blocks("text").get(1);
        assertThat(run(next(WEIR + "policies apply --dry-run rules.yaml"), onBroker()))
                .isEqualTo(changes + "nothing was written: this was a dry run\n");
        assertThat(run(next(WEIR + "policies apply rules.yaml"), onBroker())).isEqualTo(changes);
        assertThat(run(next(WEIR + "backtest --policies rules.yaml"), "")).contains("free-articles");
        assertThat(read("decisions.ndjson")).hasLineCount(3);
        assertThat(run(next(WEIR + "watch decisions --client alice"), onBroker()))
                .hasLineCount(3)
                .contains("\"DENIED\"");
    }

    private void overHttp() throws Exception {
        assertThat(run(next("curl --json '"), "")).contains("\"ALLOWED\"", "\"policyId\":\"free-articles\"");
        assertThat(run(example("python", "python3 - <<'END'"), "")).isEqualTo("ALLOWED WITHIN_LIMITS 200\n");
        assertThat(run(example("js", "node - <<'END'"), "")).isEqualTo("ALLOWED WITHIN_LIMITS 200\n");
        assertThat(run(next("curl 'localhost:8680/v1/usage/alice"), ""))
                .contains("\"free-articles\"", "\"policyVersion\":2");
        assertThat(run(next("curl -X PUT localhost:8680/v1/policies/free-articles"), ""))
                .contains("\"version\":3", "\"gcra\"");
    }

    private void firstQueue() throws Exception {
        create("sms.yaml");
        create("messages.ndjson");
        assertThat(run(next(WEIR + "policies apply sms.yaml"), onBroker()))
                .isEqualTo("added      queue sms (version 1)\nadded      all-sms (version 1)\n");
        await("the policy is in force", Duration.ofSeconds(PATIENCE_SECONDS), () -> run(
                        "curl -s localhost:8680/v1/policies/all-sms", "")
                .contains("\"version\":1"));
        assertThat(run(next(WEIR + "send --await messages.ndjson"), onBroker()).lines())
                .hasSize(3)
                .allMatch(line -> line.contains("\"QUEUED\"") && line.contains("\"expectedWaitMs\":"));
        assertThat(run(next(WEIR + "watch releases --queue sms"), onBroker()).lines())
                .hasSize(3)
                .allMatch(line -> line.contains("\"payload\":\"aGVsbG8=\""));
        assertThat(run(next(WEIR + "top --once"), " --since 1h --service http://" + service))
                .startsWith("CLIENT");
        assertThat(run(next(WEIR + "doctor"), onBroker() + " --service http://" + service))
                .contains("weir.requests");
        assertThat(run(next(WEIR + "audit"), onBroker())).contains(" 0  mismatches");
    }

    private void firstClientCall() throws Exception {
        create("Ask.java");
        assertThat(run(next("java -cp target/weir.jar Ask.java"), "")).startsWith("200 {RateLimit");
    }

    /** Returns a command that runs the example without Kafka of the guide for other languages. */
    private static String example(String language, String command) throws IOException {
        Matcher fence = Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("topology-docs", "how-to", "other-languages.md")));
        assertThat(fence.find()).isTrue();
        assertThat(fence.group(1)).contains("/v1/decide");
        return command + "\n" + fence.group(1) + "END\n";
    }

    /** Runs the next command, which must create the file. */
    private void create(String file) throws Exception {
        run(next("cat > " + file + " <<'END'"), "");
    }

    /** Returns the next command of the README, which must begin as expected. */
    private String next(String begins) {
        assertThat(left.peek()).isNotNull().startsWith(begins);
        return left.remove();
    }

    private String onBroker() {
        return " -b " + broker;
    }

    /** Returns the output of a command, which must exit with 0. */
    private String run(String command, String more) throws Exception {
        Process process = start("out", command, more);
        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(read("out") + read("out.err")).isZero();
        return read("out");
    }

    private Process start(String out, String command, String more) throws IOException {
        String there = command;
        if (broker != null) {
            there = command.replace("localhost:9092", broker).replace("localhost:8680", service);
        }
        ProcessBuilder shell = new ProcessBuilder("bash", "-c", there + more)
                .directory(directory.toFile())
                .redirectOutput(directory.resolve(out).toFile())
                .redirectError(directory.resolve(out + ".err").toFile());
        shell.environment().merge("PATH", directory + "/bin", (path, bin) -> bin + ":" + path);
        Process process = shell.start();
        started.add(process);
        return process;
    }

    private String read(String file) throws IOException {
        return Files.readString(directory.resolve(file));
    }
}
