package dev.weir.topology;

/**
 * The topics' names: persisted, so that another prefix is another Weir.
 *
 * @param requests request events, keyed by client
 * @param decisions the answers, keyed by client
 * @param releases requests whose turn has come, keyed by client
 * @param policies the rules, compacted
 * @param policyHistory the versions that the rules had, compacted
 * @param deadLetters records that are no request, or no rule, as received
 * @param admissions requests on their way into a queue, keyed by queue; internal
 * @param leaseAsks what holders of shared quota tell its ledgers, keyed by policy and key fields; internal
 * @param leaseGrants what ledgers answer, each in the partition of its holder, that of its requests; internal
 */
public record Topics(
        String requests,
        String decisions,
        String releases,
        String policies,
        String policyHistory,
        String deadLetters,
        String admissions,
        String leaseAsks,
        String leaseGrants) {

    /** @param prefix stands before each name, {@code weir.} by default */
    public static Topics of(String prefix) {
        return new Topics(
                prefix + "requests",
                prefix + "decisions",
                prefix + "releases",
                prefix + "policies",
                prefix + "policy-history",
                prefix + "dead-letters",
                prefix + "admissions",
                prefix + "lease-asks",
                prefix + "lease-grants");
    }
}
