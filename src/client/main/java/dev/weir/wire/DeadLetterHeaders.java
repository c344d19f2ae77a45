package dev.weir.wire;

/** The headers of a dead letter, whoever writes it; their values are text in UTF-8. */
public final class DeadLetterHeaders {

    public static final String REASON = "weir.reason";
    public static final String DETAIL = "weir.detail";
    public static final String TOPIC = "weir.source.topic";
    public static final String PARTITION = "weir.source.partition";
    public static final String OFFSET = "weir.source.offset";
    public static final String TIMESTAMP = "weir.source.timestamp";

    /** The longest detail, in characters: it may quote what the record holds. */
    public static final int MAX_DETAIL = 500;

    private DeadLetterHeaders() {}
}
