package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.client.ClientBuilder;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Audits a run in which a client that holds leases decides, and a request that waits for its lease. */
@Tag("full")
class LeasedClientsAuditTest {

    private static final int LIMIT = 300;
    private static final String RULES = """
            policies:
              - id: lent
                match: {endpoint: /a}
                key: []
                lease: client
                max-wait: 1m
                limits: [{algorithm: sliding-window-log, limit: 300, per: 1h}]
              - id: mail
                match: {endpoint: /mail}
                limits: [{algorithm: token-bucket, limit: 1, per: 1h}]
                on-exceed: shape
                queue: mail
            queues:
              - {id: mail, limit: 20, per: 1s, capacity: 60}
            """;

    private static AuditHarness audits;
    private static WeirConfig leasing;
    private static int onTopic;
    private static int byClient;

    /**
     * Runs a request that waits for shared quota, while another one of its client is sent to a queue; then requests
     * over the topic and by a client that holds leases.
     */
    @BeforeAll
    @SuppressWarnings("try") // the enforcer only has to run
    static void run() throws Exception {
        audits = AuditHarness.shared();
        leasing = audits.config("weir-leased", "leased.");
        audits.create(leasing, RULES);
        try (RequestSender sender = new RequestSender(leasing)) { // all before an enforcer runs
            for (String endpoint : List.of("/a", "/mail", "/mail")) {
                sender.send(leasedRequest(endpoint));
            }
        }
        try (Enforcer enforcer = Enforcer.start(leasing)) {
            enforcer.awaitRunning(AuditHarness.PATIENCE);
            audits.awaitAnswers(leasing, 3);
            try (WeirClient over = client().start();
                    WeirClient by = client().leased(true).start()) {
                onTopic = 1 + countAllowed(over, 20);
                byClient = countAllowed(by, 200);
                assertThat(by.stats().decided().here()).isGreaterThanOrEqualTo(byClient);
            }
        }
    }

    private static ClientBuilder client() {
        return WeirClient.builder(leasing.kafka())
                .prefix("leased.")
                .applicationId(leasing.applicationId())
                .timeout(AuditHarness.PATIENCE);
    }

    /** Sends {@code requests} requests. Returns how many are allowed. */
    private static int countAllowed(WeirClient client, int requests) {
        int allowed = 0;
        for (int i = 0; i < requests; i++) {
            Decision decision =
                    client.decide(leasedRequest("/a")).join().decision().orElseThrow();
            allowed += decision.outcome() == Outcome.ALLOWED ? 1 : 0;
        }
        return allowed;
    }

    private static Request leasedRequest(String endpoint) {
        return RequestBuilder.of("alice").attribute("endpoint", endpoint).build();
    }

    @Test
    void the_usage_of_leased_clients_is_in_the_totals() throws Exception {
        List<Mismatch> found = new ArrayList<>();
        AuditSummary totals = Audit.run(leasing, AuditHarness.ALL, found::add);
        assertThat(found).isEmpty();
        assertThat(totals.reportedByClients()).isEqualTo(byClient).isPositive();
        assertThat(totals.summed()).isEqualTo(onTopic + byClient);
        assertThat(totals.decisions()).isEqualTo(totals.requests());
    }

    @Test
    void a_request_sent_to_a_queue_while_another_waits_for_quota_is_judged() throws Exception {
        AuditSummary totals = Audit.run(leasing, AuditHarness.ALL, mismatch -> {});
        assertThat(totals.sentToQueue()).isPositive();
        assertThat(totals.unverified().keySet()).isSubsetOf(UnverifiedReason.LIMIT_CHANGED);
    }

    @Test
    void excess_usage_by_a_leased_client_is_found_with_its_position() throws Exception {
        long atMs = 1;
        for (int partition = 0; partition < AuditHarness.PARTITIONS; partition++) {
            for (AuditHarness.Copied record : audits.read("leased.decisions", partition)) {
                atMs = Math.max(atMs, 1 + record.decision().decidedAtMs());
            }
            for (AuditHarness.Copied record : audits.read("leased.lease-usage", partition)) {
                atMs = Math.max(
                        atMs, 1 + AuditHarness.USAGE.decode(record.value()).untilMs());
            }
        }
        int left = LIMIT - onTopic - byClient;
        assertThat(left).isPositive();
        for (int more : List.of(left, left + 1)) {
            String prefix = more + "-more.";
            audits.copy("leased.", prefix, (topic, partition, index) -> null);
            audits.send(prefix + "lease-usage", 0, atMs, AuditHarness.usage("lent", more, atMs));
            CapturedRun result = audits.audit("-o", "json", "-c", audits.configFile(prefix));
            JsonNode counts = AuditHarness.document(result);
            assertThat(counts.get("reportedByClients").asInt()).isEqualTo(byClient + more);
            assertThat(counts.get("mismatches").asInt()).isEqualTo(more - left);
        }
        int last = audits.read(left + 1 + "-more.lease-usage", 0).size() - 1;
        CapturedRun above = audits.audit("-c", audits.configFile(left + 1 + "-more."));
        assertThat(above.exit()).isEqualTo(1);
        assertThat(above.out())
                .startsWith("lease usage 0@" + last + ": exceeds a shared limit"
                        + " (policy lent: 301 of 300 by sliding-window-log 300/1h at ")
                .contains("  reported by leased clients\n");
    }
}
