package dev.weir.gateway.envoy.mapping;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;

/**
 * A request of a call.
 *
 * @param request the request
 * @param first the index of its first descriptor
 * @param size the number of its descriptors: 1, or all of a call that is merged
 * @param mapping the mapping that made it
 */
public record MappedRequest(Request request, int first, int size, DescriptorMapping mapping) {

    /** Returns whether the request gives quota back. */
    boolean isRefund() {
        return request.kind() == RequestKind.SETTLE && request.cost() < 0;
    }

    /** Returns the name of the descriptors, for messages. */
    public String place() {
        return size == 1 ? "descriptors[" + first + "]" : "descriptors";
    }
}
