package dev.weir.cli.option;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig.Service;
import dev.weir.console.InputException;
import dev.weir.fault.SafeText;
import dev.weir.kafka.PemFiles;
import dev.weir.kafka.UnreachableException;
import dev.weir.server.http.AccessToken;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLException;
import picocli.CommandLine.Option;

/** A client of the HTTP service of a running instance, with its command line options. */
public final class ServiceClient {

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** Created on first use, because it starts a thread, and picocli creates the objects of all commands. */
    private HttpClient http;

    @Option(
            names = ServiceUrl.OPTION,
            paramLabel = "URL",
            description = {
                "The URL of the HTTP service of any instance (default: the environment variable " + ServiceUrl.VARIABLE
                        + ", or " + ServiceUrl.DEFAULT + ").",
                "If it needs a token, set the environment variable " + Service.TOKEN_VARIABLE + "."
            })
    private String given;

    @Option(
            names = "--service-ca",
            paramLabel = "FILE",
            description = "With https: the PEM file of the certificate authority (default: those that Java trusts).")
    private Path ca;

    /**
     * Returns a builder of HTTP clients.
     *
     * @param ca a PEM file of the certificate authorities to trust; empty for those that Java trusts
     * @throws InputException if the file cannot be read
     */
    public static HttpClient.Builder trusting(Optional<Path> ca) {
        HttpClient.Builder client = HttpClient.newBuilder();
        try {
            return ca.isPresent() ? client.sslContext(PemFiles.trusting(ca.get())) : client;
        } catch (IOException e) {
            throw new InputException("--service-ca: " + e.getMessage(), e);
        }
    }

    /** Encodes a text as a part of a path or a query. */
    public static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8)
                .replace("+", "%20")
                .replace(".", "%2E");
    }

    /**
     * Returns the body of the response; empty for status 404.
     *
     * @param path the path and query, whose parts are {@link #encoded}
     * @throws UnreachableException if the service does not respond, or responds with a status of 500 or above
     * @throws InputException if the service rejects the request
     */
    public Optional<JsonNode> get(String path) {
        return answer(send(request(path).build()));
    }

    /**
     * Posts a JSON document, and returns the response like {@link #get}.
     *
     * @param path the path and query, whose parts are {@link #encoded}
     */
    public Optional<JsonNode> post(String path, JsonNode body) {
        return answer(send(request(path)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(Json.write(body)))
                .build()));
    }

    private Optional<JsonNode> answer(HttpResponse<String> answer) {
        if (answer.statusCode() == 404) {
            return Optional.empty();
        }
        JsonNode body = body(answer);
        if (answer.statusCode() == 200) {
            return Optional.of(body);
        }
        String why = url().text() + ": "
                + SafeText.of(body.path("detail").asText("the service returned status " + answer.statusCode()));
        if (answer.statusCode() >= 500) {
            throw new UnreachableException(why, null);
        }
        throw new InputException(why, null);
    }

    private ServiceUrl url() {
        return given == null
                ? ServiceUrl.ofEnvironment().orElse(ServiceUrl.ofOption(ServiceUrl.DEFAULT))
                : ServiceUrl.ofOption(given);
    }

    private HttpRequest.Builder request(String path) {
        ServiceUrl url = url();
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(
                            URI.create(url.text().replaceAll("/+$", "") + path))
                    .timeout(TIMEOUT)
                    .header("Accept", "application/json");
            AccessToken.fromEnvironment(System.getenv())
                    .ifPresent(token -> request.header("Authorization", token.authorization()));
            return request;
        } catch (IllegalArgumentException e) {
            throw url.invalid(e);
        }
    }

    private HttpResponse<String> send(HttpRequest request) {
        http = http == null
                ? trusting(Optional.ofNullable(ca))
                        .connectTimeout(CONNECT_TIMEOUT)
                        .build()
                : http;
        String url = url().text();
        try {
            return http.send(request, BodyHandlers.ofString());
        } catch (SSLException e) {
            throw new UnreachableException(
                    url + " does not use TLS, or its certificate is not trusted ("
                            + UnreachableException.causeMessage(e)
                            + "); set --service-ca to the PEM file of its certificate authority",
                    e);
        } catch (IOException e) {
            String tls = url.startsWith("http://") ? " (https:// if service.tls is configured)" : "";
            throw new UnreachableException(
                    "no response from " + url + "; start `weir run`, or set --service or " + ServiceUrl.VARIABLE
                            + " to the URL of an instance" + tls,
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while waiting for " + url, e);
        }
    }

    private JsonNode body(HttpResponse<String> answer) {
        try {
            return Json.MAPPER.readTree(answer.body());
        } catch (JsonProcessingException e) {
            throw new UnreachableException(
                    url().text() + ": the response is not JSON; check that --service is the URL of a Weir instance", e);
        }
    }
}
