package dev.weir.gateway;

import dev.weir.client.ClientStats;
import dev.weir.client.decision.NoDecisionReason;
import java.lang.management.ManagementFactory;
import java.util.Map;

/**
 * The state of a gateway, as {@code /v1/gateway} returns it. The counts are those since its start.
 *
 * @param status that of the readiness probe, such as {@code RUNNING} or {@code NO_BROKERS}
 * @param circuit the state of the circuit, such as {@code CLOSED}
 * @param leaseCircuit the state of the circuit for leases, {@code CLOSED} or {@code OPEN}
 * @param version the version of Weir, null if it does not run from a jar
 * @param startedAt the time at which the process started, ms since the epoch
 * @param at the time of the counts, ms since the epoch
 * @param decidedInProcess requests that were decided by leases
 * @param decidedByTopics requests that enforcers decided
 * @param undecided requests without a decision
 * @param shed requests among them for which there was no decision because there were too many
 * @param waiting requests that wait for their decisions
 */
record GatewayStatus(
        String status,
        String circuit,
        String leaseCircuit,
        String version,
        long startedAt,
        long at,
        long decidedInProcess,
        long decidedByTopics,
        long undecided,
        long shed,
        int waiting) {

    static GatewayStatus of(String status, ClientStats stats, long atMs) {
        long shed = 0;
        long undecided = 0;
        for (Map.Entry<NoDecisionReason, Long> ended : stats.undecided().entrySet()) {
            shed += ended.getKey().isOverload() ? ended.getValue() : 0;
            undecided += ended.getKey() == NoDecisionReason.CLOSED ? 0 : ended.getValue();
        }
        return new GatewayStatus(
                status,
                stats.now().circuit().name(),
                stats.now().leaseCircuit().name(),
                GatewayStatus.class.getPackage().getImplementationVersion(),
                ManagementFactory.getRuntimeMXBean().getStartTime(),
                atMs,
                stats.decided().here(),
                stats.decided().overTopic(),
                undecided,
                shed,
                stats.now().inFlight());
    }
}
