package dev.weir.failure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process that is started, killed, stopped and continued, again and again. Its output is kept in one file. */
abstract class Node implements AutoCloseable {

    private static final long STOP_SECONDS = 90;
    private static final int LAST_LINES = 40;

    private final String name;
    private final Path log;
    private Process process;

    Node(String name, Path log) {
        this.name = name;
        this.log = log;
    }

    abstract ProcessBuilder command() throws IOException;

    String name() {
        return name;
    }

    Path log() {
        return log;
    }

    void start() throws IOException {
        if (isAlive()) {
            throw new IllegalStateException(name + " runs already");
        }
        process = command()
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
    }

    boolean isAlive() {
        return process != null && process.isAlive();
    }

    long pid() {
        return process.pid();
    }

    /** @throws IllegalStateException if it has ended by itself, with what it said last */
    void checkAlive() {
        if (!isAlive()) {
            throw new IllegalStateException(
                    "%s has ended with %d:%n%s".formatted(name, process.exitValue(), saidLast()));
        }
    }

    private String saidLast() {
        try {
            List<String> lines = Files.readAllLines(log);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()));
        } catch (IOException e) {
            return log + " cannot be read: " + e.getMessage();
        }
    }

    /** As {@code kill -9}: when it returns, the process is gone. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /**
     * As {@code kill}: waits for the end.
     *
     * @return the exit code
     */
    int stop() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException(name + " does not stop within " + STOP_SECONDS + " s");
        }
        return process.exitValue();
    }

    /** It stands still, and does not know that it does. */
    void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String signal) throws IOException, InterruptedException {
        int exit = new ProcessBuilder("kill", "-" + signal, String.valueOf(process.pid()))
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IllegalStateException("kill -" + signal + " " + name + " failed");
        }
    }

    @Override
    public void close() {
        if (process != null) {
            process.destroyForcibly().onExit().join();
        }
    }
}
