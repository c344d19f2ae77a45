package dev.weir.failure.process;

import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A {@link JobWorker} in a process of its own. */
public final class WorkerProcess extends ChildProcess {

    private static final List<String> OPTIONS = List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    private final List<String> arguments;

    public WorkerProcess(String name, Path directory, String bootstrapServers, String group, String prefix) {
        super(name, directory.resolve(name + ".log"));
        arguments = List.of(bootstrapServers, group, prefix);
    }

    @Override
    protected ProcessBuilder command() {
        return JavaProcess.of(OPTIONS, JobWorker.class, arguments.toArray(String[]::new));
    }

    /** Returns the attempts that have started, each as requestId and number. */
    public List<String> started() throws IOException {
        try (var lines = Files.lines(log())) {
            return lines.filter(line -> line.startsWith(JobWorker.STARTS))
                    .map(line -> line.substring(JobWorker.STARTS.length()))
                    .toList();
        }
    }
}
