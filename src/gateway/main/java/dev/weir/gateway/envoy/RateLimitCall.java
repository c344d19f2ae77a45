package dev.weir.gateway.envoy;

import java.util.List;

/**
 * A call of the rate limit service.
 *
 * @param domain the namespace of the descriptors, not empty
 * @param descriptors what is limited, at least one
 */
record RateLimitCall(String domain, List<CallDescriptor> descriptors) {

    RateLimitCall {
        descriptors = List.copyOf(descriptors);
    }
}
