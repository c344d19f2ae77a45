package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.release.ReleaseTask;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.failure.check.Breach;
import dev.weir.failure.check.Evidence;
import dev.weir.failure.check.Oracle;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another worker finishes the jobs of one that was killed in the middle of them, and each attempt starts at most once. */
@Tag("full")
class WorkerKillTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final int JOBS = 12;
    private static final int SLOTS = 4;

    /** A worker that is too slow gets another attempt. */
    private static final String POLICIES = """
            policies: [{id: jobs, queue: jobs}]
            queues: [{id: jobs, max-in-flight: 4, ack-timeout: 5s, max-attempts: 1000, retry-backoff: 0ms}]
            """;

    @TempDir
    Path directory;

    /** A worker in a process of its own. It prints what it starts and finishes, and may never finish. */
    static final class Worker extends ChildProcess {

        private final List<String> arguments;

        Worker(String name, Path directory, String bootstrapServers, boolean isEndless) {
            super(name, directory.resolve(name + ".log"));
            arguments = List.of(bootstrapServers, String.valueOf(isEndless));
        }

        @Override
        protected ProcessBuilder command() {
            return JavaProcess.of(
                    List.of("-Xmx128m", "-XX:+UseSerialGC"), Worker.class, arguments.toArray(String[]::new));
        }

        public static void main(String[] args) throws InterruptedException {
            boolean isEndless = Boolean.parseBoolean(args[1]);
            Map<String, String> kafka = Map.of("bootstrap.servers", args[0], "group.id", "workers");
            try (ReleaseWorker worker = ReleaseWorker.builder(kafka, task -> handle(task, isEndless))
                    .start()) {
                Thread.currentThread().join(); // it is killed
            }
        }

        private static void handle(ReleaseTask task, boolean isEndless) throws InterruptedException {
            String attempt = task.release().requestId() + " " + task.attempt();
            System.out.println("starts " + attempt);
            if (isEndless) {
                Thread.currentThread().join();
            }
            System.out.println("ends " + attempt);
        }

        /** Returns the attempts of the lines that start with this. */
        List<String> said(String start) throws IOException {
            try (var lines = Files.lines(log())) {
                return lines.filter(line -> line.startsWith(start + " "))
                        .map(line -> line.substring(start.length() + 1))
                        .toList();
            }
        }
    }

    @Test
    void another_worker_finishes_the_jobs_of_one_that_was_killed() throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = prepare(broker.bootstrapServers());
            Map<String, String> kafka = Map.of("bootstrap.servers", broker.bootstrapServers());
            try (InstanceProcess instance = new InstanceProcess("enforcer", directory, 2, kafka);
                    Worker killed = new Worker("killed", directory, broker.bootstrapServers(), true);
                    Worker other = new Worker("other", directory, broker.bootstrapServers(), false)) {
                instance.start();
                instance.awaitReady();
                queueJobs(kafka);
                killed.start();
                await(
                        "all slots are used",
                        PATIENCE,
                        () -> alive(killed).said("starts").size() >= SLOTS);
                killed.kill();
                other.start();
                await(
                        "all jobs are done",
                        PATIENCE,
                        () -> jobs(alive(other).said("ends")).size() == JOBS);
                Evidence evidence = Evidence.readSettled(config, PATIENCE);

                assertThat(Oracle.check(evidence)).allMatch(Breach::isOk);
                Set<String> held = jobs(killed.said("starts"));
                assertThat(held).hasSizeGreaterThanOrEqualTo(SLOTS);
                assertThat(killed.said("ends")).isEmpty();
                List<String> started = new ArrayList<>(killed.said("starts"));
                started.addAll(other.said("starts"));
                assertThat(started).doesNotHaveDuplicates();
                assertThat(other.said("starts"))
                        .filteredOn(attempt -> held.contains(job(attempt)))
                        .as("later attempts")
                        .noneMatch(attempt -> attempt.endsWith(" 1"));
            }
        }
    }

    private static Worker alive(Worker worker) {
        worker.checkAlive();
        return worker;
    }

    private static WeirConfig prepare(String bootstrapServers) throws Exception {
        WeirConfig config = WeirConfig.builder()
                .topics("weir.", 2)
                .kafka(Map.of("bootstrap.servers", bootstrapServers))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        return config;
    }

    private static void queueJobs(Map<String, String> kafka) throws Exception {
        try (WeirClient client = WeirClient.builder(kafka).timeout(PATIENCE).start()) {
            List<CompletableFuture<?>> queued = new ArrayList<>();
            for (int i = 0; i < JOBS; i++) {
                queued.add(client.decide(RequestBuilder.of("c" + i % 3)
                        .requestId("job" + i)
                        .attribute("endpoint", "/jobs")
                        .build()));
            }
            for (CompletableFuture<?> one : queued) {
                one.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            }
        }
    }

    private static Set<String> jobs(List<String> attempts) {
        Set<String> jobs = new HashSet<>();
        attempts.forEach(attempt -> jobs.add(job(attempt)));
        return jobs;
    }

    private static String job(String attempt) {
        return attempt.substring(0, attempt.indexOf(' '));
    }
}
