package dev.weir.testing;

import static dev.weir.testing.Await.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;

/** A process of Apicurio Registry that keeps all data in memory. */
public final class RegistryProcess implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final int port = freePort();
    private final Process process;

    /**
     * Starts the process and waits until it responds.
     *
     * @param directory the directory of the unpacked distribution
     */
    public RegistryProcess(Path directory) throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder start = new ProcessBuilder(java, "-Xmx512m", "-jar", jar(directory));
        start.environment().put("QUARKUS_HTTP_HOST", "127.0.0.1");
        start.environment().put("QUARKUS_HTTP_PORT", String.valueOf(port));
        start.environment().put("QUARKUS_MANAGEMENT_PORT", String.valueOf(freePort()));
        process = start.directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("registry.log").toFile())
                .start();
        awaitAnswer();
    }

    public String url() {
        return "http://localhost:" + port + "/apis/registry/v3";
    }

    /** Returns the URL of the API that is compatible with Confluent's registry. */
    public String confluentUrl() {
        return "http://localhost:" + port + "/apis/ccompat/v7";
    }

    /** Suspends the process with SIGSTOP. */
    public void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    /** Continues the paused process. */
    public void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String signal) throws IOException, InterruptedException {
        int exit = new ProcessBuilder("kill", "-" + signal, String.valueOf(process.pid()))
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IllegalStateException("kill -" + signal + " of the registry failed");
        }
    }

    private void awaitAnswer() {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest question =
                HttpRequest.newBuilder(URI.create(confluentUrl() + "/subjects")).build();
        try {
            await("the registry responds; see its registry.log", PATIENCE, () -> {
                if (!process.isAlive()) {
                    throw new IllegalStateException("the registry has exited; see its registry.log");
                }
                try {
                    HttpResponse<Void> answer = client.send(question, HttpResponse.BodyHandlers.discarding());
                    return answer.statusCode() == 200;
                } catch (IOException e) {
                    return false; // not yet
                }
            });
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private static String jar(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.equals("quarkus-run.jar") || file.endsWith("-runner.jar"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
