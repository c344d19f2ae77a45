package dev.weir.cli;

import static dev.weir.cli.DoctorRun.only;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code weir doctor} without a broker. */
@Tag("full")
@Timeout(240)
class DoctorOfflineTest {

    @TempDir
    Path directory;

    private DoctorRun doctor;

    @BeforeEach
    void create() {
        doctor = new DoctorRun("offline", "127.0.0.1:1", directory);
    }

    @Test
    void an_impossible_state_directory_is_reported() throws Exception {
        Path file = Files.writeString(directory.resolve("file"), "");
        String state = "state: {directory: " + file.resolve("state") + "}\n";
        assertThat(only(doctor.found(1, state), "this machine", "state directory"))
                .satisfies(one -> {
                    assertThat(one.verdict()).isEqualTo("FAIL");
                    assertThat(one.found()).contains(file + " is not writable");
                    assertThat(one.advice()).hasSize(1);
                });
    }

    @Test
    void a_world_writable_state_directory_is_reported() throws Exception {
        Path shared = Files.setPosixFilePermissions(
                Files.createDirectory(directory.resolve("tmp")), PosixFilePermissions.fromString("rwxrwxrwx"));
        Path open = Files.setPosixFilePermissions(
                Files.createDirectory(shared.resolve("weir")), PosixFilePermissions.fromString("rwxrwxrwx"));
        String state = "state: {directory: " + open + "}\n";
        assertThat(only(doctor.found(1, state), "this machine", "state directory"))
                .satisfies(one -> {
                    assertThat(one.verdict()).isEqualTo("FAIL");
                    assertThat(one.found()).isEqualTo(open + ": every user can write to it");
                    assertThat(one.advice()).hasSize(1);
                });
    }

    @ParameterizedTest
    @CsvSource({"--nonsense, x", "-b, nonsense", "--service, nonsense", "-c, /no/such/file"})
    void an_invalid_option_is_one_line_and_exit_2(String option, String value) {
        CapturedRun result = Shell.run("doctor", option, value);
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).startsWith("weir doctor: ").hasLineCount(1);
    }
}
