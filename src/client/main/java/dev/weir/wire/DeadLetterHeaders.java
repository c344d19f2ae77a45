package dev.weir.wire;

/** The names of the headers of a dead letter. Their values are text in UTF-8. */
public final class DeadLetterHeaders {

    /** Why the record is a dead letter. */
    public static final String REASON = "weir.reason";

    /** What is wrong with the record, in words. */
    public static final String DETAIL = "weir.detail";

    /** The topic of the original record. */
    public static final String TOPIC = "weir.source.topic";

    /** The partition of the original record. */
    public static final String PARTITION = "weir.source.partition";

    /** The offset of the original record. */
    public static final String OFFSET = "weir.source.offset";

    /** The timestamp of the original record, in ms since the epoch. */
    public static final String TIMESTAMP = "weir.source.timestamp";

    /**
     * The reason of a release whose last attempt failed. All other reasons are names of
     * {@link dev.weir.event.Rejection}.
     */
    public static final String ATTEMPTS_FAILED = "ATTEMPTS_FAILED";

    /** The maximum length of the detail, in characters. The detail may quote the record. */
    public static final int MAX_DETAIL = 500;

    private DeadLetterHeaders() {}
}
