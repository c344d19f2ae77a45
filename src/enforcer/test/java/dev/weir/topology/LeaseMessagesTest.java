package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Outcome;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.storage.LeaseKeys;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages between holders and ledgers that are unexpected, invalid or too large. */
@Tag("slow")
class LeaseMessagesTest extends SharingHarness {

    @Test
    void responses_to_other_holders_are_ignored() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}", 1);
        request("alice", 1);
        TestRecord<byte[], byte[]> leaseRequest = asksOut.readRecord();
        long number =
                new LeaseRequestAvro().decode(leaseRequest.value()).request().number();
        LeaseResponse granted = new LeaseResponse.Granted(number, 1, 10, nowMs, nowMs, nowMs + 5_000, 1);
        for (String another : List.of("another", "p0", "another/0", "weir/1")) {
            grantsIn.pipeInput(
                    leaseRequest.key(),
                    new LeaseResponseAvro().encode(new LeaseResponseAvro.Addressed(granted, another, 0)));
        }
        assertThat(decided()).isEmpty();
        grantsIn.pipeInput(
                leaseRequest.key(),
                new LeaseResponseAvro().encode(new LeaseResponseAvro.Addressed(granted, "weir/0", 0)));
        assertThat(outcomes()).containsExactly(Outcome.ALLOWED);
    }

    @Test
    void a_ledger_without_the_policy_grants_nothing() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}", 1);
        request("alice", 1);
        TestRecord<byte[], byte[]> ask = asksOut.readRecord();
        assertThat(new LeaseRequestAvro().decode(ask.value()).request().minTokens())
                .isEqualTo(1);
        policies.pipeInput("policy/all", null);
        asksIn.pipeInput(ask.key(), ask.value());
        assertThat(new LeaseResponseAvro().decode(grantsOut.readValue(), 0).response())
                .isInstanceOf(LeaseResponse.Refused.class);
    }

    @Test
    void an_invalid_lease_message_is_a_dead_letter() {
        TestOutputTopic<byte[], byte[]> ofDeciding = out(deciding, "weir.dead-letters");
        TestOutputTopic<byte[], byte[]> ofLending = out(lending, "weir.dead-letters");
        grantsIn.pipeInput(new byte[] {1}, new byte[] {1});
        asksIn.pipeInput(new byte[] {1}, new byte[] {1});
        assertThat(ofDeciding.readValue()).isEqualTo(new byte[] {1});
        assertThat(ofLending.readValue()).isEqualTo(new byte[] {1});
    }

    static List<Arguments> oversizedLeaseRequests() {
        String longest = "h".repeat(LeaseRequestAvro.MAX_HOLDER_BYTES);
        return List.of(
                Arguments.of("all", longest + "h", 0, "NOT_AVRO"),
                Arguments.of("all", longest.substring(1) + "é", 0, "NOT_AVRO"),
                Arguments.of("all", "h".repeat(5_000_000), 0, "RECORD_TOO_LARGE"),
                Arguments.of("all", longest, 9_000, "RECORD_TOO_LARGE"),
                Arguments.of("p".repeat(LeaseKeys.MAX_BYTES), longest, 0, "RECORD_TOO_LARGE"));
    }

    /** A ledger repeats key and holder in its response and stores the holder with each lease. */
    @ParameterizedTest
    @MethodSource("oversizedLeaseRequests")
    void an_oversized_lease_request_is_a_dead_letter_and_changes_no_ledger(
            String policy, String holder, int reports, String reason) throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, policy, List.of()));
        LeaseRequest.Report report = new LeaseRequest.Report(nowMs << 20, Long.MAX_VALUE, nowMs, Long.MAX_VALUE);
        LeaseRequest request = new LeaseRequest(1, holder, 1, 1, Collections.nCopies(reports, report), 0, 0);
        byte[] value = new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0));
        asksIn.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(nowMs)));
        assertThat(grantsOut.isEmpty()).isTrue();
        assertThat(ledgers()).isZero();
        TestRecord<byte[], byte[]> letter = out(lending, "weir.dead-letters").readRecord();
        assertThat(header(letter, DeadLetterHeaders.REASON)).isEqualTo(reason);
    }

    private static String header(TestRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    @Test
    void a_lease_request_with_the_longest_holder_and_key_is_granted() throws Exception {
        String holder = "h".repeat(LeaseRequestAvro.MAX_HOLDER_BYTES);
        apply("  - {id: all, key: [], limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        LeaseRequest request = new LeaseRequest(1, holder, 1, 1, List.of(), 0, 0);
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "all", List.of()));
        asksIn.pipeInput(key, new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0)));
        LeaseResponseAvro.Addressed granted = new LeaseResponseAvro().decode(grantsOut.readValue(), 0);
        assertThat(granted.holder()).isEqualTo(holder);
        assertThat(granted.response()).isInstanceOf(LeaseResponse.Granted.class);
        byte[] longest =
                KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "p".repeat(LeaseKeys.MAX_BYTES - 2), List.of()));
        asksIn.pipeInput(longest, new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0)));
        assertThat(new LeaseResponseAvro().decode(grantsOut.readValue(), 0).response())
                .as("to a key of no policy")
                .isInstanceOf(LeaseResponse.Refused.class);
    }

    @Test
    void responses_for_policies_that_are_not_there_are_counted_together() throws Exception {
        LeaseRequest request = new LeaseRequest(1, "weir/0", 1, 1, List.of(), 0, 0);
        for (String policy : List.of("invented", "also-invented")) {
            byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, policy, List.of()));
            asksIn.pipeInput(key, new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0)));
        }
        assertThat(metrics.leasing())
                .containsExactly(
                        Map.entry(new EnforcerMetrics.Leasing("(other)", EnforcerMetrics.LeaseMessage.REFUSED), 2L));
    }

    @Test
    void a_lease_response_with_an_oversized_key_is_a_dead_letter() {
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "p".repeat(LeaseKeys.MAX_BYTES), List.of()));
        LeaseResponse granted = new LeaseResponse.Granted(1, 1, 10, nowMs, nowMs, nowMs + 5_000, 1);
        grantsIn.pipeInput(key, new LeaseResponseAvro().encode(new LeaseResponseAvro.Addressed(granted, "weir/0", 0)));
        pass(5_000);
        assertThat(asksOut.isEmpty()).as("no lease is returned").isTrue();
        TestRecord<byte[], byte[]> letter = out(deciding, "weir.dead-letters").readRecord();
        assertThat(header(letter, DeadLetterHeaders.REASON)).isEqualTo("RECORD_TOO_LARGE");
    }
}
