package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.dev.JavaProcess;
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
import org.apache.kafka.tools.consumer.ConsoleConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every command of the README, one after the other, by a shell, as a reader types them. Only the ports are others, so
 * that tests can run beside each other, and what goes on for ever is told when to end.
 */
class ReadmeWalkTest {

    private static final long PATIENCE_SECONDS = 120;
    private static final String TOKEN = "token-of-a-walker";
    private static final String WEIR = "java -jar target/weir.jar ";
    private static final Pattern READY =
            Pattern.compile("weir is ready: .* rules on http://(\\S+)/v1, .* brokers (\\S+)");

    @TempDir
    Path directory;

    private final Deque<String> left = new ArrayDeque<>();
    private final List<Process> started = new ArrayList<>();
    private String broker;
    private String service;

    /** A shell finds Weir's classes under the name of its jar, and Kafka's console consumer under its own. */
    @BeforeEach
    void prepare() throws IOException {
        Path bin = Files.createDirectory(directory.resolve("bin"));
        script(bin.resolve("java"), "[ \"$1 $2\" = '-jar target/weir.jar' ] || exit 99; shift 2", Main.class);
        script(bin.resolve("kafka-console-consumer.sh"), "", ConsoleConsumer.class);
        ReadmeTest.blocks("").stream()
                .skip(1) // the picture
                .flatMap(block -> block.text().lines())
                .forEach(left::add);
    }

    private static void script(Path file, String before, Class<?> main) throws IOException {
        String command = JavaProcess.of(List.of(), main).command().stream()
                .map(word -> "'" + word + "'")
                .collect(Collectors.joining(" "));
        Files.writeString(file, "#!/bin/bash\n" + before + "\nexec " + command + " \"$@\"\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    @AfterEach
    void stop() throws Exception {
        for (Process process : started) {
            process.destroy();
            assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void every_command_does_what_is_said() throws Exception {
        // What builds this, and runs it: QuickStartTest runs the demo.
        assertThat(next("mvn -q compile exec:java")).isNotNull();
        assertThat(Files.readString(Path.of("pom.xml")))
                .contains("<mainClass>${main.class}</mainClass>", ">" + Main.class.getName() + "<");
        assertThat(next("mvn verify")).isNotNull();
        assertThat(Files.readString(Path.of("src/dist/pom.xml"))).contains("<jar.file>weir.jar</jar.file>");

        firstRequest();
        changesAndWatching();
        firstQueue();
        overHttp();

        assertThat(run(next(WEIR + "policies history free-articles"), onBroker()))
                .startsWith("3\t");
        assertThat(left).isEmpty();
    }

    private void firstRequest() throws Exception {
        Path rules = save("rules.yaml");
        start("run.out", next(WEIR + "run --dev --policies rules.yaml"), " --dev-port 0 --service-port 0");
        await("weir is ready", Duration.ofSeconds(PATIENCE_SECONDS), () -> READY.matcher(read("run.out"))
                .find());
        Matcher ready = READY.matcher(read("run.out"));
        assertThat(ready.find()).isTrue();
        service = ready.group(1);
        broker = ready.group(2);

        String ask = next("echo '{\"requestId\":\"r1\"");
        JsonNode answer = new ObjectMapper().readTree(run(ask, onBroker()));
        JsonNode shown =
                new ObjectMapper().readTree(ReadmeTest.blocks("json").get(0).text());
        assertThat(answer.fieldNames()).toIterable().containsExactlyElementsOf(shown::fieldNames);
        assertThat(answer.get("remaining")).isEqualTo(shown.get("remaining"));
        assertThat(run(ask, onBroker())).contains("\"ALLOWED\"");
        assertThat(run(ask, onBroker())).contains("\"DENIED\"");

        Files.writeString(rules, Files.readString(rules).replace("limit: 2", "limit: 5"));
        String changes = ReadmeTest.blocks("text").get(0).text();
        assertThat(run(next(WEIR + "policies apply --dry-run rules.yaml"), onBroker()))
                .isEqualTo(changes + "nothing was written: this was a dry run\n");
        assertThat(run(next(WEIR + "policies apply rules.yaml"), onBroker())).isEqualTo(changes);
    }

    private void changesAndWatching() throws Exception {
        assertThat(run(next(WEIR + "watch decisions --client alice"), onBroker() + " --from-beginning -n 3"))
                .hasLineCount(3)
                .contains("\"DENIED\"");
        assertThat(run(next("CLASSPATH=target/weir.jar kafka-console-consumer.sh"), " --max-messages 3"))
                .hasLineCount(3)
                .contains("\"DENIED\"");
        Files.writeString(directory.resolve("requests.ndjson"), """
                {"requestId":"r1","client":"alice","tier":"free","attributes":{"endpoint":"/articles/7"}}
                {"requestId":"m1","client":"bob","attributes":{"endpoint":"/sms"}}
                """);
        assertThat(run(next(WEIR + "backtest --policies rules.yaml"), "")).contains("free-articles");
        assertThat(read("decisions.ndjson")).hasLineCount(2);
    }

    private void firstQueue() throws Exception {
        save("sms.yaml");
        assertThat(run(next(WEIR + "policies apply sms.yaml"), onBroker()))
                .isEqualTo("added      queue sms (version 1)\nadded      all-sms (version 1)\n");
        start("releases", next(WEIR + "watch releases --queue sms"), onBroker() + " --from-beginning -n 1");
        String ask = next("echo '{\"requestId\":\"m1\"");
        await("the policy is in force", Duration.ofSeconds(PATIENCE_SECONDS), () -> run(ask, onBroker())
                .contains("\"QUEUED\""));
        await("a release with the payload", Duration.ofSeconds(PATIENCE_SECONDS), () -> read("releases")
                .contains("\"payload\":\"aGVsbG8=\""));
        assertThat(run(next(WEIR + "backtest --policies sms.yaml"), "")).contains("sms");
        assertThat(read("releases.ndjson")).hasLineCount(1);
        assertThat(run(next(WEIR + "doctor"), onBroker() + " --service http://" + service))
                .contains("weir.requests");
        assertThat(run(next(WEIR + "audit"), onBroker())).contains(" 0  differences");
    }

    private void overHttp() throws Exception {
        assertThat(run(next("curl localhost:8680/v1/policies/free-articles"), ""))
                .contains("\"version\":2", "\"limit\":5");
        assertThat(run(next("curl 'localhost:8680/v1/usage/alice"), "")).contains("\"free-articles\"");
        assertThat(run(next("curl localhost:8680/v1/check"), "")).contains("\"policyId\":\"free-articles\"");
        assertThat(run(next("curl localhost:8680/v1/validate"), "")).contains("\"effect\":\"unchanged\"");
        assertThat(run(next(WEIR + "usage alice"), onService())).contains("free-articles");
        assertThat(run(next(WEIR + "queues"), onService())).contains("sms");
        assertThat(run(next("curl -X PUT localhost:8680/v1/policies/free-articles"), ""))
                .contains("\"version\":3", "\"gcra\"");
    }

    /** The next command of the README, which is the one that is meant. */
    private String next(String begins) {
        assertThat(left.peek()).isNotNull().startsWith(begins);
        return left.remove();
    }

    private String onBroker() {
        return " -b " + broker;
    }

    private String onService() {
        return " --service http://" + service;
    }

    /** What a command prints; it ends well. */
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
        shell.environment().put("WEIR_TOKEN", TOKEN);
        Process process = shell.start();
        started.add(process);
        return process;
    }

    private String read(String file) throws IOException {
        return Files.readString(directory.resolve(file));
    }

    /** As the reader saves what its first line names. */
    private Path save(String name) throws IOException {
        for (ReadmeTest.Block block : ReadmeTest.yaml()) {
            if (block.text().startsWith("# " + name)) {
                return Files.writeString(directory.resolve(name), block.text());
            }
        }
        throw new AssertionError("no " + name);
    }
}
