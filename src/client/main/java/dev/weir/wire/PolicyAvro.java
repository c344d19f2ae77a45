package dev.weir.wire;

import dev.weir.avro.EarlierVersion;
import dev.weir.avro.PolicyRecord;
import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import java.time.Instant;
import java.util.List;

/** The Avro codec of policies and queues on the policies topic, whose schema is {@code PolicyRecord}. Thread-safe. */
public final class PolicyAvro {

    /** The maximum size of a record's value in bytes. With its key, such a record is within Kafka's default limit. */
    public static final int MAX_BYTES = 1_000_000;

    private final AvroBytes<PolicyRecord> bytes = new AvroBytes<>(new PolicyRecord());

    /** Creates a codec. */
    public PolicyAvro() {}

    /** What a record defines. */
    public enum Kind {
        /** A policy. */
        POLICY("policy"),
        /** A queue. */
        QUEUE("queue");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        /**
         * Returns the word for the kind in keys and messages.
         *
         * @return {@code policy} or {@code queue}
         */
        public String word() {
            return word;
        }
    }

    /**
     * The policy or queue that a record defines. A queue and a policy can have the same id.
     *
     * @param kind whether it is a policy or a queue
     * @param id its id
     */
    public record Key(Kind kind, String id) {

        /**
         * Parses the key of a record.
         *
         * @param key the key, such as {@code policy/free-sms}
         * @return the policy or queue
         * @throws UnreadableException if the key begins neither with {@code policy/} nor with {@code queue/}
         */
        public static Key read(String key) throws UnreadableException {
            for (Kind kind : Kind.values()) {
                String prefix = kind.word() + "/";
                if (key.startsWith(prefix)) {
                    return new Key(kind, key.substring(prefix.length()));
                }
            }
            throw new UnreadableException(Rejection.KEY_IS_NOT_POLICY, "the key must begin with policy/ or queue/");
        }

        /**
         * Returns the key of the record, such as {@code policy/free-sms} or {@code queue/sms}.
         *
         * @return the key
         */
        @Override
        public String toString() {
            return PolicyAvro.key(kind, id);
        }
    }

    /**
     * A policy or queue as it was applied.
     *
     * @param kind whether it is a policy or a queue
     * @param id its id
     * @param version the number of its changes, from 1
     * @param definition the policy or queue as JSON, with the keys of the policy file; null if it was deleted
     * @param appliedAtMs when it was applied, in ms since the epoch
     * @param before earlier versions that are in force until the {@code effective-from} of a later one, newest first
     * @param changedBy who made this change
     */
    public record Applied(
            Kind kind,
            String id,
            long version,
            String definition,
            long appliedAtMs,
            List<Earlier> before,
            ChangeAuthor changedBy) {

        /**
         * Copies the list.
         *
         * @param kind whether it is a policy or a queue
         * @param id its id
         * @param version the number of its changes, from 1
         * @param definition the policy or queue as JSON, with the keys of the policy file; null if it was deleted
         * @param appliedAtMs when it was applied, in ms since the epoch
         * @param before earlier versions that are in force until the {@code effective-from} of a later one, newest
         *     first
         * @param changedBy who made this change
         */
        public Applied {
            before = List.copyOf(before);
        }

        /**
         * Creates a version that replaces all earlier ones, by an unknown author.
         *
         * @param kind whether it is a policy or a queue
         * @param id its id
         * @param version the number of its changes, from 1
         * @param definition the policy or queue as JSON; null if it was deleted
         * @param appliedAtMs when it was applied, in ms since the epoch
         */
        public Applied(Kind kind, String id, long version, String definition, long appliedAtMs) {
            this(kind, id, version, definition, appliedAtMs, List.of(), ChangeAuthor.UNKNOWN);
        }

        /**
         * Returns a copy with other earlier versions.
         *
         * @param other the earlier versions, newest first
         * @return a copy
         */
        public Applied withBefore(List<Earlier> other) {
            return new Applied(kind, id, version, definition, appliedAtMs, other, changedBy);
        }

        /**
         * Returns a copy with another author.
         *
         * @param other who made this change
         * @return a copy
         */
        public Applied withChangedBy(ChangeAuthor other) {
            return new Applied(kind, id, version, definition, appliedAtMs, before, other);
        }

        /**
         * Returns whether this version deletes the policy or queue.
         *
         * @return whether there is no definition
         */
        public boolean isDeleted() {
            return definition == null;
        }

        /**
         * Returns the key of the record.
         *
         * @return the key, such as {@code policy/free-sms}
         */
        public String key() {
            return PolicyAvro.key(kind, id);
        }
    }

    /**
     * An earlier version of a policy.
     *
     * @param version its number
     * @param definition the policy as JSON
     * @param appliedAtMs when it was applied, in ms since the epoch
     */
    public record Earlier(long version, String definition, long appliedAtMs) {}

    /**
     * Returns the key of the record of a policy or queue.
     *
     * @param kind whether it is a policy or a queue
     * @param id its id
     * @return the key, such as {@code policy/free-sms}
     */
    public static String key(Kind kind, String id) {
        return kind.word() + "/" + id;
    }

    /**
     * Encodes a policy or queue in single-object encoding.
     *
     * @param applied the policy or queue
     * @return the value of a record
     */
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

    /**
     * Decodes a record of any version.
     *
     * @param key the key of the record
     * @param value the value of the record
     * @return the policy or queue
     * @throws UnreadableException if the value is not a policy record, or does not belong to the key
     */
    public Applied decode(String key, byte[] value) throws UnreadableException {
        Key of = Key.read(key);
        PolicyRecord record = bytes.decode(value);
        if (!record.getId().equals(of.id())) {
            throw new UnreadableException(
                    Rejection.KEY_IS_NOT_POLICY, "the record has the id '" + record.getId() + "'");
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
