package dev.weir.codec;

import dev.weir.avro.PolicyRecord;
import java.time.Instant;

/** Applied policies as {@code PolicyRecord}s. Threads may share an instance. */
public final class PolicyAvro {

    private final AvroBytes<PolicyRecord> bytes = new AvroBytes<>(new PolicyRecord());

    /**
     * A policy as it was applied.
     *
     * @param version counts the policy's changes, from 1
     * @param definition the policy in the words of the policy file, as JSON
     */
    public record Applied(String id, long version, String definition, long appliedAtMs) {}

    public byte[] encode(Applied applied) {
        return bytes.encode(PolicyRecord.newBuilder()
                .setId(applied.id())
                .setVersion(applied.version())
                .setDefinition(applied.definition())
                .setAppliedAt(Instant.ofEpochMilli(applied.appliedAtMs()))
                .build());
    }

    /** @throws UnreadableException if the bytes are no policy record */
    public Applied decode(byte[] value) throws UnreadableException {
        PolicyRecord record = bytes.decode(value);
        return new Applied(
                record.getId(),
                record.getVersion(),
                record.getDefinition(),
                record.getAppliedAt().toEpochMilli());
    }
}
