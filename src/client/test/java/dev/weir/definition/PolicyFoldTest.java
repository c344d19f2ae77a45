package dev.weir.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.definition.PolicyFold.Step;
import dev.weir.event.Rejection;
import dev.weir.wire.PolicyAvro;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PolicyFoldTest {

    private static final String POLICY = """
            {"id":"p","key":[],"limits":[{"algorithm":"gcra","limit":%d,"per":"1s"}]}""";
    private static final String QUEUE = "{\"id\":\"q\",\"limit\":10,\"per\":\"1s\"}";

    private final PolicyFold<PolicyAvro.Applied> fold = PolicyFold.ofRecords();

    private static byte[] record(PolicyAvro.Kind kind, String id, long version, String definition) {
        return new PolicyAvro().encode(new PolicyAvro.Applied(kind, id, version, definition, 1_000));
    }

    private static byte[] policy(long version, int limit) {
        return record(PolicyAvro.Kind.POLICY, "p", version, POLICY.formatted(limit));
    }

    private static byte[] deletion(long version) {
        return record(PolicyAvro.Kind.POLICY, "p", version, null);
    }

    private Rejection rejection(String key, byte[] value) {
        return ((Step.Reject) fold.add(key, value)).fault().rejection();
    }

    @Test
    void the_last_good_record_of_each_key_is_in_force_policies_before_queues() {
        assertThat(fold.add("queue/q", record(PolicyAvro.Kind.QUEUE, "q", 1, QUEUE)))
                .isInstanceOf(Step.Put.class);
        assertThat(fold.add("policy/p", policy(1, 10))).isInstanceOf(Step.Put.class);
        assertThat(fold.add("policy/p", policy(2, 20))).isInstanceOf(Step.Put.class);

        assertThat(fold.inForce())
                .extracting(PolicyAvro.Applied::key, PolicyAvro.Applied::version)
                .containsExactly(tuple("policy/p", 2L), tuple("queue/q", 1L));
    }

    @Test
    void a_record_that_is_rejected_changes_nothing() {
        fold.add("policy/p", policy(3, 10));
        var before = Map.copyOf(fold.byKey());

        assertThat(rejection("policy/p", policy(2, 20))).isEqualTo(Rejection.OUTDATED_POLICY);
        assertThat(rejection("policy/p", record(PolicyAvro.Kind.POLICY, "p", 4, "{}")))
                .isEqualTo(Rejection.INVALID_POLICY);
        assertThat(rejection("policy/other", policy(4, 20))).isEqualTo(Rejection.KEY_IS_NOT_POLICY);
        assertThat(fold.add("policy/p", "no record".getBytes(StandardCharsets.UTF_8)))
                .isInstanceOf(Step.Reject.class);
        assertThat(rejection(null, policy(4, 20))).isEqualTo(Rejection.NO_KEY);
        assertThat(rejection(null, null)).isEqualTo(Rejection.NO_KEY);

        assertThat(fold.byKey()).isEqualTo(before);
    }

    @Test
    void a_deletion_keeps_the_version_and_a_tombstone_removes_it() {
        fold.add("policy/p", policy(1, 10));
        fold.add("policy/p", deletion(2));

        assertThat(fold.inForce()).isEmpty();
        assertThat(fold.get("policy/p"))
                .hasValueSatisfying(last -> assertThat(last.isDeleted()).isTrue());
        assertThat(rejection("policy/p", policy(1, 10))).isEqualTo(Rejection.OUTDATED_POLICY);

        assertThat(fold.add("policy/p", null)).isInstanceOf(Step.Remove.class);
        assertThat(fold.get("policy/p")).isEmpty();
        assertThat(fold.add("policy/p", policy(1, 10))).isInstanceOf(Step.Put.class);
    }

    @Test
    void parsed_rules_are_retained_on_request() {
        PolicyFold<DecodedPolicyRecord> rules = PolicyFold.ofRules();
        rules.add("policy/p", policy(1, 10));

        assertThat(rules.get("policy/p").orElseThrow().policies())
                .singleElement()
                .satisfies(policy -> assertThat(policy.id()).isEqualTo("p"));
    }
}
