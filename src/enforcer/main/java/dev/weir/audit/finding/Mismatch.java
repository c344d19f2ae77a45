package dev.weir.audit.finding;

import dev.weir.event.Request;
import java.util.List;

/**
 * Something on the topics that is not as it should be.
 *
 * @param request where the request is, or would have to be
 * @param answer where the decision, dead letter or release is; null if there is none
 * @param client null if it is not known
 * @param requestId null if it is not known
 * @param fields of a decision, those that should have been told otherwise
 * @param note what else there is to say, null if nothing
 */
public record Mismatch(
        Kind kind,
        Request.Source request,
        RecordPosition answer,
        String client,
        String requestId,
        List<FieldMismatch> fields,
        String note) {

    /** What is wrong. */
    public enum Kind {
        DIFFERS("is decided otherwise"),
        UNDECIDED("has no decision"),
        SECOND("has a second decision"),
        NO_REQUEST("is no request, and is decided"),
        DEAD_LETTER("is a dead letter otherwise"),
        WRONG_QUEUE_EXITS("has not left its queue once"),
        UNREADABLE("cannot be read"),
        ABOVE_SHARED_LIMIT("takes more of a shared quota than there is");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        /** As people read it, after the request. */
        public String text() {
            return text;
        }
    }

    /** Where a record is. */
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
     * A field of a decision.
     *
     * @param recorded as JSON has it
     * @param expected the same, of what should have been told
     */
    public record FieldMismatch(String name, String recorded, String expected) {}

    public Mismatch {
        fields = List.copyOf(fields);
    }
}
