package dev.weir.gateway.envoy;

import java.util.List;

/**
 * A descriptor of a call, with its own or the call's hits.
 *
 * @param entries the entries in their order, at least one
 * @param hits the cost, 0 or more; 0 checks the limit without charging it
 * @param isRefund whether the hits are given back
 */
record CallDescriptor(List<DescriptorEntry> entries, long hits, boolean isRefund) {

    CallDescriptor {
        entries = List.copyOf(entries);
    }
}
