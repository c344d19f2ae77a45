package dev.weir.failure.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reservations of a shared limit of 10 in 10 s, or of 10 slots, by their requests and decisions. */
class SharedLimitInvariantTest {

    private static final String RULES =
            "policies: [{id: p, key: [], limits: [{algorithm: sliding-window-log, limit: 10, per: 10s}]}]";
    private static final String SLOTS =
            "policies: [{id: p, key: [], limits: [{algorithm: concurrency, limit: 10, ttl: 60s}]}]";
    private static final long START_MS = 1_700_000_000_000L;

    private Evidence evidence;

    @BeforeEach
    void begin() throws Exception {
        begin(RULES);
    }

    private void begin(String definitions) throws Exception {
        List<PolicyAvro.Applied> rules = new ArrayList<>();
        for (PolicyFile.Definition one :
                PolicyFile.read("rules.yaml", definitions).policies()) {
            rules.add(new PolicyAvro.Applied(one.kind(), one.id(), 1, one.json(), 0));
        }
        evidence = new Evidence(
                WeirConfig.DEFAULTS,
                new ArrayList<>(),
                new TopicRecords<>(new ArrayList<>(), new ArrayList<>()),
                new TopicRecords<>(new ArrayList<>(), new ArrayList<>()),
                new ArrayList<>(),
                rules);
    }

    private void allowed(RequestKind kind, String id, String settles, long cost, long atMs, Reason reason) {
        int offset = evidence.requests().size();
        Request request = Request.builder(id, "c")
                .kind(kind)
                .settles(settles)
                .cost(cost)
                .reserveMs(kind == RequestKind.CONSUME ? (Long) 60_000L : null)
                .timestampMs(START_MS + atMs)
                .source(0, offset)
                .build();
        boolean isTaken = kind == RequestKind.CONSUME || kind == RequestKind.RENEW;
        Decision decision = Decision.allowed(request, reason, START_MS + atMs)
                .withReservedUntilMs(isTaken ? (Long) (START_MS + atMs + 60_000) : null)
                .withContext(new DecisionContext(new DecisionOrder(offset, 1), null));
        byte[] key = "c".getBytes(StandardCharsets.UTF_8);
        evidence.requests().add(new Entry(0, offset, START_MS + atMs, key, new RequestCodec().encode(request)));
        evidence.decisions()
                .committed()
                .add(new Entry(0, offset, START_MS + atMs, null, new DecisionCodec().encode(decision)));
    }

    private Breach check() {
        PolicyVersionHistory rules = new PolicyVersionHistory(evidence.rules());
        DecisionsByRequest answers = new DecisionsByRequest(evidence.decisions().committed());
        return SharedLimitInvariant.check(OrderedDecisions.of(evidence, answers, rules), rules);
    }

    /** What a reservation of 8 finally costs, and what another request may take. */
    @ParameterizedTest
    @CsvSource({"3, 7", "0, 10", "8, 2", "20, 2"})
    void a_refund_counts_once_at_the_time_of_its_request(long cost, long most) throws Exception {
        for (long taken = most; taken <= most + 1; taken++) {
            begin();
            allowed(RequestKind.CONSUME, "r", null, 8, 1_000, Reason.WITHIN_LIMITS);
            allowed(RequestKind.SETTLE, "s", "r", cost, 2_000, Reason.SETTLED);
            allowed(RequestKind.CONSUME, "x", null, taken, 3_000, Reason.WITHIN_LIMITS);
            assertThat(check().isOk()).isEqualTo(taken == most);
            assertThat(check().counts())
                    .containsEntry("reservations", 2L)
                    .containsEntry("refunded tokens", Math.max(0, 8 - cost));
        }
    }

    /** A reservation of 8 at 1 s, what becomes of it at 31 s, and a request for 3. */
    @ParameterizedTest
    @CsvSource({
        ",        60999, false",
        ",        61000, true",
        "RENEW,   90999, false",
        "RENEW,   91000, true",
        "RELEASE, 30999, false",
        "RELEASE, 31000, true",
    })
    void slots_count_until_they_are_freed_or_the_last_decision_said(RequestKind then, long atMs, boolean isOk)
            throws Exception {
        begin(SLOTS);
        allowed(RequestKind.CONSUME, "r", null, 8, 1_000, Reason.WITHIN_LIMITS);
        if (then != null) {
            allowed(then, "r", null, 1, 31_000, then == RequestKind.RENEW ? Reason.RENEWED : Reason.RELEASED);
        }
        allowed(RequestKind.CONSUME, "x", null, 3, atMs, Reason.WITHIN_LIMITS);
        assertThat(check().isOk()).isEqualTo(isOk);
        assertThat(check().counts())
                .containsEntry("slots at most", isOk ? 8L : 11L)
                .containsEntry("slots renewed", then == RequestKind.RENEW ? 1L : 0L);
    }

    @Test
    void a_refund_given_twice_is_found() {
        allowed(RequestKind.CONSUME, "r", null, 8, 1_000, Reason.WITHIN_LIMITS);
        allowed(RequestKind.SETTLE, "s", "r", 4, 2_000, Reason.SETTLED);
        allowed(RequestKind.CONSUME, "x", null, 10, 3_000, Reason.WITHIN_LIMITS);
        assertThat(check().faults()).singleElement().asString().contains("14 of 10 used");
    }
}
