package dev.weir.definition;

import dev.weir.event.Rejection;
import dev.weir.fault.FaultsException;
import dev.weir.fault.UnreadableException;
import dev.weir.policy.Policy;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.List;

/**
 * What a record of the policies topic puts in force. All readers of the topic use {@link #read}, so they agree on which
 * records are good.
 *
 * @param applied the record
 * @param policies the versions of a policy, newest first; empty for a queue or a deletion
 * @param queue the queue; null for a policy or a deletion
 */
public record DecodedPolicyRecord(PolicyAvro.Applied applied, List<Policy> policies, QueueRules queue) {

    /** The highest version: the largest integer that every JSON reader represents exactly. */
    static final long MAX_VERSION = 1L << 53;

    private static final PolicyAvro AVRO = new PolicyAvro();

    /**
     * Copies the list.
     *
     * @param applied the record
     * @param policies the versions of a policy, newest first; empty for a queue or a deletion
     * @param queue the queue; null for a policy or a deletion
     */
    public DecodedPolicyRecord {
        policies = List.copyOf(policies);
    }

    /**
     * Reads a record that has a value.
     *
     * @param key the key of the record
     * @param value the value of the record
     * @param lastVersion the version of the last good record of this key, 0 if there is none
     * @return what the record puts in force
     * @throws UnreadableException if the record is rejected; the last good one stays in force
     */
    public static DecodedPolicyRecord read(String key, byte[] value, long lastVersion) throws UnreadableException {
        if (value.length > PolicyAvro.MAX_BYTES) {
            throw new UnreadableException(
                    Rejection.RECORD_TOO_LARGE,
                    "the record has " + value.length + " bytes; the maximum is " + PolicyAvro.MAX_BYTES);
        }
        PolicyAvro.Applied applied = AVRO.decode(key, value);
        requireVersion(applied.version(), MAX_VERSION);
        if (applied.version() < lastVersion) {
            throw new UnreadableException(
                    Rejection.OUTDATED_POLICY,
                    "version " + applied.version() + " is older than version " + lastVersion + " before it");
        }
        try {
            if (applied.isDeleted()) {
                return new DecodedPolicyRecord(applied, List.of(), null);
            }
            return switch (applied.kind()) {
                case POLICY -> new DecodedPolicyRecord(applied, versions(applied), null);
                case QUEUE -> new DecodedPolicyRecord(applied, List.of(), queue(applied));
            };
        } catch (FaultsException e) {
            throw new UnreadableException(Rejection.INVALID_POLICY, e);
        }
    }

    private static List<Policy> versions(PolicyAvro.Applied applied) throws FaultsException, UnreadableException {
        List<Policy> versions = new ArrayList<>(1 + applied.before().size());
        versions.add(policy(applied, applied.version(), applied.definition()));
        long last = applied.version();
        for (PolicyAvro.Earlier earlier : applied.before()) {
            requireVersion(earlier.version(), last - 1);
            versions.add(policy(applied, earlier.version(), earlier.definition()));
            last = earlier.version();
        }
        return versions;
    }

    private static Policy policy(PolicyAvro.Applied applied, long version, String definition)
            throws FaultsException, UnreadableException {
        Policy policy = PolicyFile.parse(applied.key(), definition, version);
        requireId(applied, policy.id());
        return policy;
    }

    private static QueueRules queue(PolicyAvro.Applied applied) throws FaultsException, UnreadableException {
        QueueRules queue = PolicyFile.parseQueue(applied.key(), applied.definition(), applied.version());
        requireId(applied, queue.id());
        return queue;
    }

    private static void requireId(PolicyAvro.Applied applied, String id) throws UnreadableException {
        if (!id.equals(applied.id())) {
            throw new UnreadableException(Rejection.KEY_IS_NOT_POLICY, "the definition has the id '" + id + "'");
        }
    }

    private static void requireVersion(long version, long most) throws UnreadableException {
        if (version < 1 || version > most) {
            throw new UnreadableException(Rejection.INVALID_POLICY, "version must be 1 to " + most + ", is " + version);
        }
    }
}
