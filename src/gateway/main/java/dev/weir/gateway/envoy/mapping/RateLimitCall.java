package dev.weir.gateway.envoy.mapping;

import java.util.List;

/**
 * A call of the rate limit service.
 *
 * @param domain the namespace of the descriptors, not empty
 * @param descriptors what is limited, at least one
 */
public record RateLimitCall(String domain, List<CallDescriptor> descriptors) {

    public RateLimitCall {
        descriptors = List.copyOf(descriptors);
    }
}
