package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The script {@code bin/weir}, with a program in place of java that prints its arguments, one on a line. */
@Tag("full")
class LauncherTest {

    private static final Path SCRIPT = Path.of("src/deploy/bin/weir");

    /** Also creates the class archive, as the JVM does. */
    private static final String JAVA = """
            #!/bin/sh
            for argument; do
                echo "$argument"
                case $argument in
                    -XX:ArchiveClassesAtExit=*) echo archive > "${argument#*=}" ;;
                esac
            done
            """;

    @TempDir
    Path directory;

    private Path home;
    private Path java;
    private Path jar;
    private Path script;

    /** The variables of the environment besides PATH. */
    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void install() throws IOException {
        Path weir = Files.createDirectories(directory.toRealPath().resolve("with space/weir-0.1.0"));
        jar = Files.createFile(Files.createDirectory(weir.resolve("lib")).resolve("weir.jar"));
        script = executable(Files.createDirectory(weir.resolve("bin")).resolve("weir"), Files.readString(SCRIPT));
        home = Files.createDirectory(directory.resolve("home"));
        java = Files.createDirectory(directory.resolve("java 17"));
        executable(Files.createDirectory(java.resolve("bin")).resolve("java"), JAVA);
        release("17.0.15");
        environment.put("JAVA_HOME", java.toString());
        environment.put("HOME", home.toString());
    }

    /** Waits for the processes that create archives, because they use the directory and outlive the command. */
    @AfterEach
    void awaitBackground() throws Exception {
        await("the end of all processes of the launcher", Duration.ofSeconds(30), () -> ProcessHandle.allProcesses()
                .noneMatch(process -> Arrays.stream(process.info().arguments().orElse(new String[0]))
                        .anyMatch(argument -> argument.contains(directory.toString()))));
    }

    @Test
    void the_launcher_is_executable() {
        assertThat(SCRIPT).isExecutable();
    }

    @Test
    void the_jar_beside_it_is_found_through_links_and_arguments_are_passed_unchanged() throws Exception {
        Path links = Files.createDirectories(directory.resolve("links/more"));
        Files.createSymbolicLink(links.resolve("absolute"), script);
        Path link = Files.createSymbolicLink(directory.resolve("links/weir"), Path.of("more/absolute"));
        CapturedRun run = run(link, "run", "a  b", "*", "");
        assertThat(run.err()).isEmpty();
        assertThat(run.out().lines()).containsExactly("-jar", jar.toString(), "run", "a  b", "*", "");
    }

    @Test
    void the_jar_is_found_by_a_relative_path_if_directories_are_searched() throws Exception {
        environment.put("CDPATH", ".:/usr"); // then cd prints what it has found
        Path root = script.getParent().getParent();
        CapturedRun run = runIn(root, root.relativize(script), "run");
        assertThat(run.err()).isEmpty();
        assertThat(run.out().lines()).containsExactly("-jar", jar.toString(), "run");
    }

    @Test
    void in_a_checkout_the_jar_of_the_build_is_used() throws Exception {
        Path checkout = Files.createDirectory(directory.toRealPath().resolve("checkout"));
        Path there = executable(
                Files.createDirectories(checkout.resolve("src/deploy/bin")).resolve("weir"), Files.readString(SCRIPT));
        assertThat(run(there, "run")).satisfies(run -> {
            assertThat(run.exit()).isEqualTo(1);
            assertThat(run.err()).startsWith("weir: cannot find ").hasLineCount(1);
        });
        Path built = Files.createFile(
                Files.createDirectory(checkout.resolve("target")).resolve("weir.jar"));
        assertThat(run(there, "run").out().lines()).containsExactly("-jar", built.toString(), "run");
        Path copy = executable(
                Files.createDirectory(checkout.resolve("target/bin")).resolve("weir"), Files.readString(SCRIPT));
        assertThat(run(copy, "run").out().lines()).containsExactly("-jar", built.toString(), "run");
    }

    /** The README uses it. */
    @Test
    void the_build_copies_the_launcher_beside_its_jar() throws Exception {
        assertThat(Files.readString(Path.of("src/cli/pom.xml")))
                .contains(
                        "<outputDirectory>${weir.root}/target/bin</outputDirectory>",
                        "<directory>${weir.root}/src/deploy/bin</directory>");
    }

    @Test
    void without_java_one_line_says_what_to_install() throws Exception {
        environment.put("JAVA_HOME", directory.toString());
        assertThat(run(script, "run"))
                .isEqualTo(new CapturedRun(
                        1,
                        "",
                        "weir: JAVA_HOME is " + directory
                                + ", which has no bin/java; set it to the directory of Java 17 or later\n"));
        environment.remove("JAVA_HOME");
        Path tools = Files.createDirectory(directory.resolve("tools"));
        for (String tool : List.of("dirname", "readlink")) {
            Files.createSymbolicLink(
                    tools.resolve(tool),
                    Stream.of("/usr/bin", "/bin")
                            .map(bin -> Path.of(bin, tool))
                            .filter(Files::exists)
                            .findFirst()
                            .orElseThrow());
        }
        environment.put("PATH", tools.toString());
        assertThat(run(script, "run"))
                .isEqualTo(new CapturedRun(
                        1,
                        "",
                        "weir: cannot find java; install Java 17 or later, or set JAVA_HOME to its directory\n"));
    }

    @ParameterizedTest
    @CsvSource({"1.8.0_452, 1.8.0", "11.0.2, 11.0.2", "16, 16"})
    void an_older_java_is_named_with_its_version(String release, String version) throws Exception {
        release(release);
        String error = "weir: " + java + "/bin/java is Java " + version
                + "; install Java 17 or later, or set JAVA_HOME to its directory\n";
        assertThat(run(script, "run")).isEqualTo(new CapturedRun(1, "", error));
        Files.delete(java.resolve("release"));
        executable(java.resolve("bin/java"), "#!/bin/sh\necho 'openjdk version \"" + release + "\" 2021' >&2\n");
        assertThat(run(script, "run")).isEqualTo(new CapturedRun(1, "", error));
    }

    @ParameterizedTest
    @ValueSource(strings = {"17", "17.0.15", "21.0.12", "25", "26-ea", "100.1"})
    void later_versions_of_java_are_accepted(String version) throws Exception {
        release(version);
        assertThat(run(script, "run").exit()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"--version", "policies validate rules.yaml", "--verbose send", "help run", "run --help"})
    void short_commands_start_fast(String command) throws Exception {
        boolean runs = command.startsWith("run");
        assertThat(run(script, command.split(" ")).out().contains("-XX:TieredStopAtLevel=1\n-XX:+UseSerialGC\n"))
                .isEqualTo(!runs);
    }

    @Test
    void options_of_the_user_are_passed_and_replace_the_collector() throws Exception {
        environment.put("WEIR_JAVA_OPTS", "-Xmx1g -XX:+UseParallelGC");
        assertThat(run(script, "--verbose", "run").out().lines())
                .containsExactly("-Xmx1g", "-XX:+UseParallelGC", "-jar", jar.toString(), "--verbose", "run");
        assertThat(run(script, "policies", "list").out())
                .contains("-Xmx1g\n-XX:+UseParallelGC\n")
                .doesNotContain("UseSerialGC");
    }

    @Test
    void the_class_archive_is_created_once_for_each_jar_and_java() throws Exception {
        assertThat(run(script, "--version").out()).doesNotContain("SharedArchiveFile");
        Path first = awaitArchives(1).get(0);
        assertThat(run(script, "send").out()).contains("-XX:SharedArchiveFile=" + first + "\n");
        assertThat(run(script, "run").out()).doesNotContain("SharedArchiveFile");
        Files.writeString(jar, "another build");
        assertThat(run(script, "send").out()).doesNotContain("SharedArchiveFile");
        awaitArchives(2);
        release("17.0.16");
        run(script, "send");
        awaitArchives(3);
        release("17.0.17");
        run(script, "send");
        await("the oldest archive is deleted", Duration.ofSeconds(10), () -> !Files.exists(first));
        awaitArchives(3);
    }

    /** The container image has such an archive, which belongs to root. */
    @Test
    void the_class_archive_beside_the_jar_is_used_and_no_other_is_created() throws Exception {
        Path archive = Files.createFile(jar.resolveSibling("weir.jsa"));
        assertThat(run(script, "send").out())
                .contains("-Xshare:auto\n-XX:SharedArchiveFile=" + archive + "\n-jar\n" + jar + "\n");
        assertThat(run(script, "run").out()).doesNotContain("SharedArchiveFile");
        environment.put("WEIR_JAVA_OPTS", "-Xshare:off");
        assertThat(run(script, "send").out()).doesNotContain("SharedArchiveFile");
        awaitBackground();
        assertThat(home.resolve(".cache")).doesNotExist();
    }

    @Test
    void a_cache_directory_that_cannot_be_created_is_no_error() throws Exception {
        Path file = Files.createFile(directory.resolve("file"));
        for (String cache : List.of(file.toString(), "/dev/null", "")) {
            environment.put("XDG_CACHE_HOME", cache);
            environment.put("HOME", cache);
            CapturedRun run = run(script, "--version");
            assertThat(run.exit()).isZero();
            assertThat(run.err()).isEmpty();
            assertThat(run.out()).endsWith("-jar\n" + jar + "\n--version\n");
        }
        environment.remove("HOME");
        environment.remove("XDG_CACHE_HOME");
        assertThat(run(script, "--version").err()).isEmpty();
    }

    private List<Path> awaitArchives(int count) {
        Path cache = home.resolve(".cache/weir");
        return awaitValue(count + " archives", Duration.ofSeconds(10), () -> {
            List<Path> files = Files.isDirectory(cache) ? list(cache) : List.of();
            boolean isComplete = files.size() == count
                    && files.stream().allMatch(file -> file.toString().endsWith(".jsa"));
            return isComplete ? files : null;
        });
    }

    private static List<Path> list(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        }
    }

    private void release(String version) throws IOException {
        Files.writeString(
                java.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\nOS_NAME=\"Linux\"\n");
    }

    private static Path executable(Path file, String text) throws IOException {
        Files.writeString(file, text);
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file;
    }

    private CapturedRun run(Path program, String... args) throws Exception {
        return runIn(directory, program, args);
    }

    private CapturedRun runIn(Path workingDirectory, Path program, String... args) throws Exception {
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder process = new ProcessBuilder(
                        Stream.concat(Stream.of("/bin/sh", program.toString()), Stream.of(args))
                                .toList())
                .directory(workingDirectory.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        process.environment().keySet().retainAll(List.of("PATH"));
        process.environment().putAll(environment);
        int exit = process.start().waitFor();
        return new CapturedRun(exit, Files.readString(out, StandardCharsets.UTF_8), Files.readString(err));
    }
}
