package dev.weir.server.decide;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.api.DecidingInstance;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.testing.CommandRun;
import dev.weir.testing.NodePackages;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicReader.From;
import dev.weir.wire.OutputFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the workers of the guide for other languages, with a real broker. One is killed while it processes a job, and
 * another one finishes it.
 */
@Tag("full")
class WorkerExamplesTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Path GUIDE = Path.of("topology-docs", "how-to", "other-languages.md");
    private static final Pattern FENCED = Pattern.compile("```(python|js)\n(.*?)```", Pattern.DOTALL);
    private static final String PYTHON = "/usr/bin/python3";
    private static final String DECIDE = "/v1/decide?timeout=10s";

    /** An attempt lasts long enough to be claimed and completed. A worker that is too slow gets another one. */
    private static final String POLICIES = """
            policies: [{id: jobs, queue: jobs}]
            queues: [{id: jobs, max-in-flight: 1, ack-timeout: 10s, max-attempts: 1000, retry-backoff: 0ms}]
            """;

    @TempDir
    Path directory;

    private final List<Process> workers = new ArrayList<>();

    @AfterEach
    void killWorkers() {
        workers.forEach(Process::destroyForcibly);
    }

    @Test
    void python_finishes_the_job_of_a_worker_that_was_killed() throws Exception {
        assumeTrue(
                Files.isExecutable(Path.of(PYTHON))
                        && CommandRun.of(directory, PYTHON, "-c", "import confluent_kafka")
                                .succeeded(),
                "Python is not tested: install Debian's python3-confluent-kafka");
        String handler = "print(job[\"requestId\"], job[\"attempt\"], flush=True)";
        String hangs = handler + "\n    while __import__(\"os\").environ.get(\"HANGS\"): time.sleep(1)";
        anotherFinishes("python", handler, hangs, PYTHON);
    }

    @Test
    void node_finishes_the_job_of_a_worker_that_was_killed() throws Exception {
        NodePackages.assumeInstalled();
        String handler = "console.log(job.requestId, job.attempt);";
        String hangs = handler + "\n  if (process.env.HANGS) await new Promise(() => {});";
        anotherFinishes("js", handler, hangs, "node");
    }

    private static WeirConfig config(String prefix, Path directory) {
        return DecidingInstance.config(WeirConfig.builder()
                .named("worked-" + prefix)
                .topics(new WeirConfig.Topics("worked-" + prefix + ".", 2, 2, Optional.empty(), OutputFormat.JSON))
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("state"))
                .build());
    }

    private void anotherFinishes(String language, String handler, String hangs, String interpreter) throws Exception {
        WeirConfig config = config(language, directory);
        try (DecidingInstance instance = new DecidingInstance(config, POLICIES);
                TopicReader<Decision> topic = TopicReader.decisions(config, From.BEGINNING, true)) {
            String program = example(language)
                    .replace(handler, hangs)
                    .replace("localhost:9092", TestBroker.shared().bootstrapServers())
                    .replace("localhost:8680", "127.0.0.1:" + instance.port())
                    .replace("'weir.", "'worked-js.")
                    .replace("\"weir.", "\"worked-python.");
            assertThat(program).contains(hangs);
            Path file = Files.writeString(directory.resolve("worker." + language), program);

            Path first = start("first", Map.of("HANGS", "yes"), interpreter, file);
            queue(instance, "slow");
            await("a worker has begun", PATIENCE, () -> lines(first).size() == 1);
            queue(instance, "next");
            workers.get(0).destroyForcibly().waitFor();
            Path second = start("second", Map.of(), interpreter, file);
            await("the jobs are done", PATIENCE, () -> lines(second).stream()
                    .anyMatch(line -> line.startsWith("next ")));

            List<Decision> decisions = new ArrayList<>();
            await("both are completed", PATIENCE, () -> {
                topic.poll(Duration.ofMillis(100), decisions::add);
                return count(decisions, Reason.COMPLETED) == 2;
            });
            assertThat(lines(first)).singleElement().asString().startsWith("slow ");
            assertThat(lines(second)).hasSize(2).doesNotContainAnyElementsOf(lines(first));
            assertThat(lines(second).get(0)).startsWith("slow ");
            assertThat(count(decisions, Reason.EXTENDED)).as("claims").isGreaterThanOrEqualTo(3);
        }
    }

    private static String example(String language) throws IOException {
        List<String> workers = FENCED.matcher(Files.readString(GUIDE))
                .results()
                .filter(fence -> fence.group(1).equals(language))
                .map(fence -> fence.group(2))
                .filter(program -> program.contains("weir.releases"))
                .toList();
        assertThat(workers).hasSize(1);
        return workers.get(0);
    }

    private Path start(String name, Map<String, String> environment, String interpreter, Path program)
            throws IOException {
        Path output = directory.resolve(name + ".txt");
        ProcessBuilder worker = new ProcessBuilder(interpreter, program.toString())
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        worker.environment().putAll(NodePackages.environment());
        worker.environment().putAll(environment);
        workers.add(worker.start());
        return output;
    }

    private static void queue(DecidingInstance instance, String id) throws IOException {
        assertThat(instance.caller()
                        .post(DECIDE, "{\"client\":\"alice\",\"requestId\":\"" + id + "\"}")
                        .json()
                        .get("outcome")
                        .asText())
                .isEqualTo("QUEUED");
    }

    private static List<String> lines(Path output) {
        try {
            return Files.readAllLines(output);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static long count(List<Decision> decisions, Reason reason) {
        return decisions.stream()
                .filter(decision -> decision.reason() == reason)
                .count();
    }
}
