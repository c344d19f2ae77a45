package dev.weir.service.http;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.fault.SafeText;
import dev.weir.topics.UnreachableException;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.javalin.http.MethodNotAllowedResponse;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes answers. */
public final class ResponseWriter {

    private static final Logger LOG = LoggerFactory.getLogger(ResponseWriter.class);

    private ResponseWriter() {}

    public static void write(Context request, BodyFormat format, int status, JsonNode body) {
        request.status(status)
                .header("Vary", "Accept")
                .contentType(format.contentType())
                .result(format.write(body));
    }

    public static void write(Context request, ProblemDetails problem) {
        problem.headers().forEach(request::header);
        request.status(problem.status())
                .contentType(ProblemDetails.CONTENT_TYPE)
                .result(problem.json());
    }

    /** What Javalin itself refuses: a path or a method that there is not. */
    public static void write(Context request, HttpResponseException refusal) {
        if (refusal instanceof MethodNotAllowedResponse) {
            String allowed = refusal.getDetails().values().stream()
                    .flatMap(methods -> Stream.of(methods.split(", ", -1)))
                    .sorted()
                    .collect(Collectors.joining(", "));
            write(request, ProblemDetails.of(405, "this takes " + allowed, Map.of("Allow", allowed)));
        } else if (refusal.getStatus() == 404) {
            write(
                    request,
                    ProblemDetails.of(
                            404, "there is nothing here; /v1/openapi.yaml of the service's port tells what there is"));
        } else {
            write(request, ProblemDetails.of(refusal.getStatus(), "the request cannot be answered"));
        }
    }

    /** The log tells why the brokers do not do what they are asked: it may name them. */
    public static void write(Context request, UnreachableException failure) {
        LOG.warn("{} {}: {}", request.method(), SafeText.of(request.path()), failure.getMessage());
        write(request, ProblemDetails.unavailable("the brokers do not answer"));
    }

    /** What nobody expected is logged here, and told to nobody else. */
    public static void writeUnexpected(Context request, Exception failure) {
        LOG.error("{} {} failed", request.method(), SafeText.of(request.path()), failure);
        write(request, ProblemDetails.of(500, "it failed; the log of this instance tells why"));
    }
}
