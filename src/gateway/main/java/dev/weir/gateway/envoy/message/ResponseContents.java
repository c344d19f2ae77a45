package dev.weir.gateway.envoy.message;

import dev.weir.client.decision.XRateLimitFields;

/**
 * What responses contain besides codes and statuses.
 *
 * @param hasHeaders whether they add {@code RateLimit}, {@code RateLimit-Policy} and {@code Retry-After} to the response
 * @param olderHeaders which of the older {@code X-RateLimit-…} they add besides
 * @param hasMetadata whether they have dynamic metadata
 * @param overLimitBody the body of the response to a request that is over the limit; empty for that of the proxy
 */
public record ResponseContents(
        boolean hasHeaders, XRateLimitFields olderHeaders, boolean hasMetadata, String overLimitBody) {

    /** The contents without a configuration. */
    public static final ResponseContents DEFAULTS = new ResponseContents(true, XRateLimitFields.NONE, true, "");

    public ResponseContents with(XRateLimitFields older) {
        return new ResponseContents(hasHeaders, older, hasMetadata, overLimitBody);
    }
}
