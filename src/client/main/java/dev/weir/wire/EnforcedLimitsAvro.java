package dev.weir.wire;

import dev.weir.event.EnforcedLimit;
import java.util.ArrayList;
import java.util.List;

/** The codec of the limits that a decision lists. */
final class EnforcedLimitsAvro {

    private EnforcedLimitsAvro() {}

    static void write(List<EnforcedLimit> limits, StringInterner words, BytesEncoder out) {
        if (!limits.isEmpty()) {
            out.write(limits.size());
        }
        for (EnforcedLimit limit : limits) {
            out.write(words.bytes(limit.policyId()));
            out.write(limit.number());
            out.write(limit.quota());
            out.writeOptional(limit.windowMs());
            out.writeOptional(limit.remaining());
            out.writeOptional(limit.resetAfterMs());
            out.writeOptional(limit.retryAfterMs());
        }
        out.writeEnd();
    }

    static List<EnforcedLimit> read(List<dev.weir.avro.EnforcedLimit> limits) {
        List<EnforcedLimit> read = new ArrayList<>(limits.size());
        for (dev.weir.avro.EnforcedLimit limit : limits) {
            read.add(new EnforcedLimit(
                    limit.getPolicyId(),
                    limit.getNumber(),
                    limit.getQuota(),
                    limit.getWindowMs(),
                    limit.getRemaining(),
                    limit.getResetAfterMs(),
                    limit.getRetryAfterMs()));
        }
        return read;
    }
}
