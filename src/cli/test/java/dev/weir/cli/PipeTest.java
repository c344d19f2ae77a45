package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs commands in bash whose standard output is a pipe or a full disk. */
@Tag("full")
class PipeTest {

    /** Ends only if it is stopped: its input is endless. */
    private static final String BACKTEST = "yes '{\"requestId\":\"r\",\"client\":\"alice\",\"timestamp\":5}'"
            + " | weir backtest -p rules.yaml -r - -d -";

    @TempDir
    Path directory;

    @BeforeEach
    void writeRules() throws IOException {
        Files.writeString(
                directory.resolve("rules.yaml"),
                "policies: [{id: p, limits: [{algorithm: fixed-window, limit: 1, per: 1s}]}]\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--help",
                "send --help",
                "--version",
                "generate-completion",
                "policies validate rules.yaml",
                "policies validate rules.yaml --verbose"
            })
    void a_closed_pipe_ends_a_command_silently_with_exit_0(String command) throws Exception {
        // The pipe is closed before the command starts.
        CapturedRun run =
                bash("{ read -r; weir " + command + "; echo $? >&2; } < closed | { exec <&-; echo > closed; }");
        assertThat(run).isEqualTo(new CapturedRun(0, "", "0\n"));
    }

    @Test
    void a_long_output_ends_when_its_reader_exits() throws Exception {
        CapturedRun run = bash(BACKTEST + " | head -1; echo ${PIPESTATUS[1]} >&2");
        assertThat(run.err()).isEqualTo("0\n");
        assertThat(run.out()).hasLineCount(1).contains("ALLOWED");
    }

    @ParameterizedTest
    @CsvSource({"--help, weir", "policies validate rules.yaml, weir policies validate"})
    void a_full_disk_is_an_error(String command, String name) throws Exception {
        assertThat(bash("weir " + command + " > /dev/full"))
                .isEqualTo(
                        new CapturedRun(1, "", name + ": cannot write to standard output: No space left on device\n"));
    }

    @Test
    void a_full_disk_ends_a_long_output() throws Exception {
        assertThat(bash(BACKTEST + " > /dev/full"))
                .isEqualTo(new CapturedRun(
                        1, "", "weir backtest: cannot write to standard output: No space left on device\n"));
    }

    /** Runs a script in which {@code weir} is the command line, and {@code closed} is a named pipe. */
    private CapturedRun bash(String script) throws Exception {
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        List<String> java = JavaProcess.of(List.of(), Main.class).command();
        ProcessBuilder bash = new ProcessBuilder("bash", "-c", """
                weir() { "${java[@]}" "$@"; }
                java=("$@")
                mkfifo closed
                """ + script, "bash");
        bash.command().addAll(java);
        Process process = bash.directory(directory.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        return new CapturedRun(process.exitValue(), Files.readString(out), Files.readString(err));
    }
}
