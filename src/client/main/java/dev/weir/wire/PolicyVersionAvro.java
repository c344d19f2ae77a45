package dev.weir.wire;

import dev.weir.event.PolicyVersion;
import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;

/**
 * The codec of the fields of a decision or an admission that name a version of a policy. Either both are set or none.
 */
final class PolicyVersionAvro {

    private PolicyVersionAvro() {}

    /**
     * Returns the version; null if there is none.
     *
     * @throws UnreadableException if there is an id without a version
     */
    static PolicyVersion read(String id, Long version) throws UnreadableException {
        if (id == null) {
            return null;
        }
        if (version == null) {
            throw new UnreadableException(Rejection.NOT_AVRO, "policyId is " + id + ", but policyVersion is null");
        }
        return new PolicyVersion(id, version);
    }
}
