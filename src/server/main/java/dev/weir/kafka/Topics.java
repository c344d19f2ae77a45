package dev.weir.kafka;

import dev.weir.config.WeirConfig;

/**
 * The names of the topics. They are persistent: with another prefix, Weir starts without state. The names of internal
 * topics end in the application id, so that two applications that share the request and policy topics have separate
 * queues and shared limits.
 *
 * @param requests request events; their keys are advisory
 * @param routedRequests misplaced request events on their way to the partition of their client, keyed by
 *     client; internal
 * @param decisions decisions, keyed by client
 * @param replies copies of decisions, each in the partition that its requester reads
 * @param leaseUsage the usage of leases by leased clients, keyed by policy and key fields
 * @param releases released requests, keyed by client
 * @param policies policies and queues, compacted
 * @param policyHistory earlier versions of policies and queues, compacted
 * @param deadLetters rejected records, as received
 * @param admissions requests on their way to a queue, keyed by queue and the values of its key fields; internal
 * @param leaseRequests requests and reports of lease holders to ledgers, keyed by policy and key fields; internal
 * @param leaseResponses responses of ledgers, each in the partition from which its holder reads; internal
 */
public record Topics(
        String requests,
        String routedRequests,
        String decisions,
        String replies,
        String leaseUsage,
        String releases,
        String policies,
        String policyHistory,
        String deadLetters,
        String admissions,
        String leaseRequests,
        String leaseResponses) {

    private static final String ROUTED_REQUESTS = "routed-requests.";

    private static final String ADMISSIONS = "admissions.";
    private static final String LEASE_REQUESTS = "lease-requests.";
    private static final String LEASE_RESPONSES = "lease-responses.";

    /** Returns the topics of a configuration. */
    public static Topics of(WeirConfig config) {
        return of(config.topics().prefix(), config.applicationId());
    }

    /**
     * Returns the topics of an application.
     *
     * @param prefix the start of each name, {@code weir.} by default
     * @param applicationId the end of the names of internal topics
     */
    public static Topics of(String prefix, String applicationId) {
        return new Topics(
                prefix + "requests",
                prefix + ROUTED_REQUESTS + applicationId,
                prefix + "decisions",
                prefix + "replies",
                prefix + "lease-usage",
                prefix + "releases",
                prefix + "policies",
                prefix + "policy-history",
                prefix + "dead-letters",
                prefix + ADMISSIONS + applicationId,
                prefix + LEASE_REQUESTS + applicationId,
                prefix + LEASE_RESPONSES + applicationId);
    }
}
