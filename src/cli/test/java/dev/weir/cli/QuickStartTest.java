package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the README's first steps with real processes. */
@Tag("full")
class QuickStartTest {

    private static final String RULES =
            "policies:\n  - id: free\n    match: {tier: free}\n    limits: [{algorithm: sliding-window-log, limit: %d, per: 1m}]\n";

    @TempDir
    Path directory;

    @Test
    void the_quick_start_decides_by_changed_policies_and_leaves_nothing_behind() throws Exception {
        Path rules = write("rules.yaml", RULES.formatted(2));
        Path temp = Files.createDirectory(directory.resolve("tmp"));
        Process weir =
                start(temp, "run", "--dev", "--dev-port", "0", "--service-port", "0", "--policies", rules.toString());
        try (BufferedReader out = reader(weir)) {
            assertThat(out.readLine()).isEqualTo("added      free (version 1)");
            String ready = out.readLine();
            assertThat(ready)
                    .matches("weir is ready: requests on weir\\.requests, decisions on weir\\.decisions,"
                            + " API on http://127\\.0\\.0\\.1:[0-9]+/v1, live page on http://127\\.0\\.0\\.1:[0-9]+/,"
                            + " health on http://127\\.0\\.0\\.1:[0-9]+/health/ready, brokers 127\\.0\\.0\\.1:[0-9]+");
            String broker = ready.substring(ready.lastIndexOf(' ') + 1);

            assertThat(ask(broker, "r1", "r2", "r2"))
                    .satisfiesExactly(
                            line -> assertThat(line).contains("\"r1\"", "ALLOWED", "\"remaining\":1"),
                            line -> assertThat(line).contains("\"r2\"", "ALLOWED", "\"remaining\":0"),
                            line -> assertThat(line).contains("\"r2\"", "DENIED", "\"policyVersion\":1"));

            String service = ready.replaceFirst(".* API on (http://[^/]*)/v1,.*", "$1");
            assertThat(Shell.run("usage", "alice", "--tier", "free", "--service", service)
                            .out())
                    .containsPattern("free \\(version 1\\) +client=alice +sliding-window-log 2/1m +2 +0 ");

            write("rules.yaml", RULES.formatted(3));
            assertThat(Shell.run("policies", "apply", "-b", broker, rules.toString())
                            .out())
                    .isEqualTo("""
                            changed    free (version 2)
                                limits[0].limit: 2 -> 3
                                sliding-window-log 3/1m: keeps what was used of sliding-window-log 2/1m
                            """);
            assertThat(Shell.run("policies", "list", "-b", broker).out())
                    .endsWith("\npolicy  free  2        {\"id\":\"free\",\"match\":{\"tier\":\"free\"},\"limits\":"
                            + "[{\"algorithm\":\"sliding-window-log\",\"limit\":3,\"per\":\"1m\"}]}\n");
            List<String> more = new ArrayList<>();
            for (int i = 4; i < 200 && more.stream().noneMatch(line -> line.contains("\"policyVersion\":2")); i++) {
                more = ask(broker, "r" + i);
            }
            assertThat(more).hasSize(1).allMatch(line -> line.contains("ALLOWED")); // the third of three

            String[] reset = {"policies", "reset", "-b", broker, "--author", "carol", "alice", "--tier", "free"};
            assertThat(Shell.run(reset))
                    .isEqualTo(new CapturedRun(0, "freed the usage of alice: 3 of sliding-window-log 3/1m left\n", ""));
            String[] one = {"policies", "reset", "-b", broker, "alice", "--tier", "free", "--policy", "free"};
            assertThat(Shell.run(one))
                    .isEqualTo(new CapturedRun(
                            0, "freed the usage of alice by free: 3 of sliding-window-log 3/1m left\n", ""));
            one[one.length - 1] = "fre";
            assertThat(Shell.run(one))
                    .isEqualTo(new CapturedRun(
                            1,
                            "",
                            "weir policies reset: nothing was freed: the policy fre does not exist or does not apply to"
                                    + " these requests of alice\n"));
            reset[reset.length - 1] = "gold";
            assertThat(Shell.run(reset))
                    .isEqualTo(new CapturedRun(
                            1, "", "weir policies reset: no policy applies to these requests of alice\n"));

            CapturedRun watched =
                    Shell.run("watch", "decisions", "-b", broker, "--from-beginning", "-n", "3", "--client", "alice");
            assertThat(watched.out().lines()).hasSize(3).allMatch(line -> line.contains("\"client\":\"alice\""));
            assertThat(Shell.run("policies", "delete", "-b", broker, "free").exit())
                    .isZero();
            assertThat(Shell.run("policies", "delete", "-b", broker, "free").exit())
                    .isEqualTo(2);
            aQueueAnswersAndReleases(broker, service);
        } finally {
            weir.destroy(); // SIGTERM
        }
        assertThat(weir.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Files.readString(directory.resolve("err"))).isEmpty();
        try (Stream<Path> left = Files.list(temp)) {
            assertThat(left.filter(path -> path.getFileName().toString().startsWith("weir")))
                    .isEmpty();
        }
    }

    @Test
    void the_demo_prints_only_the_counts() throws Exception {
        Path temp = Files.createDirectory(directory.resolve("tmp"));
        Process demo = start(temp, "demo");
        List<String> lines;
        try (BufferedReader out = reader(demo)) {
            lines = out.lines().toList();
        }
        assertThat(demo.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(demo.exitValue()).isZero();
        assertThat(lines)
                .anyMatch(line -> line.matches(" +all requests +30,969 +18,253 +[0-9,]+ +[0-9,]+ +[0-9.]+%"))
                .anyMatch(line -> line.matches(" +same-image +10,618 +9,801 +0 +817 +7\\.7%"))
                .anyMatch(
                        line -> line.matches("  released .* tokens a second .* for [0-9,]+ keys; the total is 600\\.0"))
                .allMatch(line -> !line.startsWith("  gaps ")
                        || line.matches("  gaps .* min [1-9][0-9]{2}ms, p50 .* by its rate 100ms"))
                .anyMatch(line -> line.matches("  commercial +done after [0-9.]+ s on average"))
                .anyMatch(line -> line.matches("All 45 jobs are done after [0-9.]+ s, in [0-9]+ attempts: .*"))
                .last()
                .asString()
                .matches(
                        "30,969 requests in [0-9m .]+s\\. At [0-9,]+ requests/s, .* p50 [0-9.]+m?s, p99 [0-9.]+m?s\\.");
        assertThat(Files.readString(directory.resolve("err")))
                .as("no progress bar: standard error is a file")
                .isEmpty();
        try (Stream<Path> left = Files.list(temp)) {
            assertThat(left.filter(path -> path.getFileName().toString().startsWith("weir")))
                    .isEmpty();
        }
    }

    /** Applies the README's first queue, sends a request to it, and deletes it. */
    private void aQueueAnswersAndReleases(String broker, String service) throws IOException {
        Path queue = write("sms.yaml", ReadmeTest.files().get("sms.yaml"));
        assertThat(Shell.run("policies", "apply", "-b", broker, queue.toString())
                        .out())
                .isEqualTo("added      queue sms (version 1)\nadded      all-sms (version 1)\n");
        Path request = write(
                "sms.ndjson",
                "{\"requestId\":\"m1\",\"client\":\"bob\",\"tier\":\"gold\",\"attributes\":{\"endpoint\":\"/sms\"},"
                        + "\"payload\":\"aGVsbG8=\"}\n");
        String answer = "";
        for (int i = 0; i < 200 && !answer.contains("QUEUED"); i++) { // until the policy is in force
            answer = Shell.run("send", "-b", broker, "--await", request.toString())
                    .out();
        }
        assertThat(answer).contains("\"outcome\":\"QUEUED\"", "\"queue\":\"sms\"", "\"httpStatus\":202");
        CapturedRun released =
                Shell.run("watch", "releases", "-b", broker, "--queue", "sms", "--from-beginning", "-n", "1");
        assertThat(released.out()).contains("\"requestId\":\"m1\"", "\"sequence\":1", "\"payload\":\"aGVsbG8=\"");
        assertThat(Shell.run("queues", "--service", service).out())
                .containsPattern("sms +1 +2/1s +- +0 +- +0s +[0-9]+\n");
        assertThat(Shell.run("policies", "delete", "-b", broker, "--queue", "sms")
                        .exit())
                .isEqualTo(2); // a policy refers to it
        assertThat(Shell.run("policies", "delete", "-b", broker, "all-sms").exit())
                .isZero();
        assertThat(Shell.run("policies", "delete", "-b", broker, "--queue", "sms")
                        .out())
                .isEqualTo("deleted    queue sms (version 2): denies new requests; waiting requests drain\n");
    }

    private List<String> ask(String broker, String... ids) throws IOException {
        StringBuilder requests = new StringBuilder();
        for (String id : ids) {
            requests.append("{\"requestId\":\"%s\",\"client\":\"alice\",\"tier\":\"free\"}\n".formatted(id));
        }
        Path file = write("requests.ndjson", requests.toString());
        CapturedRun result = Shell.run("send", "-b", broker, "--await", file.toString());
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.err()).isEqualTo(ids.length + " sent\n");
        return result.out().lines().toList();
    }

    private Process start(Path temp, String... args) throws IOException {
        return JavaProcess.of(List.of("-Djava.io.tmpdir=" + temp), Main.class, args)
                .redirectError(directory.resolve("err").toFile())
                .start();
    }

    private static BufferedReader reader(Process process) {
        return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    private Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }
}
