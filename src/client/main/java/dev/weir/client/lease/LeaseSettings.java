package dev.weir.client.lease;

import dev.weir.lease.LeaseTerms;
import java.time.Duration;
import java.util.Map;

/**
 * The settings of {@link LeasedDecisions}.
 *
 * @param topics the topics
 * @param producer the settings of the producer for requests, on which that for lease requests is based
 * @param consumer the settings of the consumers
 * @param longest the timing of leases, as the enforcers have it
 * @param unanswered how long a ledger may take to respond before requests are no longer denied for lack of quota, but
 *     are undecided
 * @param hasCircuit whether requests do not wait for ledgers that have been silent for longer than the request would
 *     wait
 */
public record LeaseSettings(
        Topics topics,
        Map<String, Object> producer,
        Map<String, Object> consumer,
        LeaseTerms longest,
        Duration unanswered,
        boolean hasCircuit) {

    /**
     * The names of topics.
     *
     * @param policies the policies in force
     * @param requests the requests for leases
     * @param responses the responses to them
     * @param usage the reports on the usage of leases
     * @param replies the replies to requests over the topic, which the client must be able to read, too
     */
    public record Topics(String policies, String requests, String responses, String usage, String replies) {}
}
