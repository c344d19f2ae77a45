package dev.weir.api;

import dev.weir.server.http.ProblemDetails;
import dev.weir.shape.rules.QueueRules;
import io.javalin.http.Context;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The last part of a path that names one key of a queue: {@code name=value} pairs joined by {@code &}, percent-encoded
 * as in a form.
 */
final class QueueKeyPath {

    private static final String FORM = "the key must be NAME=VALUE pairs joined by &, percent-encoded as in a form,"
            + " such as /v1/queues/webhooks/keys/destination=example.com";

    private QueueKeyPath() {}

    /** @throws ProblemDetails.ProblemException with 400 if these are not such pairs, or a name is repeated */
    static Map<String, String> read(Context request) {
        String path = request.req().getRequestURI(); // not decoded: a decoded & would be ambiguous
        Map<String, String> key = new TreeMap<>();
        for (String pair : path.substring(path.lastIndexOf('/') + 1).split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals < 1) {
                throw ProblemDetails.of(400, FORM).exception();
            }
            String name = decoded(pair.substring(0, equals));
            if (key.put(name, decoded(pair.substring(equals + 1))) != null) {
                throw ProblemDetails.of(400, "the key has '" + name + "' twice").exception();
            }
        }
        return key;
    }

    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw ProblemDetails.of(400, FORM).exception();
        }
    }

    /** @throws ProblemDetails.ProblemException with 400 if the fields are not those of the queue */
    static void requireFields(Map<String, String> key, QueueRules rules) {
        String queue = "/v1/queues/" + rules.id();
        if (!rules.isKeyed()) {
            throw ProblemDetails.of(400, "queue '" + rules.id() + "' has no key fields: use " + queue)
                    .exception();
        }
        if (!key.keySet().equals(Set.copyOf(rules.key()))) {
            String expected =
                    rules.key().stream().map(field -> field + "=VALUE").collect(Collectors.joining("&"));
            throw ProblemDetails.of(
                            400,
                            "the key fields of queue '" + rules.id() + "' are " + String.join(", ", rules.key())
                                    + ": use " + queue + "/keys/" + expected)
                    .exception();
        }
    }
}
