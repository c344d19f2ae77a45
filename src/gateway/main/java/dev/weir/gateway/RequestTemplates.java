package dev.weir.gateway;

import dev.weir.client.RequestBuilder;
import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The templates that make a Weir request of a proxied request.
 *
 * @param client the client; a request without it is refused
 * @param tier the tier; empty, or without value, for none
 * @param attributes the attributes by name; an attribute without value is left out
 * @param cost the cost; empty, or without value, for 1
 * @param requestId the request id; empty, or without value, for a new one
 */
record RequestTemplates(
        Template client,
        Optional<Template> tier,
        Map<String, Template> attributes,
        Optional<Template> cost,
        Optional<Template> requestId) {

    /** The API key or, without it, the address; with the method, the path and the host as attributes. */
    static final RequestTemplates DEFAULTS = new RequestTemplates(
            Template.parse("{header.x-api-key|address}"),
            Optional.empty(),
            Map.of(
                    "method", Template.parse("{method}"),
                    "path", Template.parse("{path}"),
                    "host", Template.parse("{host}")),
            Optional.empty(),
            Optional.empty());

    private static final Pattern COST = Pattern.compile("[0-9]{1,18}");

    RequestTemplates {
        attributes = Map.copyOf(attributes);
    }

    /**
     * Parses the template of a cost.
     *
     * @throws IllegalArgumentException as {@link Template#parse} does, and if it is a text that is not a cost
     */
    static Template parseCost(String text) {
        Template template = Template.parse(text);
        if (text.indexOf('{') < 0 && !COST.matcher(text).matches()) {
            throw new IllegalArgumentException("must be a whole number or have a placeholder, is '" + text + "'");
        }
        return template;
    }

    /**
     * Returns the Weir request for a proxied request. Attributes that are too long are cut.
     *
     * @param rules the bounds of requests, which are only checked when it is decided, except for those of attributes
     * @param ids returns new request ids
     * @throws InvalidCallException if there is no client, or if a value is invalid
     */
    Request toRequest(ProxiedRequest proxied, RequestRules rules, Supplier<String> ids) {
        String name = client.evaluate(proxied)
                .orElseThrow(() -> new InvalidCallException(
                        InvalidCallException.UNAUTHORIZED, "the request has no client: " + client + " has no value"));
        RequestBuilder builder = RequestBuilder.of(name);
        tier.flatMap(template -> template.evaluate(proxied)).ifPresent(builder::tier);
        for (Map.Entry<String, Template> attribute : attributes.entrySet()) {
            attribute
                    .getValue()
                    .evaluate(proxied)
                    .ifPresent(value -> builder.attribute(attribute.getKey(), cut(value, rules.maxAttributeLength())));
        }
        cost.flatMap(template -> template.evaluate(proxied)).ifPresent(value -> builder.cost(cost(value)));
        builder.requestId(
                requestId.flatMap(template -> template.evaluate(proxied)).orElseGet(ids));
        return builder.build();
    }

    private static long cost(String value) {
        if (!COST.matcher(value).matches()) {
            throw new InvalidCallException(
                    InvalidCallException.BAD_REQUEST, "the cost must be a whole number, is '" + value + "'");
        }
        return Long.parseLong(value);
    }

    private static String cut(String value, int maxLength) {
        return value.codePointCount(0, value.length()) <= maxLength
                ? value
                : value.substring(0, value.offsetByCodePoints(0, maxLength));
    }
}
