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

/**
 * Runs the commands of a page in a shell, in order, with the classes of the test. Ports are replaced by free ones, so
 * tests can run in parallel.
 */
final class CommandWalk implements AutoCloseable {

    static final String WEIR = "target/bin/weir ";

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Pattern READY =
            Pattern.compile("weir is ready: .* API on http://(\\S+)/v1, .* brokers (\\S+)");

    private final Path directory;
    private final Deque<String> left;
    private final List<Process> started = new ArrayList<>();
    private String broker;
    private String service;

    /** Creates a launcher, and a {@code java} on the path of the shell, that use the classes of this test. */
    CommandWalk(Path directory, Path page) throws IOException {
        this.directory = directory;
        left = new ArrayDeque<>(ReadmeTest.commands(page));
        List<String> weir = JavaProcess.of(List.of(), Main.class).command();
        program("target/bin/weir", "exec %s \"$@\"".formatted(quoted(weir)));
        program("bin/java", """
                case "$1 $2" in
                  '-cp target/weir.jar') shift 2; exec %s "$@";;
                  *) exit 99;;
                esac""".formatted(quoted(weir.subList(0, weir.size() - 1))));
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

    /** Stops what was started. */
    @Override
    public void close() throws InterruptedException {
        for (Process process : started) {
            process.destroy();
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
    }

    boolean isFinished() {
        return left.isEmpty();
    }

    /** Returns the next command, which must begin as expected. */
    String next(String begins) {
        assertThat(left.peek()).isNotNull().startsWith(begins);
        return left.remove();
    }

    /** Runs the next command, which must create the file. */
    void create(String file) throws Exception {
        run(next("cat > " + file + " <<'END'"));
    }

    /** Starts an instance with its broker. Later commands use its ports. */
    void startWeir(String command) throws IOException {
        start("run.out", command + " --dev-port 0 --service-port 0");
        await("weir is ready", PATIENCE, () -> READY.matcher(read("run.out")).find());
        Matcher ready = READY.matcher(read("run.out"));
        assertThat(ready.find()).isTrue();
        service = ready.group(1);
        broker = ready.group(2);
    }

    /** Returns the address of the instance: a host and a port. */
    String service() {
        return service;
    }

    /** Returns the output of a command that connects to the broker, which must exit with 0. */
    String runOnBroker(String command) throws Exception {
        return run(command + " -b " + broker);
    }

    /** Returns the output of a command, which must exit with 0. */
    String run(String command) throws Exception {
        Process process = start("out", command);
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(read("out") + read("out.err")).isZero();
        return read("out");
    }

    /** Waits until a command prints a text. */
    void awaitOutput(String expected, String command) {
        await(expected, PATIENCE, () -> run(command).contains(expected));
    }

    private Process start(String out, String command) throws IOException {
        String there = command;
        if (broker != null) {
            there = command.replace("localhost:9092", broker)
                    .replace("localhost:8680", service)
                    .replaceAll("/v1/decide(?!\\?)", "/v1/decide?timeout=10s"); // slow machines need longer
        }
        ProcessBuilder shell = new ProcessBuilder("bash", "-c", there)
                .directory(directory.toFile())
                .redirectOutput(directory.resolve(out).toFile())
                .redirectError(directory.resolve(out + ".err").toFile());
        shell.environment().merge("PATH", directory + "/bin", (path, bin) -> bin + ":" + path);
        Process process = shell.start();
        started.add(process);
        return process;
    }

    String read(String file) throws IOException {
        return Files.readString(directory.resolve(file));
    }
}
