package dev.weir.audit.finding;

import dev.weir.event.Request;
import java.util.List;

/**
 * A difference between the recorded and the expected contents of the topics.
 *
 * @param request the position of the request, or the one it would have
 * @param answer the position of the decision, dead letter or release; null if there is none
 * @param client null if unknown
 * @param requestId null if unknown
 * @param fields the fields of a decision that differ from the expected ones
 * @param note further information; null if there is none
 */
public record Mismatch(
        Kind kind,
        Request.Source request,
        RecordPosition answer,
        String client,
        String requestId,
        List<FieldMismatch> fields,
        String note) {

    /** The kind of mismatch. */
    public enum Kind {
        DIFFERS("differs from the expected result"),
        UNDECIDED("has no decision"),
        SECOND("has a second decision"),
        NO_REQUEST("does not belong to a valid request"),
        DEAD_LETTER("has a missing, unexpected or wrong dead letter"),
        WRONG_QUEUE_EXITS("did not leave its queue exactly once"),
        UNREADABLE("cannot be read"),
        ABOVE_SHARED_LIMIT("exceeds a shared limit");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        /** Returns a predicate for people, whose subject is the request or record. */
        public String text() {
            return text;
        }
    }

    /** The position of a record. */
    public record RecordPosition(AuditedTopic topic, int partition, long offset) {

        @Override
        public String toString() {
            return topic.text + " " + partition + "@" + offset;
        }
    }

    /** The topics that are audited. */
    public enum AuditedTopic {
        DECISIONS("decision"),
        RELEASES("release"),
        LEASE_USAGE("lease usage"),
        DEAD_LETTERS("dead letter");

        private final String text;

        AuditedTopic(String text) {
            this.text = text;
        }
    }

    /**
     * A field of a decision that differs.
     *
     * @param recorded the recorded value, in JSON
     * @param expected the expected value, in JSON
     */
    public record FieldMismatch(String name, String recorded, String expected) {}

    public Mismatch {
        fields = List.copyOf(fields);
    }
}
