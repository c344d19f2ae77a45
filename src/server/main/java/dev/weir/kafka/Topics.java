package dev.weir.kafka;

import dev.weir.config.WeirConfig;

/**
 * The names of the topics. They are persistent: with another prefix, Weir starts without state. The names of internal
 * topics end in the application id, so that two applications that share the request and policy topics have separate
 * queues and shared limits.
 *
 * @param prefix the start of each name, {@code weir.} by default
 * @param applicationId the end of the names of internal topics
 */
public record Topics(String prefix, String applicationId) {

    /** Returns the topics of a configuration. */
    public static Topics of(WeirConfig config) {
        return new Topics(config.topics().prefix(), config.applicationId());
    }

    /** Returns the topic of request events. Their keys are advisory. */
    public String requests() {
        return prefix + "requests";
    }

    /** Returns the topic of decisions, keyed by client. */
    public String decisions() {
        return prefix + "decisions";
    }

    /** Returns the topic of copies of decisions, each in the partition that its requester reads. */
    public String replies() {
        return prefix + "replies";
    }

    /** Returns the topic of the usage of leases by leased clients, keyed by policy and key fields. */
    public String leaseUsage() {
        return prefix + "lease-usage";
    }

    /** Returns the topic of released requests, keyed by client. */
    public String releases() {
        return prefix + "releases";
    }

    /** Returns the topic of policies and queues, compacted. */
    public String policies() {
        return prefix + "policies";
    }

    /** Returns the topic of earlier versions of policies and queues, compacted. */
    public String policyHistory() {
        return prefix + "policy-history";
    }

    /** Returns the topic of rejected records, as received. */
    public String deadLetters() {
        return prefix + "dead-letters";
    }

    /**
     * Returns the internal topic of misplaced request events on their way to the partition of their client, keyed by
     * client.
     */
    public String routedRequests() {
        return internal("routed-requests.");
    }

    /** Returns the internal topic of requests on their way to a queue, keyed by queue and the values of its key fields. */
    public String admissions() {
        return internal("admissions.");
    }

    /** Returns the internal topic of requests and reports of lease holders to ledgers, keyed by policy and key fields. */
    public String leaseRequests() {
        return internal("lease-requests.");
    }

    /** Returns the internal topic of the responses of ledgers, each in the partition from which its holder reads. */
    public String leaseResponses() {
        return internal("lease-responses.");
    }

    private String internal(String name) {
        return prefix + name + applicationId;
    }
}
