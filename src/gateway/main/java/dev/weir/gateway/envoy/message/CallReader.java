package dev.weir.gateway.envoy.message;

import dev.weir.gateway.envoy.mapping.BadCallException;
import dev.weir.gateway.envoy.mapping.CallBounds;
import dev.weir.gateway.envoy.mapping.CallDescriptor;
import dev.weir.gateway.envoy.mapping.CallLimit;
import dev.weir.gateway.envoy.mapping.DescriptorEntry;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitRequest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Checks messages and reads them as calls. A fault names the descriptor and, if a setting sets the bound, the setting. */
public final class CallReader {

    private final CallBounds bounds;
    private final boolean isMerged;

    /** @param isMerged whether all descriptors of a call become one request */
    public CallReader(CallBounds bounds, boolean isMerged) {
        this.bounds = bounds;
        this.isMerged = isMerged;
    }

    /**
     * Returns the call of a message.
     *
     * @throws BadCallException if the message is not valid
     */
    public RateLimitCall read(RateLimitRequest message) throws BadCallException {
        if (message.getDomain().isEmpty()) {
            throw BadCallException.invalid("domain must not be empty");
        }
        int count = message.getDescriptorsCount();
        if (count == 0) {
            throw BadCallException.invalid("descriptors must not be empty");
        }
        if (count > bounds.maxDescriptors()) {
            throw BadCallException.invalid("descriptors[" + bounds.maxDescriptors() + "]: there are " + count
                    + " descriptors; the maximum is " + bounds.maxDescriptors() + " (gateway.envoy.max-descriptors)");
        }
        long callHits = Math.max(1, Integer.toUnsignedLong(message.getHitsAddend()));
        List<CallDescriptor> descriptors = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            descriptors.add(descriptor(message.getDescriptors(i), "descriptors[" + i + "]", callHits));
        }
        checkMerged(descriptors);
        return new RateLimitCall(message.getDomain(), descriptors);
    }

    private CallDescriptor descriptor(RateLimitDescriptor message, String place, long callHits)
            throws BadCallException {
        int count = message.getEntriesCount();
        if (count == 0) {
            throw BadCallException.invalid(place + ".entries must not be empty");
        }
        checkCount(count, place);
        List<DescriptorEntry> entries = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            RateLimitDescriptor.Entry entry = message.getEntries(i);
            if (entry.getKey().isEmpty()) {
                throw BadCallException.invalid(place + ".entries[" + i + "].key must not be empty");
            }
            entries.add(new DescriptorEntry(entry.getKey(), entry.getValue()));
        }
        long hits = message.hasHitsAddend() ? message.getHitsAddend().getValue() : callHits;
        if (hits < 0) {
            throw BadCallException.invalid(
                    place + ".hits_addend must be at most " + Long.MAX_VALUE + ", is " + Long.toUnsignedString(hits));
        }
        Optional<CallLimit> limit =
                message.hasLimit() ? Optional.of(CallLimit.of(message.getLimit(), place)) : Optional.empty();
        return new CallDescriptor(entries, hits, message.getIsNegativeHits(), limit);
    }

    private void checkMerged(List<CallDescriptor> descriptors) throws BadCallException {
        if (isMerged) {
            Set<DescriptorEntry> all = new HashSet<>();
            descriptors.forEach(descriptor -> all.addAll(descriptor.entries()));
            checkCount(all.size(), "descriptors");
        }
    }

    private void checkCount(int entries, String place) throws BadCallException {
        if (entries > bounds.maxEntries()) {
            throw BadCallException.invalid(place + " has " + entries + " entries; the maximum is " + bounds.maxEntries()
                    + " (gateway.envoy.max-entries)");
        }
    }
}
