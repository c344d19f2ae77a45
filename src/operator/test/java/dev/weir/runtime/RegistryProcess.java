package dev.weir.runtime;

import static dev.weir.testing.Await.await;

import dev.weir.testing.ChildProcess;
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
final class RegistryProcess extends ChildProcess {

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final int port = freePort();
    private final Path directory;

    /**
     * Starts the process and waits until it responds.
     *
     * @param directory the directory of the unpacked distribution
     */
    RegistryProcess(Path directory) throws IOException {
        super("registry", directory.resolve("registry.log"));
        this.directory = directory;
        start();
        awaitAnswer();
    }

    @Override
    protected ProcessBuilder command() throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder command = new ProcessBuilder(java, "-Xmx512m", "-jar", jar(directory));
        command.environment().put("QUARKUS_HTTP_HOST", "127.0.0.1");
        command.environment().put("QUARKUS_HTTP_PORT", String.valueOf(port));
        command.environment().put("QUARKUS_MANAGEMENT_PORT", String.valueOf(freePort()));
        return command.directory(directory.toFile());
    }

    String url() {
        return "http://localhost:" + port + "/apis/registry/v3";
    }

    /** Returns the URL of the API that is compatible with Confluent's registry. */
    String confluentUrl() {
        return "http://localhost:" + port + "/apis/ccompat/v7";
    }

    private void awaitAnswer() {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest question =
                HttpRequest.newBuilder(URI.create(confluentUrl() + "/subjects")).build();
        try {
            await("the registry responds; see its registry.log", PATIENCE, () -> {
                checkAlive();
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
}
