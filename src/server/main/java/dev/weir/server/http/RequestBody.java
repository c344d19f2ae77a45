package dev.weir.server.http;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/** Request bodies and their maximum length. */
public final class RequestBody {

    /**
     * The maximum length, enough for any policy and payload. Larger policy files can be applied on the command line.
     */
    public static final int MAX_BYTES = 2 << 20;

    static final String TOO_LONG = "the body has more than " + MAX_BYTES + " bytes";

    private RequestBody() {}

    /**
     * Returns the body as text. {@link BodyLoader} has checked its length.
     *
     * @throws ProblemDetails.ProblemException with 400 if it is not UTF-8
     */
    public static String text(Context request) {
        try (InputStream in = request.bodyInputStream()) {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(in.readAllBytes()))
                    .toString();
        } catch (CharacterCodingException e) {
            throw ProblemDetails.of(400, "the body is not UTF-8").exception();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: the body is in memory
        }
    }

    /**
     * Returns the body as a request.
     *
     * @param parser parses JSON
     * @throws ProblemDetails.ProblemException with 400 if it is invalid, or violates a rule
     */
    public static Request request(
            BodyFormat format, String body, Function<String, Request> parser, RequestRules rules) {
        Request request;
        try {
            request = parser.apply(format == BodyFormat.JSON ? body : String.valueOf(tree(format, body)));
        } catch (IllegalArgumentException e) {
            throw ProblemDetails.of(400, "the body: " + e.getMessage()).exception();
        }
        requireValid(request, rules);
        return request;
    }

    /** @throws ProblemDetails.ProblemException with 400 if the request violates a rule */
    public static void requireValid(Request request, RequestRules rules) {
        rules.check(request).ifPresent(violation -> {
            throw ProblemDetails.of(400, violation.detail()).exception();
        });
    }

    /**
     * Returns the body as a tree.
     *
     * @throws ProblemDetails.ProblemException with 400 if it is not in the format, or has a duplicate key
     */
    public static JsonNode tree(BodyFormat format, String body) {
        try {
            return format.read(body);
        } catch (JsonProcessingException e) {
            JsonLocation location = e.getLocation(); // null if a value is too long or nested too deeply
            String where = location == null ? "" : ": line " + location.getLineNr();
            String why = String.valueOf(e.getOriginalMessage()).startsWith("Duplicate")
                    ? "the body has a duplicate key"
                    : "the body is not " + format;
            throw ProblemDetails.of(400, why + where).exception();
        } catch (IllegalArgumentException e) {
            throw ProblemDetails.of(400, "the body: " + e.getMessage()).exception();
        }
    }
}
