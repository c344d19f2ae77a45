package dev.weir.spring;

import dev.weir.client.Fallback;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Request;
import dev.weir.http.PathRules;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/**
 * The properties {@code weir.*}.
 *
 * @param enabled whether the client, the filters and the annotation are configured
 * @param bootstrapServers the Kafka brokers. The default is that of Spring for Apache Kafka:
 *     spring.kafka.bootstrap-servers
 * @param kafka properties of Kafka's clients. The prefixes producer. and consumer. select one of them. They override
 *     spring.kafka.properties and spring.kafka.security.protocol
 * @param prefix the prefix of the topic names, as topics.prefix of the enforcers
 * @param applicationId the application-id of the enforcers. Only a leased client needs it
 * @param timeout how long a request waits for its decision
 * @param fallback what happens if there is no decision in time: fail throws an exception, fail-open allows the request,
 *     fail-closed denies it
 * @param fallbackOnOverload whether the fallback also decides requests that are shed because there are too many.
 *     Otherwise fail-open denies them
 * @param maxInFlight how many requests can wait for their decisions at the same time
 * @param committed whether the client waits until decisions are committed
 * @param leased whether the client leases quota and decides requests in this process
 * @param maxBlockedThreads how many threads can be blocked at the same time by calls that policies throttle. Further
 *     calls are refused with the delay as retry time. The default is a quarter of server.tomcat.threads.max
 * @param xRateLimit whether responses also have the older fields X-RateLimit-Limit, X-RateLimit-Remaining and
 *     X-RateLimit-Reset, the latter as delta-seconds or epoch-seconds, or those of each policy in OpenAI's format
 * @param circuit when the client stops sending requests because recent ones got no decision
 * @param holdTtl how long after its start, or its last renewal, a reservation that a filter or method holds ends if the
 *     application does not release it, 1s to 30d. At most the shortest ttl of the concurrency limits that apply
 * @param filter the filter for HTTP requests
 * @param method the methods with the annotation RateLimited
 */
@ConfigurationProperties("weir")
public record WeirProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue List<String> bootstrapServers,
        @DefaultValue Map<String, String> kafka,
        @DefaultValue("weir.") String prefix,
        @DefaultValue("weir") String applicationId,
        @DefaultValue("1s") Duration timeout,
        @DefaultValue("fail") Fallback fallback,
        @DefaultValue("false") boolean fallbackOnOverload,
        @DefaultValue("10000") int maxInFlight,
        @DefaultValue("false") boolean committed,
        @DefaultValue("false") boolean leased,
        Integer maxBlockedThreads,
        @DefaultValue("none") XRateLimitFields xRateLimit,
        @DefaultValue CircuitProperties circuit,
        @DefaultValue("30s") Duration holdTtl,
        @DefaultValue FilterProperties filter,
        @DefaultValue MethodProperties method) {

    private static final Duration MIN_HOLD_TTL = Duration.ofSeconds(1);
    private static final Duration MAX_HOLD_TTL = Duration.ofMillis(Request.MAX_RESERVE_MS);

    /**
     * Checks the time of reservations.
     *
     * @throws InvalidConfigurationPropertyValueException if it is out of its range
     */
    public WeirProperties {
        if (holdTtl.compareTo(MIN_HOLD_TTL) < 0 || holdTtl.compareTo(MAX_HOLD_TTL) > 0) {
            throw new InvalidConfigurationPropertyValueException("weir.hold-ttl", holdTtl, "It must be 1s to 30d.");
        }
    }

    /**
     * The circuit breaker of the client.
     *
     * @param enabled whether there is one
     * @param window the number of recent requests that are evaluated
     * @param failurePercent the percentage of requests without a decision at which the circuit opens
     * @param openFor how long no request is sent
     * @param trials the number of requests that are sent before the circuit closes or opens again
     */
    public record CircuitProperties(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("100") int window,
            @DefaultValue("50") int failurePercent,
            @DefaultValue("5s") Duration openFor,
            @DefaultValue("5") int trials) {}

    /**
     * The filter for HTTP requests, in servlet and WebFlux applications.
     *
     * @param enabled whether HTTP requests are decided
     * @param paths path patterns of the requests that are decided. They and the policies match the normal form of a path
     * @param excludePaths path patterns of requests that are not decided
     * @param path how paths are normalized
     * @param client where the client is: the first of these that has a value. header:NAME, query:NAME, cookie:NAME,
     *     literal:TEXT, principal, remote-address, method or path. A request that has none of them gets status 400
     * @param tier where the tier is, like client. By default there is none
     * @param attributes where the attributes are, by name, like client. The default is endpoint: path, and
     *     method: method
     * @param ipv6Prefix how many bits of an IPv6 remote-address identify a caller, 1 to 128. With less than 128, its value
     *     is a range such as 2001:db8:0:1::/64
     * @param onNoDecision what happens if there is no decision in time. The default is allow if weir.fallback is
     *     fail-open, otherwise deny
     * @param hold whether each request makes a reservation, which is released when its response is complete. It then
     *     occupies slots of concurrency limits for its duration
     * @param order the order of the filter. The default is after Spring Security
     * @param asyncDelay whether a servlet request that a policy throttles is asynchronous during its delay. Otherwise
     *     its thread is blocked
     */
    public record FilterProperties(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("/**") List<String> paths,
            @DefaultValue List<String> excludePaths,
            @DefaultValue PathProperties path,
            @DefaultValue({"principal", "remote-address"}) List<String> client,
            @DefaultValue List<String> tier,
            Map<String, List<String>> attributes,
            @DefaultValue("64") int ipv6Prefix,
            OnNoDecision onNoDecision,
            @DefaultValue("false") boolean hold,
            @DefaultValue("0") int order,
            @DefaultValue("true") boolean asyncDelay) {

        /** Sets the default of {@code attributes}. */
        public FilterProperties {
            attributes = attributes == null
                    ? Map.of("endpoint", List.of("path"), "method", List.of("method"))
                    : Map.copyOf(attributes);
        }
    }

    /**
     * How paths are normalized.
     *
     * @param encodedSlash whether a path with an encoded slash gets status 400 (reject), the slash is one (decode), or it is
     *     a character of its segment (keep)
     * @param doubleSlash whether adjacent slashes are one (merge), or a path with them gets status 400 (reject)
     * @param foldCase whether case is ignored. The normal form of a path is then in lower case
     */
    public record PathProperties(
            @DefaultValue("reject") PathRules.EncodedSlash encodedSlash,
            @DefaultValue("merge") PathRules.DoubleSlash doubleSlash,
            @DefaultValue("false") boolean foldCase) {}

    /**
     * The methods with the annotation {@link RateLimited}.
     *
     * @param client the SpEL expression of the client for annotations that have none. By default it is
     *     spring.application.name
     */
    public record MethodProperties(String client) {

        /**
         * Checks the expression.
         *
         * @throws InvalidConfigurationPropertyValueException if it is no SpEL expression
         */
        public MethodProperties {
            if (client != null && !client.isBlank()) {
                try {
                    var unused = new SpelExpressionParser().parseExpression(client);
                } catch (ParseException e) {
                    throw new InvalidConfigurationPropertyValueException(
                            "weir.method.client", client, "Not a SpEL expression: " + e.toDetailedString());
                }
            }
        }
    }

    /** What a filter does with a request if there is no decision. */
    public enum OnNoDecision {
        /** The request is handled. While Weir is unavailable, limits may be exceeded. */
        ALLOW,
        /** The request gets status 503. */
        DENY
    }
}
