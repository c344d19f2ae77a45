package dev.weir.failure;

import dev.weir.JavaProcess;
import dev.weir.cli.Main;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.Utils;

/** An enforcer: {@code weir run} as a process, with a state directory of its own. */
final class Instance extends Node {

    private static final String READY = "weir is ready";
    private static final long READY_SECONDS = 180;
    private static final long POLL_MS = 20;

    private final Path settings;
    private final Path state;
    private long logBefore;

    /** @param kafka what stands in the {@code kafka} section */
    Instance(String name, Path directory, int partitions, Map<String, String> kafka) throws IOException {
        super(name, directory.resolve(name + ".log"));
        state = directory.resolve(name);
        settings = Files.writeString(
                directory.resolve(name + ".yaml"),
                "topics: {partitions: %d}\nstate: {directory: \"%s\"}\nservice: {port: 0}\nkafka:\n  client.id: %s\n"
                                .formatted(partitions, state, name)
                        + kafka.entrySet().stream()
                                .map(entry -> "  %s: \"%s\"%n".formatted(entry.getKey(), entry.getValue()))
                                .collect(Collectors.joining()));
    }

    @Override
    ProcessBuilder command() {
        return JavaProcess.of(List.of("-Xmx384m", "-XX:+UseSerialGC"), Main.class, "run", "-c", settings.toString());
    }

    @Override
    void start() throws IOException {
        logBefore = Files.exists(log()) ? Files.size(log()) : 0;
        super.start();
    }

    /** Waits until it says that it is ready. */
    void awaitReady() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_SECONDS);
        while (!saidSinceStart().contains(READY)) {
            if (!isAlive() || System.nanoTime() - deadline > 0) {
                throw new IllegalStateException(name() + " does not get ready:\n" + saidSinceStart());
            }
            Thread.sleep(POLL_MS);
        }
    }

    private String saidSinceStart() throws IOException {
        try (var in = Files.newInputStream(log())) {
            in.skipNBytes(logBefore);
            return new String(in.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        }
    }

    /** As if its disk had been lost. */
    void deleteState() throws IOException {
        Utils.delete(state.toFile());
    }
}
