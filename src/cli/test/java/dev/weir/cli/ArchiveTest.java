package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive of the profile {@code release}, unpacked. */
@Tag("archive")
class ArchiveTest {

    private static final String VERSION = System.getProperty("weir.version");
    private static final Path TARGET = Path.of("target");

    @TempDir
    static Path directory;

    private static Path unpacked;

    @BeforeAll
    static void unpack() throws Exception {
        String archive =
                TARGET.resolve("weir-" + VERSION + ".tar.gz").toAbsolutePath().toString();
        assertThat(run(directory, "tar", "-xzf", archive)).isEqualTo(new CapturedRun(0, "", ""));
        unpacked = directory.resolve("weir-" + VERSION);
    }

    @Test
    void the_version_is_that_of_a_release() {
        assertThat(VERSION).matches("[0-9]+\\.[0-9]+\\.[0-9]+");
    }

    @Test
    void the_archive_contains_exactly_the_listed_files() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            assertThat(files.filter(Files::isRegularFile)
                            .map(file -> unpacked.relativize(file).toString()))
                    .containsExactlyInAnyOrder(
                            "LICENSE",
                            "THIRD-PARTY.txt",
                            "bin/weir",
                            "completion/weir",
                            "config/policies.yaml",
                            "config/weir.yaml",
                            "lib/bom.json",
                            "lib/weir.jar");
        }
    }

    @Test
    void the_launcher_prints_the_version() throws Exception {
        CapturedRun run = weir("--version");
        assertThat(run.exit()).isZero();
        assertThat(run.out()).startsWith("weir " + VERSION);
    }

    @Test
    void the_example_policies_are_valid() throws Exception {
        CapturedRun run = weir("policies", "validate", "config/policies.yaml");
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).startsWith("config/policies.yaml: ").endsWith(", no faults\n");
    }

    @Test
    void bash_completes_commands() throws Exception {
        // Outside a completion, compopt fails.
        String script = "source completion/weir; compopt() { :; }; COMP_WORDS=(weir pol); COMP_CWORD=1; "
                + "_complete_weir; echo \"${COMPREPLY[@]}\"";
        assertThat(run(unpacked, "bash", "-c", script)).isEqualTo(new CapturedRun(0, "policies\n", ""));
    }

    @Test
    void the_checksums_are_those_of_the_files() throws Exception {
        for (String length : List.of("256", "512")) {
            String sums = "SHA" + length + "SUMS";
            List<String> lines = Files.readAllLines(TARGET.resolve(sums));
            assertThat(lines)
                    .filteredOn(line -> line.contains("weir-client"))
                    .extracting(line -> line.replaceAll(".*/", ""))
                    .containsExactlyInAnyOrder(
                            "weir-client-" + VERSION + ".jar",
                            "weir-client-" + VERSION + "-javadoc.jar",
                            "weir-client-" + VERSION + "-sources.jar");
            assertThat(run(TARGET, "shasum", "--algorithm", length, "--check", sums)
                            .exit())
                    .as(sums)
                    .isZero();
        }
    }

    private static CapturedRun weir(String... args) throws Exception {
        return run(
                unpacked, Stream.concat(Stream.of("bin/weir"), Stream.of(args)).toArray(String[]::new));
    }

    private static CapturedRun run(Path where, String... command) throws Exception {
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder process = new ProcessBuilder(command)
                .directory(where.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        // The class archive is created in the background, by a process that outlives the command.
        process.environment().put("WEIR_JAVA_OPTS", "-Xshare:auto");
        int exit = process.start().waitFor();
        CapturedRun run = new CapturedRun(exit, Files.readString(out), Files.readString(err));
        Files.delete(out);
        Files.delete(err);
        return run;
    }
}
