package dev.weir.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig.Service;
import dev.weir.fault.SafeText;
import dev.weir.runtime.PemFiles;
import dev.weir.service.http.AccessToken;
import dev.weir.topics.UnreachableException;
import dev.weir.wire.Json;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLException;
import picocli.CommandLine.Option;

/** Asks the service of a running instance. */
final class ServiceClient {

    private static final String DEFAULT_URL = "http://127.0.0.1:" + Service.DEFAULT_PORT;
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** Made when it is needed first: all commands are made at once, and it has a thread. */
    private HttpClient http;

    @Option(
            names = "--service",
            paramLabel = "URL",
            defaultValue = DEFAULT_URL,
            description = {
                "The service of any instance (default: ${DEFAULT-VALUE}).",
                "If it asks for a token, the environment variable " + Service.TOKEN_VARIABLE + " has it."
            })
    private String url;

    @Option(
            names = "--service-ca",
            paramLabel = "FILE",
            description = "With https: the PEM file of its certificate authority (default: those that Java trusts).")
    private Path ca;

    /** A client that trusts the certificate authorities of a file, with {@code https}. */
    static HttpClient.Builder trusting(Optional<Path> ca) {
        HttpClient.Builder client = HttpClient.newBuilder();
        try {
            return ca.isPresent() ? client.sslContext(PemFiles.trusting(ca.get())) : client;
        } catch (IOException e) {
            throw new InputException("--service-ca: " + e.getMessage(), e);
        }
    }

    /** As a part of a path or a query. */
    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8)
                .replace("+", "%20")
                .replace(".", "%2E");
    }

    /**
     * What the service answers, empty if there is no such thing.
     *
     * @param path with its query, its parts {@link #encoded}
     * @throws UnreachableException if it does not answer, or cannot now
     * @throws InputException if it refuses
     */
    Optional<JsonNode> get(String path) {
        HttpResponse<String> answer = send(request(path));
        if (answer.statusCode() == 404) {
            return Optional.empty();
        }
        JsonNode body = body(answer);
        if (answer.statusCode() == 200) {
            return Optional.of(body);
        }
        String why = url + ": " + SafeText.of(body.path("detail").asText("it answers " + answer.statusCode()));
        if (answer.statusCode() >= 500) {
            throw new UnreachableException(why, null);
        }
        throw new InputException(why, null);
    }

    private HttpRequest request(String path) {
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url.replaceAll("/+$", "") + path))
                    .timeout(TIMEOUT)
                    .header("Accept", "application/json");
            AccessToken.fromEnvironment(System.getenv())
                    .ifPresent(token -> request.header("Authorization", token.authorization()));
            return request.build();
        } catch (IllegalArgumentException e) {
            throw new InputException("--service must be a URL such as " + DEFAULT_URL + ", is '" + url + "'", e);
        }
    }

    private HttpResponse<String> send(HttpRequest request) {
        http = http == null
                ? trusting(Optional.ofNullable(ca))
                        .connectTimeout(CONNECT_TIMEOUT)
                        .build()
                : http;
        try {
            return http.send(request, BodyHandlers.ofString());
        } catch (SSLException e) {
            throw new UnreachableException(
                    url + " does not speak TLS, or its certificate is not trusted ("
                            + UnreachableException.causeMessage(e)
                            + "); --service-ca names the file of its certificate authority",
                    e);
        } catch (IOException e) {
            String tls = url.startsWith("http://") ? ", with https:// if it has service.tls" : "";
            throw new UnreachableException(
                    "nobody answers at " + url + "; `weir run` does, --service says where" + tls, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while asking " + url, e);
        }
    }

    private JsonNode body(HttpResponse<String> answer) {
        try {
            return Json.MAPPER.readTree(answer.body());
        } catch (JsonProcessingException e) {
            throw new UnreachableException(url + " is not the service of Weir", e);
        }
    }
}
