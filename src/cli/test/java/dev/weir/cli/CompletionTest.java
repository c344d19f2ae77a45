package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.JavaProcess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.jar.Attributes.Name;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Completes words in bash with the script that the command line prints. */
@Tag("full")
class CompletionTest {

    private static final String SCRIPT = """
            source <(weir generate-completion)
            complete -p weir
            completed() {
                COMP_WORDS=(weir "$@") COMP_CWORD=$# COMPREPLY=()
                _complete_weir 2> /dev/null # compopt fails outside of a completion
                echo "$*: ${COMPREPLY[*]}"
            }
            completed pol
            completed policies va
            completed send --skip
            completed policies list --output js
            completed run --log-format te
            """;

    @TempDir
    Path directory;

    @Test
    void bash_completes_commands_options_and_their_values() throws Exception {
        Files.createDirectories(directory.resolve("bin"));
        Files.copy(Path.of("src/deploy/bin/weir"), directory.resolve("bin/weir"));
        writeJar(Files.createDirectory(directory.resolve("lib")).resolve("weir.jar"));
        ProcessBuilder bash = new ProcessBuilder("bash", "--norc", "-c", SCRIPT).redirectErrorStream(true);
        bash.environment().merge("PATH", directory.resolve("bin").toString(), (path, bin) -> bin + ":" + path);
        bash.environment().put("JAVA_HOME", System.getProperty("java.home"));
        bash.environment().put("WEIR_JAVA_OPTS", "-Xshare:auto"); // no class archive
        Process process = bash.start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines())
                .containsExactly(
                        "complete -o default -F _complete_weir weir",
                        "pol: policies policy",
                        "policies va: validate",
                        "send --skip: --skip-invalid",
                        "policies list --output js: json",
                        "run --log-format te: text");
    }

    /** Writes a jar that refers to the class path of this JVM. */
    private static void writeJar(Path jar) throws Exception {
        List<String> java = JavaProcess.of(List.of(), Main.class).command();
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Name.MAIN_CLASS, Main.class.getName());
        manifest.getMainAttributes()
                .put(
                        Name.CLASS_PATH,
                        Arrays.stream(java.get(java.indexOf("-cp") + 1).split(":"))
                                .map(entry -> Path.of(entry).toUri().toString())
                                .collect(Collectors.joining(" ")));
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
    }
}
