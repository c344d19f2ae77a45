package dev.weir.policy;

/** What is remembered of the first answer to a request: the decision, or that a queue gives it. */
public sealed interface FirstAnswer permits Decision, FirstAnswer.Sent {

    /**
     * It was sent to a queue; the parts are those of its {@link Admission}.
     *
     * @param limitedBy null if the policy sends everything
     * @param limit null if the policy sends everything
     */
    record Sent(String queue, String policyId, long policyVersion, String limitedBy, Long limit)
            implements FirstAnswer {}
}
