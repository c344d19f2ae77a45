package dev.weir.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A finished run of another program.
 *
 * @param succeeded whether it ended in time with the exit code 0
 * @param output its output and errors
 */
public record CommandRun(boolean succeeded, String output) {

    private static final int MINUTES = 2;

    /** Runs a program in a directory. */
    public static CommandRun of(Path directory, String... command) throws IOException, InterruptedException {
        return of(directory, Map.of(), command);
    }

    /** @param environment additional environment variables */
    public static CommandRun of(Path directory, Map<String, String> environment, String... command)
            throws IOException, InterruptedException {
        Path output = directory.resolve("output.txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        boolean ended = process.waitFor(MINUTES, TimeUnit.MINUTES);
        if (!ended) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        return new CommandRun(ended && process.exitValue() == 0, Files.readString(output));
    }
}
