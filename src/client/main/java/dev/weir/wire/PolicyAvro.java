package dev.weir.wire;

import dev.weir.avro.EarlierVersion;
import dev.weir.avro.PolicyRecord;
import dev.weir.event.Rejection;
import java.time.Instant;
import java.util.List;

/** Applied policies and queues as {@code PolicyRecord}s. Threads may share an instance. */
public final class PolicyAvro {

    /** The most bytes of a record's value: with its key it is within Kafka's default bound. */
    public static final int MAX_BYTES = 1_000_000;

    private final AvroBytes<PolicyRecord> bytes = new AvroBytes<>(new PolicyRecord(), 3);

    /** What a record is of. */
    public enum Kind {
        POLICY("policy"),
        QUEUE("queue");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        /** As keys and people write it. */
        public String word() {
            return word;
        }
    }

    /** Which policy or queue a record is of: a queue may have the id of a policy. */
    public record Key(Kind kind, String id) {

        /**
         * The key of a record.
         *
         * @throws UnreadableException if it is that of no policy and no queue
         */
        public static Key read(String key) throws UnreadableException {
            for (Kind kind : Kind.values()) {
                String prefix = kind.word() + "/";
                if (key.startsWith(prefix)) {
                    return new Key(kind, key.substring(prefix.length()));
                }
            }
            throw new UnreadableException(Rejection.KEY_IS_NOT_POLICY, "the key is that of no policy and no queue");
        }

        /** As a record has it: {@code policy/free-sms}, {@code queue/sms}. */
        @Override
        public String toString() {
            return PolicyAvro.key(kind, id);
        }
    }

    /**
     * A policy or queue as it was applied.
     *
     * @param version counts its changes, from 1
     * @param definition in the words of the policy file, as JSON; null: deleted
     * @param before earlier versions that hold until a later one's effective-from, newest first
     * @param changedBy who made the change to this version
     */
    public record Applied(
            Kind kind,
            String id,
            long version,
            String definition,
            long appliedAtMs,
            List<Earlier> before,
            ChangeAuthor changedBy) {

        public Applied {
            before = List.copyOf(before);
        }

        /** One that replaces all that was before, by an author who is not known. */
        public Applied(Kind kind, String id, long version, String definition, long appliedAtMs) {
            this(kind, id, version, definition, appliedAtMs, List.of(), ChangeAuthor.UNKNOWN);
        }

        public Applied withBefore(List<Earlier> other) {
            return new Applied(kind, id, version, definition, appliedAtMs, other, changedBy);
        }

        public Applied withChangedBy(ChangeAuthor other) {
            return new Applied(kind, id, version, definition, appliedAtMs, before, other);
        }

        public boolean isDeleted() {
            return definition == null;
        }

        /** The key of its record. */
        public String key() {
            return PolicyAvro.key(kind, id);
        }
    }

    /** An earlier version of a policy. */
    public record Earlier(long version, String definition, long appliedAtMs) {}

    /** The key of a policy's or queue's record. */
    public static String key(Kind kind, String id) {
        return kind.word() + "/" + id;
    }

    public byte[] encode(Applied applied) {
        return bytes.encode(PolicyRecord.newBuilder()
                .setId(applied.id())
                .setVersion(applied.version())
                .setDefinition(applied.definition())
                .setBefore(applied.before().stream()
                        .map(earlier -> new EarlierVersion(
                                earlier.version(), earlier.definition(), Instant.ofEpochMilli(earlier.appliedAtMs())))
                        .toList())
                .setAppliedAt(Instant.ofEpochMilli(applied.appliedAtMs()))
                .setAuthor(applied.changedBy().author().orElse(null))
                .setReason(applied.changedBy().reason().orElse(null))
                .build());
    }

    /** @throws UnreadableException if the bytes are no policy record, or not the one that belongs under the key */
    public Applied decode(String key, byte[] value) throws UnreadableException {
        Key of = Key.read(key);
        PolicyRecord record = bytes.decode(value);
        if (!record.getId().equals(of.id())) {
            throw new UnreadableException(Rejection.KEY_IS_NOT_POLICY, "it is of '" + record.getId() + "'");
        }
        return new Applied(
                of.kind(),
                of.id(),
                record.getVersion(),
                record.getDefinition(),
                record.getAppliedAt().toEpochMilli(),
                record.getBefore().stream()
                        .map(earlier -> new Earlier(
                                earlier.getVersion(),
                                earlier.getDefinition(),
                                earlier.getAppliedAt().toEpochMilli()))
                        .toList(),
                ChangeAuthor.recorded(record.getAuthor(), record.getReason()));
    }
}
