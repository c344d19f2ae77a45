package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;

/** Reads {@code /v1/live} like the live page. */
final class LiveStream implements AutoCloseable {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpResponse<InputStream> response;
    private final BufferedReader lines;

    /** An event named {@code history}, {@code tick} or {@code now}. */
    record Event(String name, JsonNode data) {}

    /** @param token the token to send; null for none */
    LiveStream(WeirService service, String token) throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + service.port() + "/v1/live"));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        response = HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofInputStream());
        lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
    }

    int status() {
        return response.statusCode();
    }

    /** Returns the next event; null at the end of the stream. */
    Event next() throws IOException {
        String name = lines.readLine();
        if (name == null) {
            return null;
        }
        String data = lines.readLine();
        String end = lines.readLine();
        if (!name.startsWith("event: ") || !data.startsWith("data: ") || !end.isEmpty()) {
            throw new IOException("no event: " + name + " / " + data + " / " + end);
        }
        return new Event(name.substring("event: ".length()), JSON.readTree(data.substring("data: ".length())));
    }

    @Override
    public void close() throws IOException {
        response.body().close();
    }
}
