package dev.weir.bench;

import dev.weir.config.WeirConfig;
import dev.weir.dev.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Scanner;

/** One candidate in a process of its own, which works only while it is told to. */
public final class Candidate implements AutoCloseable {

    /** What a lane runs. */
    public enum CandidateKind {
        /** The topology that decides. */
        DECIDE,
        /** The topology that decides, and beside it the one that lends shared quota, which never pauses. */
        SHARE,
        /** A topology that passes requests through. */
        PASS,
        /**
         * The topology that shapes, whose work are releases; beside it the one that decides, which tells it the rules.
         */
        SHAPE
    }

    /**
     * How many records a lane has processed, or released, by its own clock.
     *
     * @param nanos of {@link System#nanoTime} there
     */
    record RecordCount(long nanos, long records) {
        double perSecondSince(RecordCount before) {
            return (records - before.records) * 1e9 / (nanos - before.nanos);
        }
    }

    /** How many requests have waited for shared quota, and how many messages there were about it. */
    record LeaseCounts(long waited, long messages) {}

    /** What a lane holds in memory, in bytes: on the heap, and in RocksDB's cache. */
    record MemoryUse(long heapBytes, long rocksBytes) {}

    private final String name;
    private final Process process;
    private final PrintWriter commands;
    private final BufferedReader responses;

    /**
     * Starts a lane, which stands still until it is told to {@link #resume}.
     *
     * @param config of the enforcer
     * @param options of the JVM
     */
    public Candidate(String name, CandidateKind kind, WeirConfig config, List<String> options) throws IOException {
        this.name = name;
        Path file = Files.createTempFile("weir-bench-", ".yaml");
        Files.writeString(file, yaml(config));
        process = JavaProcess.of(options, CandidateProcess.class, kind.name(), file.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        commands = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
        responses = process.inputReader(StandardCharsets.UTF_8);
        expect("ready");
        Files.delete(file);
    }

    String name() {
        return name;
    }

    void resume() throws IOException {
        send("resume");
    }

    void pause() throws IOException {
        send("pause");
    }

    RecordCount count() throws IOException {
        Scanner words = new Scanner(send("count"));
        return new RecordCount(words.nextLong(), words.nextLong());
    }

    LeaseCounts leaseCounts() throws IOException {
        Scanner words = new Scanner(send("lent"));
        return new LeaseCounts(words.nextLong(), words.nextLong());
    }

    /** How many requests have got to the queues. */
    long admitted() throws IOException {
        return Long.parseLong(send("admitted"));
    }

    /** How often rules of queues have come into force. */
    long ruleChanges() throws IOException {
        return Long.parseLong(send("rules"));
    }

    /** What the process holds of the machine's memory, in bytes. */
    long residentBytes() throws IOException {
        return Long.parseLong(send("resident"));
    }

    /** Lets others take over from it at once; it does nothing more. */
    void leaveGroup() throws IOException {
        send("leave");
    }

    MemoryUse memoryUse() throws IOException {
        Scanner words = new Scanner(send("stores"));
        return new MemoryUse(words.nextLong(), words.nextLong());
    }

    private String send(String order) throws IOException {
        commands.println(order);
        return read();
    }

    private void expect(String answer) throws IOException {
        String read = read();
        if (!read.equals(answer)) {
            throw new IOException(name + " answered '" + read + "' instead of " + answer);
        }
    }

    private String read() throws IOException {
        String line = responses.readLine();
        if (line == null) {
            throw new IOException(name + " has ended");
        }
        return line;
    }

    /** It ends when nobody gives it orders any more. */
    @Override
    public void close() {
        commands.close();
        process.onExit().join();
    }

    private static String yaml(WeirConfig config) {
        StringBuilder yaml = new StringBuilder();
        yaml.append("application-id: ").append(config.applicationId()).append('\n');
        yaml.append("threads: ").append(config.threads()).append('\n');
        yaml.append("topics: {prefix: ").append(config.topics().prefix());
        yaml.append(", partitions: ").append(config.topics().partitions()).append("}\n");
        yaml.append("state: {directory: '").append(config.state().directory()).append("', hot-memory: ");
        yaml.append(hotMemory(config.state().hotMemoryBytes())).append("}\n");
        yaml.append("kafka:\n");
        for (Map.Entry<String, String> entry : config.kafka().entrySet()) {
            yaml.append("  ")
                    .append(entry.getKey())
                    .append(": '")
                    .append(entry.getValue())
                    .append("'\n");
        }
        return yaml.toString();
    }

    /** The default is one of the other process's heap. */
    private static String hotMemory(long bytes) {
        return bytes == WeirConfig.DEFAULTS.state().hotMemoryBytes() ? "default" : String.valueOf(bytes);
    }
}
