package dev.weir.failure.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * The wall clock of a process: that of the machine, plus an offset that can change while the process runs. The
 * monotonic clock of the process is not changed.
 */
public final class ProcessClock {

    /** The message for machines on which clocks cannot be changed. */
    public static final String NEEDS =
            "wrong clocks are not tested: this needs Linux with a C compiler (Debian: gcc, libc6-dev)";

    private static final String SOURCE = "/clock/wall_clock.c";

    private final Path library;
    private final Path file;
    private final Supplier<Duration> atStart;

    private ProcessClock(Path library, Path file, Supplier<Duration> atStart) {
        this.library = library;
        this.file = file;
        this.atStart = atStart;
    }

    /** The library that shifts clocks, compiled into a directory. */
    public static final class Library {

        private final Path directory;
        private final Path path;

        private Library(Path directory, Path path) {
            this.directory = directory;
            this.path = path;
        }

        /** Whether {@link #compile} can succeed. */
        public static boolean isPossible() throws InterruptedException {
            try {
                return System.getProperty("os.name").equals("Linux") && run("cc", "--version").exit == 0;
            } catch (IOException e) {
                return false;
            }
        }

        public static Library compile(Path directory) throws IOException, InterruptedException {
            Path source = directory.resolve("wall_clock.c");
            Path library = directory.resolve("wall_clock.so");
            try (InputStream in = ProcessClock.class.getResourceAsStream(SOURCE)) {
                Files.copy(in, source);
            }
            Ended compiled =
                    run("cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", library.toString(), source.toString(), "-ldl");
            if (compiled.exit != 0) {
                throw new IOException("cannot compile " + source + ":\n" + compiled.output);
            }
            return new Library(directory, library);
        }

        /** @param atStart returns the offset for each start of a process */
        public ProcessClock clock(String name, Supplier<Duration> atStart) {
            return new ProcessClock(path, directory.resolve(name + ".offset"), atStart);
        }

        private static Ended run(String... command) throws IOException, InterruptedException {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Ended(process.waitFor(), output);
        }

        private record Ended(int exit, String output) {}
    }

    /** Configures a process that is about to start to use this clock. */
    public void startIn(ProcessBuilder process) throws IOException {
        set(atStart.get());
        process.environment().put("LD_PRELOAD", library.toString());
        process.environment().put("WALL_CLOCK_OFFSET", file.toString());
    }

    /** Steps the clock of the process. */
    public void set(Duration offset) throws IOException {
        ByteBuffer millis = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
        millis.putLong(0, offset.toMillis());
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(millis, 0);
        }
    }
}
