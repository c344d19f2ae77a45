package dev.weir.client;

import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import java.util.Map;
import java.util.Optional;

/**
 * Checks requests before they are sent, by the rules of the enforcer, which would write an invalid request to the
 * dead letters.
 */
final class RequestFaults {

    private RequestFaults() {}

    /** Returns what is wrong with a request, with the name of the field; empty if it is valid. */
    static Optional<String> of(Request request, RequestRules rules) {
        if (request.client() == null) {
            return missing("client");
        }
        if (request.requestId() == null) {
            return missing("requestId");
        }
        if (request.kind() == null) {
            return missing("kind");
        }
        if (request.attributes() == null) {
            return missing("attributes");
        }
        for (Map.Entry<String, String> attribute : request.attributes().entrySet()) {
            if (attribute.getKey() == null || attribute.getValue() == null) {
                return Optional.of("attributes must not contain a null name or value");
            }
        }
        return rules.check(request).map(RequestRules.Violation::detail);
    }

    private static Optional<String> missing(String field) {
        return Optional.of(field + " is required");
    }
}
