package dev.weir.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.weir.testing.JavaProcess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs a process on a terminal, which the program {@code script} of Linux provides. */
@Tag("full")
class TerminalTest {

    /** Prints whether its standard error and its standard output are terminals. */
    static final class Probe {
        public static void main(String[] args) throws InterruptedException {
            System.out.println(Terminal.isStandardError() + " " + Terminal.isStandardOutput());
        }
    }

    @ParameterizedTest
    @CsvSource({"'', truetrue", "2> /dev/null, falsetrue", "< /dev/null | cat, truefalse"})
    void only_the_stream_itself_matters(String redirection, String expected) throws Exception {
        assumeThat(Path.of("/usr/bin/script")).isExecutable();
        assumeThat(System.getProperty("os.name")).isEqualTo("Linux");
        List<String> java = JavaProcess.of(List.of("-Xshare:auto"), Probe.class).command();
        Process terminal = new ProcessBuilder(
                        "script", "-qec", "'" + String.join("' '", java) + "' " + redirection, "/dev/null")
                .start();
        terminal.getOutputStream().close();
        assertThat(new String(terminal.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                        .replaceAll("[^a-z]", ""))
                .isEqualTo(expected);
    }
}
