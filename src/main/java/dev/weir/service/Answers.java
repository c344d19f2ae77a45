package dev.weir.service;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.app.UnreachableException;
import dev.weir.codec.OneLine;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.javalin.http.MethodNotAllowedResponse;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes answers. */
final class Answers {

    private static final Logger LOG = LoggerFactory.getLogger(Answers.class);

    private Answers() {}

    static void write(Context request, Format format, int status, JsonNode body) {
        request.status(status)
                .header("Vary", "Accept")
                .contentType(format.contentType())
                .result(format.write(body));
    }

    static void write(Context request, Problem problem) {
        problem.headers().forEach(request::header);
        request.status(problem.status()).contentType(Problem.CONTENT_TYPE).result(problem.json());
    }

    /** What Javalin itself refuses: a path or a method that there is not. */
    static void write(Context request, HttpResponseException refusal) {
        if (refusal instanceof MethodNotAllowedResponse) {
            String allowed = refusal.getDetails().values().stream()
                    .flatMap(methods -> Stream.of(methods.split(", ", -1)))
                    .sorted()
                    .collect(Collectors.joining(", "));
            write(request, Problem.of(405, "this takes " + allowed, Map.of("Allow", allowed)));
        } else if (refusal.getStatus() == 404) {
            write(
                    request,
                    Problem.of(
                            404, "there is nothing here; /v1/openapi.yaml of the service's port tells what there is"));
        } else {
            write(request, Problem.of(refusal.getStatus(), "the request cannot be answered"));
        }
    }

    /** The log tells why the brokers do not do what they are asked: it may name them. */
    static void write(Context request, UnreachableException failure) {
        LOG.warn("{} {}: {}", request.method(), OneLine.of(request.path()), failure.getMessage());
        write(request, Problem.notNow("the brokers do not answer"));
    }

    /** What nobody expected is logged here, and told to nobody else. */
    static void writeUnexpected(Context request, Exception failure) {
        LOG.error("{} {} failed", request.method(), OneLine.of(request.path()), failure);
        write(request, Problem.of(500, "it failed; the log of this instance tells why"));
    }
}
