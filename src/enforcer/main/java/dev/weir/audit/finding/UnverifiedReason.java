package dev.weir.audit.finding;

/** Why a request's decision, or a release, is not held against anything. */
public enum UnverifiedReason {
    BEFORE_RETENTION("what was used before the oldest request that is retained is not known"),
    POLICY_NOT_RETAINED("a rule of that time is no longer in the history"),
    NOT_RECORDED("the decision does not record which policies were in force: an earlier version of Weir took it"),
    AMBIGUOUS_VERSION("a rule changed, and either version may have counted"),
    ORDER_UNKNOWN("which of the client's requests was decided first is not known"),
    LIMIT_CHANGED("not summed: the limits changed about then"),
    TIME_UNKNOWN("not summed: when a client decided it is not known well enough"),
    TOO_MANY_TO_SUM("not summed: more than are kept"),
    TOO_LATE("it came later than state.retention"),
    NOT_RETAINED("the decision, or dead letter, is no longer retained"),
    NOT_YET("not decided yet"),
    WAITS("queued, and not ended yet"),
    RELEASE_UNMATCHED("released, and what waited is not known: not the whole log is judged");

    private final String text;

    UnverifiedReason(String text) {
        this.text = text;
    }

    /** As people read it. */
    public String text() {
        return text;
    }
}
