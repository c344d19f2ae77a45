package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.deadletter.DeadLetterJson;
import dev.weir.deadletter.DeadLetterList;
import dev.weir.deadletter.DeadLetterPosition;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.server.http.RequestBody;
import dev.weir.server.http.ResponseWriter;
import io.javalin.http.Context;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Supplier;

/** The endpoints that list dead letters and replay them. */
final class DeadLetterApi {

    private static final String REASON = "reason";
    private static final String LIMIT_PARAMETER = "most";
    private static final int DEFAULT_LETTERS = 50;
    private static final int MAX_LETTERS = 1_000;
    private static final String POSITIONS = "positions";
    private static final String AGAIN = "again";

    private final Supplier<RuleService> rules;

    DeadLetterApi(Supplier<RuleService> rules) {
        this.rules = rules;
    }

    /** Returns the newest dead letters. */
    void list(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters parameters = QueryParameters.of(request, REASON, LIMIT_PARAMETER);
        String reason = parameters.text(REASON).map(DeadLetterApi::reason).orElse(null);
        int most = parameters.number(LIMIT_PARAMETER, 1, MAX_LETTERS).orElse(DEFAULT_LETTERS);
        ResponseWriter.write(request, format, 200, DeadLetterJson.of(rules.get().deadLetters(reason, most)));
    }

    private static String reason(String text) {
        try {
            return DeadLetterList.requireReason(text);
        } catch (IllegalArgumentException e) {
            throw bad(e.getMessage());
        }
    }

    /** Writes the dead letters that the body names to the request topic again. */
    void replay(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        BodyFormat sent = BodyFormat.ofContentType(request);
        QueryParameters.requireNone(request);
        JsonNode json = RequestBody.tree(sent, RequestBody.text(request));
        Set<DeadLetterPosition> positions = positions(json);
        boolean again = json.path(AGAIN).asBoolean();
        ResponseWriter.write(request, format, 200, DeadLetterJson.of(rules.get().replay(positions, again)));
    }

    private static Set<DeadLetterPosition> positions(JsonNode json) {
        JsonNode list = json.path(POSITIONS);
        boolean hasAgain = json.path(AGAIN).isBoolean();
        if (json.size() != (hasAgain ? 2 : 1) || !list.isArray() || list.isEmpty() || list.size() > MAX_LETTERS) {
            throw bad("the body must be an object with the field positions, an array of 1 to " + MAX_LETTERS
                    + " positions of dead letters such as \"0:42\", and optionally again, true or false");
        }
        Set<DeadLetterPosition> positions = new LinkedHashSet<>();
        for (int i = 0; i < list.size(); i++) {
            try {
                positions.add(DeadLetterPosition.parse(list.get(i).asText()));
            } catch (IllegalArgumentException e) {
                throw bad("positions[" + i + "]: " + e.getMessage());
            }
        }
        return positions;
    }

    private static ProblemDetails.ProblemException bad(String detail) {
        return ProblemDetails.of(400, detail).exception();
    }
}
