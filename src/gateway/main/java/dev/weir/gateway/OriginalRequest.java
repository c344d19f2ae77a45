package dev.weir.gateway;

import java.util.Locale;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * How proxies pass on the method and the URI of the request that they have received. A proxy overwrites only the
 * headers that it uses itself, so others could be sent by a client and are ignored.
 */
enum OriginalRequest {
    /**
     * {@code X-Forwarded-Method}, {@code X-Forwarded-Uri} and {@code X-Forwarded-Host}, as Traefik and Caddy do; each
     * one that is missing is that of the call.
     */
    X_FORWARDED("X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host"),
    /** {@code X-Original-Method}, {@code X-Original-URI} and the {@code Host} of the call, as some nginx setups do. */
    X_ORIGINAL("X-Original-Method", "X-Original-URI", "Host"),
    /** The call itself, with the path behind {@code /v1/authorize}, as Envoy does. */
    CALL("", "", "Host");

    private static final int TOO_MANY_REQUESTS = 429;
    private static final int FIRST_SERVER_ERROR = 500;

    private final String methodHeader;
    private final String uriHeader;
    private final String hostHeader;

    OriginalRequest(String methodHeader, String uriHeader, String hostHeader) {
        this.methodHeader = methodHeader;
        this.uriHeader = uriHeader;
        this.hostHeader = hostHeader;
    }

    /** @throws IllegalArgumentException if the text is not the name of a value in the configuration */
    static OriginalRequest of(String text) {
        return Stream.of(values())
                .filter(value -> value.toString().equals(text))
                .findAny()
                .orElseThrow(() ->
                        new IllegalArgumentException("must be x-forwarded, x-original or call, is '" + text + "'"));
    }

    /** @param header returns the value of a header, null if it is missing */
    Optional<String> method(UnaryOperator<String> header) {
        return value(methodHeader, header);
    }

    /** @param header returns the value of a header, null if it is missing */
    Optional<String> uri(UnaryOperator<String> header) {
        return value(uriHeader, header);
    }

    /** @param header returns the value of a header, null if it is missing */
    Optional<String> host(UnaryOperator<String> header) {
        return value(hostHeader, header);
    }

    /**
     * Returns the status with which a request is denied. Envoy regards 5xx as a failure of the gateway, after which it
     * may pass the request, so it gets 429 in its place.
     *
     * @param status the status of the decision
     */
    int denyStatus(int status) {
        return this == CALL && status >= FIRST_SERVER_ERROR ? TOO_MANY_REQUESTS : status;
    }

    private static Optional<String> value(String name, UnaryOperator<String> header) {
        return name.isEmpty()
                ? Optional.empty()
                : Optional.ofNullable(header.apply(name)).filter(value -> !value.isBlank());
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
