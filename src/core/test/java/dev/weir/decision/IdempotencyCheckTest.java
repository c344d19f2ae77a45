package dev.weir.decision;

import static dev.weir.decision.Samples.idempotent;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IdempotencyCheckTest {

    private final MapStates states = new MapStates();
    private long offset;

    private Request request(
            RequestKind kind, String client, String id, long cost, Map<String, String> attributes, long atMs) {
        Request.Source source = new Request.Source(1, offset++);
        return Request.builder(id, client)
                .kind(kind)
                .cost(cost)
                .attributes(attributes)
                .queue("q")
                .timestampMs(atMs)
                .source(source)
                .build();
    }

    private Request request(RequestKind kind, String id, long atMs) {
        return request(kind, "c", id, 1, Map.of(), atMs);
    }

    private Decision ask(Policy policy, RequestKind kind, String id, long atMs) {
        return (Decision) Decider.local(states).decide(request(kind, id, atMs), table(policy));
    }

    private Decision ask(Policy policy, String id, long atMs) {
        return ask(policy, RequestKind.CONSUME, id, atMs);
    }

    @ParameterizedTest
    @CsvSource({
        "1000, true",
        "1001, true",
        "1999, true",
        "2000, false", // the end of the window
        "2001, false",
        "0, true" // a late request
    })
    void a_repeat_receives_the_first_answer_until_its_window_ends(long atMs, boolean repeated) {
        Policy policy = idempotent(1_000, policy("p", log(5, 60_000)));
        Decision first = ask(policy, "r", 1_000);
        int puts = states.puts();
        Decision second = ask(policy, "r", atMs);
        assertThat(second.repeated()).isEqualTo(repeated);
        assertThat(second.source()).isEqualTo(new Request.Source(1, 1));
        assertThat(second.remaining()).isEqualTo(repeated ? 4 : 3);
        assertThat(states.puts()).isEqualTo(repeated ? puts : puts + 1);
        if (repeated) {
            assertThat(second).isEqualTo(first.asRepeated(second.source()));
            assertThat(second.decidedAtMs()).isEqualTo(1_000);
        }
    }

    @Test
    void a_repeat_does_not_extend_the_window_and_a_later_request_starts_another() {
        Policy policy = idempotent(1_000, policy("p", log(5, 60_000)));
        assertThat(ask(policy, "r", 0).repeated()).isFalse();
        assertThat(ask(policy, "r", 999).repeated()).isTrue();
        assertThat(ask(policy, "r", 1_000).repeated()).isFalse();
        assertThat(ask(policy, "r", 1_999).repeated()).isTrue();
        assertThat(ask(policy, "r", 2_000).remaining()).isEqualTo(2);
    }

    @Test
    void the_window_counts_from_the_decision() {
        Policy policy = idempotent(1_000, policy("p", log(5, 60_000)));
        ask(policy, "ahead", 5_000);
        assertThat(ask(policy, "r", 1_000).decidedAtMs()).isEqualTo(5_000);
        assertThat(ask(policy, "r", 5_999).repeated()).isTrue();
        assertThat(ask(policy, "r", 6_000).repeated()).isFalse();
    }

    @Test
    void a_denial_is_repeated_too() {
        Policy policy = idempotent(60_000, policy("p", window(1, 1_000)));
        ask(policy, "a", 0);
        assertThat(ask(policy, "b", 10).outcome()).isEqualTo(Outcome.DENIED);
        Decision again = ask(policy, "b", 5_000);
        assertThat(again.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(again.repeated()).isTrue();
        assertThat(again.retryAfterMs()).isEqualTo(990);
        assertThat(ask(policy, "c", 5_000).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void each_kind_is_stored_separately_and_a_peek_never() {
        Policy policy = idempotent(1_000, policy("p", log(10, 60_000)));
        assertThat(ask(policy, RequestKind.PEEK, "r", 0).repeated()).isFalse();
        assertThat(ask(policy, RequestKind.CONSUME, "r", 0).remaining()).isEqualTo(9);
        assertThat(ask(policy, RequestKind.SETTLE, "r", 0).remaining()).isEqualTo(8);
        assertThat(ask(policy, RequestKind.SETTLE, "r", 1))
                .returns(true, Decision::repeated)
                .returns(Reason.SETTLED, Decision::reason)
                .returns(8L, Decision::remaining);
        assertThat(ask(policy, RequestKind.CONSUME, "r", 1))
                .returns(true, Decision::repeated)
                .returns(9L, Decision::remaining);
        assertThat(ask(policy, RequestKind.PEEK, "r", 1))
                .returns(false, Decision::repeated)
                .returns(8L, Decision::remaining);
    }

    @Test
    void each_client_has_its_own_ids() {
        PolicyTable table = table(idempotent(1_000, policy("p", log(5, 60_000))));
        for (String client : List.of("a", "b")) {
            Request request = request(RequestKind.CONSUME, client, "r", 1, Map.of(), 0);
            assertThat(((Decision) Decider.local(states).decide(request, table)).remaining())
                    .isEqualTo(4);
        }
    }

    @Test
    void the_longest_window_of_the_applicable_policies_counts() {
        PolicyTable table = table(
                idempotent(100, policy("p", log(5, 60_000))),
                inLayer("b", policy("q", log(5, 60_000))),
                inLayer("c", idempotent(1_000, policy("r", log(5, 60_000)))));
        for (long atMs : new long[] {0, 999}) {
            Decision decision = (Decision) Decider.local(states).decide(request(RequestKind.CONSUME, "r", atMs), table);
            assertThat(decision.repeated()).isEqualTo(atMs > 0);
            assertThat(decision.remaining()).isEqualTo(4);
        }
        assertThat(states.puts()).isEqualTo(3);
    }

    @Test
    void without_idempotency_nothing_is_looked_up_or_stored() {
        Policy policy = policy("p", log(5, 60_000));
        ask(policy, "r", 0);
        assertThat(ask(policy, "r", 0).remaining()).isEqualTo(3);
        assertThat(ask(idempotent(1_000, policy), "r", 0).remaining()).isEqualTo(2);
        assertThat(ask(policy, "r", 0).remaining()).isEqualTo(1);
        assertThat(ask(idempotent(1, policy), "r", 999).remaining()).isEqualTo(2); // the stored answer
    }

    @Test
    void a_repeat_of_a_shaped_request_goes_to_the_same_queue_after_a_policy_change() {
        Policy policy = onExceed(new OnExceed.Shape("sms"), policy("p", window(1, 60_000)));
        PolicyTable before = table(idempotent(1_000, policy));
        Decider.local(states).decide(request(RequestKind.CONSUME, "a", 0), before);
        Request request = request(RequestKind.CONSUME, "b", 500);
        Admission first = (Admission) Decider.local(states).decide(request, before);
        assertThat(first)
                .isEqualTo(new Admission(
                        request,
                        new IdempotentAnswer.SentToQueue("sms", new PolicyVersion("p", 1), LimitStatus.of("p/0", 1L)),
                        Map.of(),
                        new Admission.Identity(false, 1_500, 0, null),
                        List.of(),
                        DecisionContext.UNKNOWN));
        PolicyTable after = table(idempotent(5, onExceed(new OnExceed.Shape("mail"), policy)));
        Request repeat = request(RequestKind.CONSUME, "b", 1_499);
        assertThat(Decider.local(states).decide(repeat, after))
                .isEqualTo(new Admission(
                        repeat,
                        new IdempotentAnswer.SentToQueue("sms", new PolicyVersion("p", 1), LimitStatus.of("p/0", 1L)),
                        Map.of(),
                        new Admission.Identity(true, 1_500, 0, null),
                        List.of(),
                        DecisionContext.UNKNOWN));
        Request next = request(RequestKind.CONSUME, "b", 1_500);
        assertThat(Decider.local(states).decide(next, after))
                .isEqualTo(new Admission(
                        next,
                        new IdempotentAnswer.SentToQueue("mail", new PolicyVersion("p", 1), LimitStatus.of("p/0", 1L)),
                        Map.of(),
                        new Admission.Identity(false, 1_505, 0, null),
                        List.of(),
                        DecisionContext.UNKNOWN));
    }

    @Test
    void another_content_under_the_same_id_is_denied_and_charges_nothing() {
        PolicyTable table = table(
                idempotent(60_000, policy("free", "a", 0, match("plan", "free"), log(5, 60_000))),
                idempotent(30_000, policy("gold", "a", 0, match("plan", "gold"), log(5, 60_000))));
        Decider.local(states).decide(request(RequestKind.CONSUME, "c", "k", 0, Map.of("plan", "free"), 0), table);
        int puts = states.puts();
        for (int i = 0; i < 1_000; i++) {
            Request request = request(RequestKind.CONSUME, "c", "k", 1_000, Map.of("plan", "gold"), i);
            assertThat((Decision) Decider.local(states).decide(request, table))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns(Reason.IDEMPOTENCY_MISMATCH, Decision::reason)
                    .returns(422, Decision::httpStatus)
                    .returns("gold", Decision::policyId)
                    .returns("idempotency", Decision::limitedBy)
                    .returns(null, Decision::retryAfterMs)
                    .returns(null, Decision::remaining)
                    .returns(false, Decision::repeated)
                    .returns(request.source(), Decision::source)
                    .returns((long) i, Decision::decidedAtMs);
        }
        assertThat(states.puts()).isEqualTo(puts);
        Request first = request(RequestKind.CONSUME, "c", "k", 0, Map.of("plan", "free"), 59_999);
        assertThat(((Decision) Decider.local(states).decide(first, table)).repeated())
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource({"tier", "cost", "size", "attributes", "payload"})
    void each_part_of_the_content_counts(String part) {
        PolicyTable table = table(idempotent(1_000, policy("p", log(9, 60_000))));
        Map<String, String> attributes = Map.of("a", "b");
        for (boolean isOther : new boolean[] {false, true}) {
            Request request = Request.builder("k", "c")
                    .tier(isOther && part.equals("tier") ? "gold" : "free")
                    .cost(isOther && part.equals("cost") ? 2 : 1)
                    .sizeBytes(isOther && part.equals("size") ? 8L : 9L)
                    .attributes(isOther && part.equals("attributes") ? Map.of() : attributes)
                    .deadlineMs(isOther ? 5L : null) // a deadline often depends on the time of the attempt
                    .payload(new byte[] {(byte) (isOther && part.equals("payload") ? 1 : 0)})
                    .source(1, offset++)
                    .build();
            assertThat(((Decision) Decider.local(states).decide(request, table)).reason())
                    .isEqualTo(isOther ? Reason.IDEMPOTENCY_MISMATCH : Reason.WITHIN_LIMITS);
        }
    }

    @Test
    void a_policy_without_idempotency_charges_each_request_whatever_its_id() {
        PolicyTable table = table(
                idempotent(60_000, policy("free", "a", 0, match("plan", "free"), log(5, 60_000))),
                policy("gold", "a", 0, match("plan", "gold"), log(5, 60_000)));
        Decider.local(states).decide(request(RequestKind.CONSUME, "c", "k", 0, Map.of("plan", "free"), 0), table);
        int allowed = 0;
        for (int i = 0; i < 1_000; i++) {
            Request request = request(RequestKind.CONSUME, "c", "k", 1, Map.of("plan", "gold"), i);
            allowed += ((Decision) Decider.local(states).decide(request, table)).outcome() == Outcome.ALLOWED ? 1 : 0;
        }
        assertThat(allowed).isEqualTo(5);
    }

    @Test
    void a_mismatch_is_decided_at_the_time_of_its_key() {
        Policy policy = idempotent(60_000, policy("p", log(5, 60_000)));
        ask(policy, "first", 5_000);
        Request other = request(RequestKind.CONSUME, "c", "first", 2, Map.of(), 1_000);
        assertThat((Decision) Decider.local(states).decide(other, table(policy)))
                .returns(Reason.IDEMPOTENCY_MISMATCH, Decision::reason)
                .returns(5_000L, Decision::decidedAtMs);
    }

    @Test
    void a_shadow_ban_hides_a_mismatch_from_the_client() {
        PolicyTable table = table(idempotent(1_000, onExceed(OnExceed.SHADOW_BAN, policy("p", log(5, 60_000)))));
        Decider.local(states).decide(request(RequestKind.CONSUME, "c", "k", 1, Map.of(), 0), table);
        assertThat((Decision)
                        Decider.local(states).decide(request(RequestKind.CONSUME, "c", "k", 2, Map.of(), 0), table))
                .returns(Outcome.DENIED, Decision::outcome)
                .returns(true, Decision::shadowBanned)
                .returns(200, Decision::httpStatus);
    }

    @Test
    void another_content_is_not_sent_to_the_queue_of_the_first_request() {
        Policy policy = onExceed(new OnExceed.Shape("sms"), policy("p", window(1, 60_000)));
        PolicyTable table = table(idempotent(1_000, policy));
        Decider.local(states).decide(request(RequestKind.CONSUME, "a", 0), table);
        DecisionResult sent = Decider.local(states).decide(request(RequestKind.CONSUME, "k", 0), table);
        assertThat(sent).isInstanceOf(Admission.class);
        assertThat((Decision)
                        Decider.local(states).decide(request(RequestKind.CONSUME, "c", "k", 7, Map.of(), 1), table))
                .returns(Reason.IDEMPOTENCY_MISMATCH, Decision::reason)
                .returns(null, Decision::queueing);
    }

    @Test
    void a_cancel_is_not_stored() {
        PolicyTable table = table(idempotent(1_000, policy("p", log(5, 60_000))));
        for (int i = 0; i < 2; i++) {
            Admission cancel = (Admission) Decider.local(states).decide(request(RequestKind.CANCEL, "r", 0), table);
            assertThat(cancel.repeated()).isFalse();
            assertThat(cancel.idempotentUntilMs()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void random_repeats_are_answered_as_by_a_simple_model(long seed) {
        Random random = new Random(seed);
        List<Policy> policies = new ArrayList<>();
        for (String layer : List.of("a", "b", "c")) {
            for (String endpoint : List.of("x", "y", "**")) {
                Policy policy = policy(
                        layer + "-" + (endpoint.equals("**") ? "all" : endpoint),
                        layer,
                        random.nextInt(2),
                        match("endpoint", endpoint),
                        random.nextBoolean() ? log(1 + random.nextInt(9), 100) : tokens(1, 20, 5));
                policy = random.nextInt(8) == 0 ? onExceed(OnExceed.OBSERVE, policy) : policy;
                policies.add(random.nextInt(3) == 0 ? policy : idempotent(1 + random.nextInt(200), policy));
            }
        }
        PolicyTable table = PolicyTable.of(policies);
        PolicyTable withoutIdempotency = PolicyTable.of(
                policies.stream().map(policy -> idempotent(0, policy)).toList());
        MapStates plain = new MapStates();
        Map<RequestKey, Decision> firsts = new HashMap<>();
        Map<RequestKey, Long> ends = new HashMap<>();
        RequestKind[] kinds = {
            RequestKind.CONSUME, RequestKind.CONSUME, RequestKind.CONSUME, RequestKind.SETTLE, RequestKind.PEEK
        };
        Map<RequestKey, List<Object>> contents = new HashMap<>();
        int repeats = 0;
        int mismatches = 0;
        long nowMs = 100;
        for (int i = 0; i < 5_000; i++) {
            nowMs += random.nextInt(4);
            Request request = request(
                    kinds[random.nextInt(kinds.length)],
                    "c" + random.nextInt(3),
                    "r" + random.nextInt(40),
                    random.nextInt(3),
                    Map.of("endpoint", random.nextBoolean() ? "x" : "y"),
                    nowMs - (random.nextInt(10) == 0 ? random.nextInt(30) : 0));
            long windowMs = request.kind() == RequestKind.PEEK
                    ? 0
                    : table.applicable(request).stream()
                            .filter(policy -> !policy.observes())
                            .mapToLong(Policy::idempotencyMs)
                            .max()
                            .orElse(0);
            RequestKey key = RequestKey.of(request);
            Decision expected;
            boolean isRepeat = windowMs > 0 && request.timestampMs() < ends.getOrDefault(key, Long.MIN_VALUE);
            boolean isSame = isRepeat && contents.get(key).equals(List.of(request.cost(), request.attributes()));
            if (isSame) {
                expected = firsts.get(key).asRepeated(request.source());
                repeats++;
            } else if (isRepeat) {
                mismatches++;
                Decision decision = (Decision) Decider.local(states).decide(request, table);
                assertThat(decision.reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
                expected = decision;
            } else {
                expected = (Decision) Decider.local(plain).decide(request, withoutIdempotency);
                if (windowMs > 0) {
                    contents.put(key, List.of(request.cost(), request.attributes()));
                    firsts.put(key, expected);
                    ends.put(key, expected.decidedAtMs() + windowMs);
                }
            }
            assertThat(Decider.local(states).decide(request, table)).isEqualTo(expected);
            assertThat(states.all().keySet()).isEqualTo(plain.all().keySet());
        }
        assertThat(repeats).isBetween(50, 4_900);
        assertThat(mismatches).isBetween(50, 4_900);
        assertThat(states.puts()).isEqualTo(plain.puts());
    }
}
