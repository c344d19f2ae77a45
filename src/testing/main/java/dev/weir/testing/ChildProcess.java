package dev.weir.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A process that can be started, killed, stopped, paused and resumed any number of times. Its output is appended to one
 * file. It is killed when this JVM shuts down.
 */
public abstract class ChildProcess implements AutoCloseable {

    private static final long STOP_SECONDS = 90;
    private static final int LAST_LINES = 40;

    private final String name;
    private final Path log;
    private Process process;

    /**
     * @param name the name of the process, for messages
     * @param log the file that receives the output
     */
    protected ChildProcess(String name, Path log) {
        this.name = name;
        this.log = log;
    }

    /** Returns the command that starts the process. */
    protected abstract ProcessBuilder command() throws IOException;

    public String name() {
        return name;
    }

    /** Returns the file that receives the output. */
    public Path log() {
        return log;
    }

    /**
     * Starts the process.
     *
     * @throws IllegalStateException if it is already running
     */
    public void start() throws IOException {
        if (isAlive()) {
            throw new IllegalStateException(name + " is already running");
        }
        if (process == null) { // the first start
            Runtime.getRuntime().addShutdownHook(new Thread(this::close, "end-" + name));
        }
        process = command()
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
    }

    public boolean isAlive() {
        return process != null && process.isAlive();
    }

    public long pid() {
        return process.pid();
    }

    /** @throws IllegalStateException if the process has ended; the message contains the end of its output */
    public void checkAlive() {
        if (!isAlive()) {
            throw new IllegalStateException(
                    "%s ended with exit code %d:%n%s".formatted(name, process.exitValue(), lastOutput()));
        }
    }

    private String lastOutput() {
        try {
            List<String> lines = Files.readAllLines(log);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()));
        } catch (IOException e) {
            return log + " cannot be read: " + e.getMessage();
        }
    }

    /** Sends SIGKILL and waits until the process has ended. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /**
     * Sends SIGTERM and waits until the process has ended.
     *
     * @return the exit code
     * @throws IllegalStateException if the process does not end within {@value #STOP_SECONDS} s
     */
    public int stop() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException(name + " did not stop within " + STOP_SECONDS + "s");
        }
        return process.exitValue();
    }

    /** Suspends the process with SIGSTOP. */
    public void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    /** Continues a paused process. */
    public void resume() throws IOException, InterruptedException {
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

    /** Kills the process if it was started. */
    @Override
    public void close() {
        if (process != null) {
            process.destroyForcibly().onExit().join();
        }
    }
}
