package dev.weir.topology;

import dev.weir.config.WeirConfig;

/**
 * The topics' names: persisted, so that another prefix is another Weir.
 *
 * @param requests request events; their keys are advisory
 * @param routedRequests misplaced request events on their way to the partition of their client, keyed by client; internal
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
        String routedRequests,
        String decisions,
        String releases,
        String policies,
        String policyHistory,
        String deadLetters,
        String admissions,
        String leaseAsks,
        String leaseGrants) {

    /** Starts the name of the topic of routed requests, which ends in the application id. */
    public static final String ROUTED_REQUESTS = "routed-requests.";

    /** Returns the topics of a configuration. */
    public static Topics of(WeirConfig config) {
        return of(config.topics().prefix(), config.applicationId());
    }

    /**
     * Returns the topics of an application.
     *
     * @param prefix the start of each name, {@code weir.} by default
     * @param applicationId the end of the names of topics that applications do not share
     */
    public static Topics of(String prefix, String applicationId) {
        return new Topics(
                prefix + "requests",
                prefix + ROUTED_REQUESTS + applicationId,
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
