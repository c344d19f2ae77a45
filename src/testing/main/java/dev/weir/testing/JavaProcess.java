package dev.weir.testing;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Builds commands that start another JVM with the class path of this one. */
public final class JavaProcess {

    /** Disables the warnings of newer JDKs about RocksDB and Kafka's broker. Older JDKs ignore the options. */
    private static final List<String> QUIET = List.of(
            "-XX:+IgnoreUnrecognizedVMOptions",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow");

    /** The beginnings of the options that a new JVM takes over from this one: tests shorten starts with them. */
    private static final List<String> INHERITED = List.of(
            "-XX:TieredStopAtLevel=",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote",
            "-XX:MetaspaceSize=");

    private JavaProcess() {}

    /**
     * Returns the builder of a process.
     *
     * @param options the JVM options
     * @param main the main class
     * @param args the arguments of the main class
     */
    public static ProcessBuilder of(List<String> options, Class<?> main, String... args) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(QUIET);
        command.addAll(inherited());
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(), main.getName()));
        command.addAll(List.of(args));
        return new ProcessBuilder(command);
    }

    private static List<String> inherited() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> INHERITED.stream().anyMatch(option::startsWith))
                .toList();
    }

    /** Returns the class path. Build tools that run a main class in their own JVM use a class loader instead. */
    private static String classPath() {
        if (!(JavaProcess.class.getClassLoader() instanceof URLClassLoader loader)) {
            return System.getProperty("java.class.path");
        }
        return Arrays.stream(loader.getURLs())
                .map(url -> Path.of(URI.create(url.toString())).toString())
                .collect(Collectors.joining(File.pathSeparator));
    }
}
