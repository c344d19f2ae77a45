package dev.weir.bench.gateway;

import dev.weir.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server in a JVM of its own, which prints a line when it is ready. */
final class ServerProcess implements AutoCloseable {

    private static final List<String> JVM = List.of("-Xmx512m", "-XX:+UseParallelGC");

    private final String name;
    private final Process process;

    ServerProcess(Class<?> main, String... args) throws IOException {
        name = main.getSimpleName();
        process = JavaProcess.of(JVM, main, args)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Waits for a line that matches. Returns the match. */
    Matcher awaitLine(Pattern line) throws IOException {
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String text = out.readLine(); text != null; text = out.readLine()) {
            Matcher matcher = line.matcher(text);
            if (matcher.matches()) {
                return matcher;
            }
        }
        throw new IllegalStateException(name + " ended before it was ready");
    }

    /** Suspends the server with SIGSTOP. */
    void pause() throws IOException, InterruptedException {
        int exit = new ProcessBuilder("kill", "-STOP", Long.toString(process.pid()))
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IllegalStateException("kill -STOP " + name + " failed");
        }
    }

    /** Kills the server, whose data is deleted anyway, and waits until it has ended. */
    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
    }
}
