package dev.weir.bench.redis;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.utils.Utils;

/** A Redis server process on this machine, which appends each change to a file that is synced every second. */
public final class RedisServer implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path directory;
    private final Path log;
    private final int port;
    private final Process process;
    private final Thread atExit;

    private RedisServer(Path program) throws IOException {
        directory = Files.createTempDirectory("weir-redis-");
        log = directory.resolve("log");
        port = freePort();
        process = new ProcessBuilder(command(program, port))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        atExit = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Finds a program on the PATH; a name with a slash is a path. Empty if there is none. */
    public static Optional<Path> find(String program) {
        String path = program.contains(File.separator) ? "" : System.getenv().getOrDefault("PATH", "");
        return Arrays.stream(path.split(File.pathSeparator))
                .map(directory -> Path.of(directory, program))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .findFirst();
    }

    /** Starts a server, to be stopped by {@link #close}. */
    public static RedisServer start(Path program) throws IOException, InterruptedException {
        RedisServer server = new RedisServer(program);
        try {
            server.awaitReady();
            return server;
        } catch (IOException | InterruptedException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    public int port() {
        return port;
    }

    RedisConnection connect() throws IOException {
        return RedisConnection.open(port);
    }

    private static List<String> command(Path program, int port) {
        return List.of(
                program.toString(),
                "--port",
                String.valueOf(port),
                "--bind",
                "127.0.0.1",
                "--appendonly",
                "yes",
                "--appendfsync",
                "everysec",
                "--save",
                "");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void awaitReady() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!answers()) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                throw new IOException("redis-server did not start: " + lastLine());
            }
            Thread.sleep(20);
        }
    }

    private boolean answers() {
        try (RedisConnection connection = connect()) {
            return "PONG".equals(connection.ask("PING"));
        } catch (IOException e) {
            return false;
        }
    }

    private String lastLine() throws IOException {
        List<String> lines = Files.readAllLines(log);
        return lines.isEmpty() ? "it logged nothing" : lines.get(lines.size() - 1);
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        process.onExit().join();
        Runtime.getRuntime().removeShutdownHook(atExit);
        Utils.delete(directory.toFile());
    }
}
