package dev.weir.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.fault.SafeText;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.json.Json;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.javalin.http.MethodNotAllowedResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes responses. */
public final class ResponseWriter {

    private static final Logger LOG = LoggerFactory.getLogger(ResponseWriter.class);

    private ResponseWriter() {}

    public static void write(Context request, BodyFormat format, int status, JsonNode body) {
        request.status(status)
                .header("Vary", "Accept")
                .contentType(format.contentType())
                .result(format.write(body));
    }

    /** @param json the text of a JSON value */
    public static void write(Context request, BodyFormat format, int status, String json) {
        if (format != BodyFormat.JSON) {
            write(request, format, status, Json.read(json));
            return;
        }
        request.status(status)
                .header("Vary", "Accept")
                .contentType(format.contentType())
                .result(json.getBytes(StandardCharsets.UTF_8));
    }

    public static void write(Context request, ProblemDetails problem) {
        problem.headers().forEach(request::header);
        request.status(problem.status())
                .contentType(ProblemDetails.CONTENT_TYPE)
                .result(problem.json());
    }

    /** Writes the response to a request that Javalin rejects, for example because of its path or method. */
    public static void write(Context request, HttpResponseException refusal) {
        if (refusal instanceof MethodNotAllowedResponse) {
            String allowed = refusal.getDetails().values().stream()
                    .flatMap(methods -> Stream.of(methods.split(", ", -1)))
                    .sorted()
                    .collect(Collectors.joining(", "));
            write(request, ProblemDetails.of(405, "method not allowed; use " + allowed, Map.of("Allow", allowed)));
        } else if (refusal.getStatus() == 404) {
            write(
                    request,
                    ProblemDetails.of(404, "there is no such path; /v1/openapi.yaml on service.port lists the paths"));
        } else {
            write(request, ProblemDetails.of(refusal.getStatus(), "the request was rejected"));
        }
    }

    /** Responds with 503. The reason is only logged, because it may name brokers. */
    public static void write(Context request, UnreachableException failure) {
        LOG.warn("{} {} failed: {}", request.method(), SafeText.of(request.path()), failure.getMessage());
        write(request, ProblemDetails.unavailable("the brokers do not answer"));
    }

    /** Responds with 500. The exception is only logged, because it may reveal internals. */
    public static void writeUnexpected(Context request, Exception failure) {
        LOG.error("{} {} failed", request.method(), SafeText.of(request.path()), failure);
        write(request, ProblemDetails.of(500, "the request failed; see the log of this instance"));
    }
}
