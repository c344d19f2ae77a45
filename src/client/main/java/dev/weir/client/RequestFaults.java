package dev.weir.client;

import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import java.util.Map;
import java.util.Optional;

/** Why Weir would make a dead letter of a request, found out before it is sent. */
final class RequestFaults {

    private RequestFaults() {}

    /** What is wrong, naming the field; empty if nothing is. */
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
                return Optional.of("attributes has a name or a value that is null");
            }
        }
        return rules.check(request).map(RequestRules.Violation::detail);
    }

    private static Optional<String> missing(String field) {
        return Optional.of(field + " is missing");
    }
}
