package dev.weir.dev;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A JVM of its own with the classes of this one. */
public final class JavaProcess {

    /** Newer JDKs warn of what RocksDB and Kafka's broker do; older ones do not know these options. */
    private static final List<String> QUIET = List.of(
            "-XX:+IgnoreUnrecognizedVMOptions",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow");

    private JavaProcess() {}

    /**
     * A process that is to be started.
     *
     * @param options of the JVM
     */
    public static ProcessBuilder of(List<String> options, Class<?> main, String... args) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(QUIET);
        command.addAll(compilation());
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(), main.getName()));
        command.addAll(List.of(args));
        return new ProcessBuilder(command);
    }

    /** A JVM that is told to compile less, as tests are, starts others that do so too. */
    private static List<String> compilation() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("-XX:TieredStopAtLevel="))
                .toList();
    }

    /** A build tool that runs a main class in its own JVM gives it a class loader, and no class path. */
    private static String classPath() {
        if (!(JavaProcess.class.getClassLoader() instanceof URLClassLoader loader)) {
            return System.getProperty("java.class.path");
        }
        return Arrays.stream(loader.getURLs())
                .map(url -> Path.of(URI.create(url.toString())).toString())
                .collect(Collectors.joining(File.pathSeparator));
    }
}
