package dev.weir.gateway.envoy.mapping;

import java.util.List;
import java.util.Optional;

/**
 * A descriptor of a call, with its own or the call's hits.
 *
 * @param entries the entries in their order, at least one
 * @param hits the cost, 0 or more; 0 checks the limit without charging it
 * @param isRefund whether the hits are given back
 * @param limit the limit that the descriptor brings along
 */
public record CallDescriptor(List<DescriptorEntry> entries, long hits, boolean isRefund, Optional<CallLimit> limit) {

    public CallDescriptor {
        entries = List.copyOf(entries);
    }

    /** Creates a descriptor without a limit. */
    public CallDescriptor(List<DescriptorEntry> entries, long hits, boolean isRefund) {
        this(entries, hits, isRefund, Optional.empty());
    }
}
