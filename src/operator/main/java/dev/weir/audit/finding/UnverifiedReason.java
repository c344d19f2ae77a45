package dev.weir.audit.finding;

/** Why a request's decision, or a release, cannot be verified. */
public enum UnverifiedReason {
    BEFORE_RETENTION("the usage before the oldest retained request is unknown"),
    POLICY_NOT_RETAINED("the history no longer has a policy of that time"),
    AMBIGUOUS_VERSION("a policy changed, and either version may have applied"),
    ORDER_UNKNOWN("the order in which the client's requests were decided is unknown"),
    LIMIT_CHANGED("not summed: the limits changed at about that time"),
    TIME_UNKNOWN("not summed: the time of a client's decision is not known precisely enough"),
    TOO_MANY_TO_SUM("not summed: there are too many entries"),
    TOO_LATE("the request arrived later than state.retention permits"),
    NOT_RETAINED("the decision or dead letter is no longer retained"),
    NOT_YET("the request is not decided yet"),
    WAITS("the request is still queued"),
    RELEASE_UNMATCHED("the request of a release is unknown, because not the whole log was audited");

    private final String text;

    UnverifiedReason(String text) {
        this.text = text;
    }

    /** Returns a description for people. */
    public String text() {
        return text;
    }
}
