package dev.weir.registry;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.wire.RegistryException;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.json.Json;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A client of the <a href="https://docs.confluent.io/platform/current/schema-registry/develop/api.html">API of
 * Confluent's Schema Registry</a>, which other registries have too. The schema of a topic's values is the subject
 * {@code <topic>-value}. Thread-safe.
 */
final class ConfluentRegistry implements SchemaRegistry {

    private static final int MAX_REFERENCES = 100;
    private static final int MAX_DEPTH = 20;

    private static final String MEDIA_TYPE = "application/vnd.schemaregistry.v1+json";
    private static final int NO_SUBJECT = 40401;
    private static final int NO_SCHEMA = 40403;

    private final HttpClient client = HttpClient.newHttpClient();
    private final String url;
    private final boolean registers;
    private final Optional<String> authorization;

    /** A response of the registry. The body is JSON unless a proxy sent it. */
    private record Response(int status, String body) {
        JsonNode json() {
            return Json.read(body);
        }

        /** Returns the registry's error code; 0 if there is none, for example because a proxy sent the response. */
        int errorCode() {
            try {
                return json().path("error_code").asInt();
            } catch (UncheckedIOException e) {
                return 0;
            }
        }

        String reason() {
            return errorCode() == 0
                    ? String.valueOf(status)
                    : errorCode() + " " + json().path("message").asText();
        }
    }

    /** The subject and version of a schema that another one refers to. */
    private record Reference(String subject, int version) {}

    /**
     * Creates a client. It sends no request yet.
     *
     * @param properties at least {@code apicurio.registry.url}. By default, schemas that the registry does not have are
     *     registered
     */
    ConfluentRegistry(Map<String, ?> properties) {
        url = property(properties, "url").orElseThrow().replaceAll("/+$", "");
        registers =
                property(properties, "auto-register").map(Boolean::parseBoolean).orElse(true);
        authorization = property(properties, "auth.username").map(user -> {
            String pair = user + ":" + property(properties, "auth.password").orElse("");
            return "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
        });
    }

    private static Optional<String> property(Map<String, ?> properties, String name) {
        return Optional.ofNullable(properties.get(SchemaRegistryProvider.PREFIX + name))
                .map(Object::toString);
    }

    @Override
    public int id(String topic, String schema) {
        String subject = topic + "-value";
        String path = "/subjects/" + encoded(subject) + (registers ? "/versions" : "");
        Response response = send(path, Optional.of(Json.write(Map.of("schema", schema))));
        if (!registers && (response.errorCode() == NO_SUBJECT || response.errorCode() == NO_SCHEMA)) {
            throw new RegistryException(
                    "the registry at " + url + " does not have the schema of " + subject
                            + ", and registry.auto-register is false",
                    null);
        }
        JsonNode id = succeeded(response).path("id");
        if (!id.isInt()) {
            throw failed("the response has no id", null);
        }
        return id.asInt();
    }

    @Override
    public Optional<List<String>> schema(int id) {
        Response response = send("/schemas/ids/" + Integer.toUnsignedString(id), Optional.empty());
        if (response.errorCode() == NO_SCHEMA) { // from the registry, not from a proxy in front of it
            return Optional.empty();
        }
        JsonNode found = succeeded(response);
        Map<Reference, String> texts = new LinkedHashMap<>();
        addReferences(found, texts, 0);
        List<String> all = new ArrayList<>(texts.values());
        all.add(text(found));
        return Optional.of(all);
    }

    private void addReferences(JsonNode schema, Map<Reference, String> texts, int depth) {
        for (JsonNode one : schema.path("references")) {
            Reference reference = new Reference(
                    one.path("subject").asText(), one.path("version").asInt());
            if (!texts.containsKey(reference) && depth < MAX_DEPTH && texts.size() < MAX_REFERENCES) {
                JsonNode found = succeeded(send(
                        "/subjects/" + encoded(reference.subject) + "/versions/" + reference.version,
                        Optional.empty()));
                addReferences(found, texts, depth + 1);
                texts.put(reference, text(found));
            }
        }
    }

    private String text(JsonNode found) {
        if (!found.path("schema").isTextual()) {
            throw failed("the response has no schema", null);
        }
        return found.get("schema").asText();
    }

    private JsonNode succeeded(Response response) {
        if (response.status != 200) {
            throw failed(response.reason(), null);
        }
        try {
            return response.json();
        } catch (UncheckedIOException e) {
            throw failed("the response is not JSON", e);
        }
    }

    private Response send(String path, Optional<String> body) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(url + path)).header("Accept", MEDIA_TYPE);
        body.ifPresent(
                text -> request.header("Content-Type", MEDIA_TYPE).POST(HttpRequest.BodyPublishers.ofString(text)));
        authorization.ifPresent(value -> request.header("Authorization", value));
        HttpResponse<String> response = RegistryRequest.await(
                client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString()),
                url,
                ConfluentRegistry::reason);
        return new Response(response.statusCode(), response.body());
    }

    private static String reason(Throwable failure) {
        if (failure instanceof ConnectException) { // the JDK's client gives it no message
            return "cannot connect";
        }
        return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
    }

    private RegistryException failed(String reason, Throwable cause) {
        return RegistryRequest.failed(url, reason, cause);
    }

    private static String encoded(String subject) {
        return URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
