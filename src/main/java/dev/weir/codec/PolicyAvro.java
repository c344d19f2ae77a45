package dev.weir.codec;

import dev.weir.avro.PolicyRecord;
import dev.weir.policy.Rejection;
import java.time.Instant;

/** Applied policies as {@code PolicyRecord}s. Threads may share an instance. */
public final class PolicyAvro {

    private static final String KEY_PREFIX = "policy/";

    private final AvroBytes<PolicyRecord> bytes = new AvroBytes<>(new PolicyRecord(), 0);

    /**
     * A policy as it was applied.
     *
     * @param version counts the policy's changes, from 1
     * @param definition the policy in the words of the policy file, as JSON; null: deleted
     */
    public record Applied(String id, long version, String definition, long appliedAtMs) {

        public boolean isDeleted() {
            return definition == null;
        }
    }

    /** The key of a policy's record: a queue may have the same id. */
    public static String key(String id) {
        return KEY_PREFIX + id;
    }

    public byte[] encode(Applied applied) {
        return bytes.encode(PolicyRecord.newBuilder()
                .setId(applied.id())
                .setVersion(applied.version())
                .setDefinition(applied.definition())
                .setAppliedAt(Instant.ofEpochMilli(applied.appliedAtMs()))
                .build());
    }

    /** @throws UnreadableException if the bytes are no policy record, or not the one that belongs under the key */
    public Applied decode(String key, byte[] value) throws UnreadableException {
        PolicyRecord record = bytes.decode(value);
        if (!key(record.getId()).equals(key)) {
            throw new UnreadableException(Rejection.NOT_AVRO, "it is of '" + record.getId() + "'");
        }
        return new Applied(
                record.getId(),
                record.getVersion(),
                record.getDefinition(),
                record.getAppliedAt().toEpochMilli());
    }
}
