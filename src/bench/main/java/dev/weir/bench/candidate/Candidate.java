package dev.weir.bench.candidate;

import dev.weir.config.WeirConfig;
import dev.weir.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Scanner;

/** A candidate in a separate process, which is paused except during its measurements. */
public final class Candidate implements AutoCloseable {

    /** What a candidate runs. */
    public enum CandidateKind {
        /** The deciding topology. */
        DECIDE,
        /** The deciding topology, and the shaping topology, which grants leases and is never paused. */
        SHARE,
        /** A topology that forwards requests unchanged. */
        PASS,
        /** The shaping topology, whose records are releases, and the deciding topology, which distributes policies. */
        SHAPE
    }

    /**
     * The number of records that a candidate has processed or released.
     *
     * @param nanos the time of the count, by {@link System#nanoTime} of the process
     */
    public record RecordCount(long nanos, long records) {
        double perSecondSince(RecordCount before) {
            return (records - before.records) * 1e9 / (nanos - before.nanos);
        }
    }

    /** How many requests have waited for a lease, and how many lease messages there were. */
    public record LeaseCounts(long waited, long messages) {}

    /** The memory of a candidate in bytes: on the heap, and in RocksDB's block cache. */
    public record MemoryUse(long heapBytes, long rocksBytes) {}

    private final String name;
    private final Process process;
    private final PrintWriter commands;
    private final BufferedReader responses;

    /**
     * Starts a candidate, which is paused until {@link #resume}.
     *
     * @param config the configuration of the enforcer
     * @param options the options of the JVM
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

    public String name() {
        return name;
    }

    public void resume() throws IOException {
        send("resume");
    }

    public void pause() throws IOException {
        send("pause");
    }

    public RecordCount count() throws IOException {
        Scanner words = new Scanner(send("count"));
        return new RecordCount(words.nextLong(), words.nextLong());
    }

    public LeaseCounts leaseCounts() throws IOException {
        Scanner words = new Scanner(send("lent"));
        return new LeaseCounts(words.nextLong(), words.nextLong());
    }

    /** Returns how many requests have been queued. */
    public long admitted() throws IOException {
        return Long.parseLong(send("admitted"));
    }

    /** Returns how many changes of policies and queues have been applied. */
    public long ruleChanges() throws IOException {
        return Long.parseLong(send("rules"));
    }

    /** Returns how many records of changelogs have been read to restore the stores. */
    public long restoredRecords() throws IOException {
        return Long.parseLong(send("restored"));
    }

    /** Returns the resident memory of the process in bytes. */
    public long residentBytes() throws IOException {
        return Long.parseLong(send("resident"));
    }

    /** Leaves the consumer group, so that others take over at once. The candidate processes nothing afterwards. */
    public void leaveGroup() throws IOException {
        send("leave");
    }

    public MemoryUse memoryUse() throws IOException {
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
            throw new IOException(name + " responded with '" + read + "' instead of '" + answer + "'");
        }
    }

    private String read() throws IOException {
        String line = responses.readLine();
        if (line == null) {
            throw new IOException("the process of " + name + " has ended");
        }
        return line;
    }

    /** Kills the process and waits until it has ended. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    /** Closes the standard input of the process, which makes it exit, and waits for that. */
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
        yaml.append(", partitions: ").append(config.topics().partitions());
        yaml.append(", output-format: ")
                .append(config.topics().outputFormat().name().toLowerCase(Locale.ROOT))
                .append("}\n");
        yaml.append("state: {directory: '").append(config.state().directory()).append("', hot-memory: ");
        yaml.append(hotMemory(config.state().hotMemoryBytes()));
        yaml.append(", retention: ").append(config.state().retention().toMillis());
        yaml.append("ms, max-reservations: ")
                .append(config.state().most().reservations())
                .append("}\n");
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

    /** Returns the text for the configuration file. The default is a fraction of the heap of the other process. */
    private static String hotMemory(long bytes) {
        return bytes == WeirConfig.DEFAULTS.state().hotMemoryBytes() ? "default" : String.valueOf(bytes);
    }
}
