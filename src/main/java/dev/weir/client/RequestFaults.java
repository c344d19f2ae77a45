package dev.weir.client;

import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Why Weir would make a dead letter of a request, found out before it is sent. */
final class RequestFaults {

    private RequestFaults() {}

    /** What is wrong, naming the field; empty if nothing is. */
    static Optional<String> of(Request request, RequestRules rules) {
        Map<String, Object> required = new LinkedHashMap<>();
        required.put("client", request.client());
        required.put("requestId", request.requestId());
        required.put("kind", request.kind());
        required.put("attributes", request.attributes());
        Optional<String> missing = required.entrySet().stream()
                .filter(field -> field.getValue() == null)
                .map(field -> field.getKey() + " is missing")
                .findFirst();
        if (missing.isPresent()) {
            return missing;
        }
        boolean nulls = request.attributes().entrySet().stream()
                .anyMatch(attribute -> Objects.isNull(attribute.getKey()) || Objects.isNull(attribute.getValue()));
        if (nulls) {
            return Optional.of("attributes has a name or a value that is null");
        }
        return rules.check(request).map(RequestRules.Violation::detail);
    }
}
