package dev.weir.definition;

import dev.weir.event.Rejection;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.UnreadableException;
import java.util.ArrayList;
import java.util.List;

/**
 * What a record of the policies topic puts in force. Whoever reads the topic judges its records by {@link #read}, so
 * all hold the same of them for good.
 *
 * @param policies the versions of a policy, newest first; none of a queue, or if it was deleted
 * @param queue null of a policy, or if it was deleted
 */
public record PolicyRecordReader(PolicyAvro.Applied applied, List<Policy> policies, QueueRules queue) {

    /** The highest version: the last that a reader of JSON has exactly. */
    static final long MAX_VERSION = 1L << 53;

    private static final PolicyAvro AVRO = new PolicyAvro();

    public PolicyRecordReader {
        policies = List.copyOf(policies);
    }

    /**
     * Reads a record that has a value.
     *
     * @param lastVersion that of the last good record of this key, 0 if there is none
     * @throws UnreadableException if it is not good: the last good one stays in force
     */
    public static PolicyRecordReader read(String key, byte[] value, long lastVersion) throws UnreadableException {
        if (value.length > PolicyAvro.MAX_BYTES) {
            throw new UnreadableException(
                    Rejection.RECORD_TOO_LARGE,
                    "the record has " + value.length + " bytes, the most is " + PolicyAvro.MAX_BYTES);
        }
        PolicyAvro.Applied applied = AVRO.decode(key, value);
        requireVersion(applied.version(), MAX_VERSION);
        if (applied.version() < lastVersion) {
            throw new UnreadableException(
                    Rejection.OUTDATED_POLICY, "it is version " + applied.version() + ", after " + lastVersion);
        }
        try {
            if (applied.isDeleted()) {
                return new PolicyRecordReader(applied, List.of(), null);
            }
            return switch (applied.kind()) {
                case POLICY -> new PolicyRecordReader(applied, versions(applied), null);
                case QUEUE -> new PolicyRecordReader(applied, List.of(), queue(applied));
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
            throw new UnreadableException(Rejection.KEY_IS_NOT_POLICY, "its definition is of '" + id + "'");
        }
    }

    private static void requireVersion(long version, long most) throws UnreadableException {
        if (version < 1 || version > most) {
            throw new UnreadableException(Rejection.INVALID_POLICY, "version must be 1 to " + most + ", is " + version);
        }
    }
}
